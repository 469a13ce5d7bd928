# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings in a framework: ``python3 training_test.py torch``. Exits with 77 where neither this Python nor PRUMO_PYTHON has it.
Steps are held against gradients by central differences in f64 and the optimizers' formulas."""

import importlib
import itertools
import os
import pathlib
import struct
import sys
import tempfile
import unittest

PEER = sys.argv.pop(1)
try:
    module = importlib.import_module(f"prumo_peers.{PEER}")
except SystemExit as missing:
    if missing.code != 3:
        raise
    other = os.environ.get("PRUMO_PYTHON", sys.executable)
    if other != sys.executable:
        os.execv(other, [other, sys.argv[0], PEER, *sys.argv[1:]])
    sys.exit(77)

import numpy as np  # noqa: E402

from prumo_peers.common.protocol import RequestError  # noqa: E402
from prumo_peers.nets.training_numbers import image_order  # noqa: E402
from prumo_peers.common.worker import Worker  # noqa: E402
from prumo_peers.nets import description, files  # noqa: E402

NET = {"schema": "prumo.net/1", "name": "small", "input": {"channels": 1, "height": 6, "width": 6}, "layers": [
    {"type": "convolution", "channels": 2, "filter": 3, "activation": "sigmoid"},
    {"type": "shared_convolution", "filter": 2, "stride": 2, "activation": "sigmoid"},
    {"type": "dense", "features": 3, "activation": "sigmoid"}]}
IMAGES, TESTS, BATCH = 11, 5, 4
RATE, MOMENTUM = 0.25, 0.5


def idx(numbers):
    magic = {1: 2049, 3: 2051}[numbers.ndim]
    return struct.pack(f">{1 + numbers.ndim}I", magic, *numbers.shape) + numbers.tobytes()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def scores_of(weights, x):
    """The net by plain loops, before the last activation. x: [6, 6]."""
    maps = np.zeros((2, 4, 4))
    for m, i, j in itertools.product(range(2), range(4), range(4)):
        maps[m, i, j] = weights["conv1.bias"][m] + (weights["conv1.weight"][m, 0] * x[i:i + 3, j:j + 3]).sum()
    maps, small = sigmoid(maps), np.zeros((2, 2, 2))
    for m, i, j in itertools.product(range(2), range(2), range(2)):
        small[m, i, j] = weights["shared1.bias"][0] + (weights["shared1.weight"] * maps[m, 2 * i:2 * i + 2, 2 * j:2 * j + 2]).sum()
    return weights["dense1.weight"] @ sigmoid(small).reshape(-1) + weights["dense1.bias"]


def loss_of(kind, scores, label):
    target = np.eye(3)[label]
    if kind == "softmax":
        return np.log(np.exp(scores).sum()) - scores[label]
    if kind == "squared":
        return 0.5 * ((sigmoid(scores) - target) ** 2).sum()
    return (np.log1p(np.exp(scores)) - scores * target).sum()


class Trainings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        at = pathlib.Path(cls.folder.name)
        random = np.random.default_rng(5)
        cls.net = description.parse(NET)
        cls.pixels = random.integers(0, 256, (IMAGES, 6, 6), np.uint8)
        cls.labels = random.integers(0, 3, IMAGES).astype(np.uint8)
        tests = random.integers(0, 256, (TESTS, 6, 6), np.uint8), random.integers(0, 3, TESTS).astype(np.uint8)
        cls.tests = tests
        for name, content in (("images", cls.pixels), ("labels", cls.labels), ("test_images", tests[0]), ("test_labels", tests[1])):
            (at / name).write_bytes(idx(content))
        cls.weights = {name: random.uniform(-0.5, 0.5, shape).astype(np.float32) for name, shape in cls.net.weights.items()}
        files.write_safetensors(at / "weights", cls.weights, {})
        cls.worker = Worker(getattr(module, PEER.capitalize())())
        cls.device = cls.worker.hello({})["devices"][0]["id"]

    def path(self, name):
        return str(pathlib.Path(self.folder.name) / name)

    def open(self, loss, optimizer, dtype="f64", shuffle=True, **more):
        return self.worker.open({
            "device": self.device, "workload": "training", "net": NET, "dtype": dtype, "batch": BATCH,
            **{name: self.path(name) for name in ("images", "labels", "weights")},
            "training": {"test_images": self.path("test_images"), "test_labels": self.path("test_labels"), "loss": loss,
                         "optimizer": optimizer, "learning_rate": RATE, "momentum": MOMENTUM, "seed": 7, "shuffle": shuffle},
            **more})["session"]

    def gradient(self, weights, loss, which):
        """By central differences."""
        def total():
            losses = [loss_of(loss, scores_of(weights, self.pixels[it] / 255), self.labels[it]) for it in which]
            return sum(losses) if loss == "original" else sum(losses) / len(which)
        found = {}
        for name, array in weights.items():
            found[name] = np.zeros_like(array)
            for at in np.ndindex(array.shape):
                kept, step = array[at], 1e-5
                array[at] = kept + step
                above = total()
                array[at] = kept - step
                found[name][at] = (above - total()) / (2 * step)
                array[at] = kept
        if loss == "original":
            for name, divisor in (("conv1.weight", 16), ("conv1.bias", 16), ("shared1.bias", 8)):
                found[name] /= divisor
        return found

    def trained(self, loss, optimizer, steps, shuffle):
        """Weights after some steps, by the formulas."""
        weights = {name: it.astype(np.float64) for name, it in self.weights.items()}
        first, second = ({name: np.zeros_like(it) for name, it in weights.items()} for _ in range(2))
        for step in range(steps):
            epoch, place = divmod(step, -(-IMAGES // BATCH))
            order = image_order(7, epoch, IMAGES) if shuffle else np.arange(IMAGES)
            gradient = self.gradient(weights, loss, order[place * BATCH:(place + 1) * BATCH])
            for name, g in gradient.items():
                if optimizer == "sgd":
                    weights[name] -= RATE * g
                elif optimizer == "momentum":
                    first[name] = MOMENTUM * first[name] + g
                    weights[name] -= RATE * first[name]
                else:
                    first[name] = 0.9 * first[name] + 0.1 * g
                    second[name] = 0.999 * second[name] + 0.001 * g * g
                    mean, square = first[name] / (1 - 0.9 ** (step + 1)), second[name] / (1 - 0.999 ** (step + 1))
                    weights[name] -= RATE * mean / (np.sqrt(square) + 1e-8)
        return weights

    def test_weights_are_those_of_the_formulas(self):
        ways = self.worker.hello({})["workloads"][1]["implementations"]
        for loss, optimizer in (("softmax", "sgd"), ("sigmoid", "momentum"), ("squared", "sgd"), ("original", "sgd"),
                                ("softmax", "adam")):
            expected = self.trained(loss, optimizer, 4, loss != "original")
            for way in ways:
                with self.subTest(loss=loss, optimizer=optimizer, way=way):
                    try:
                        session = self.open(loss, optimizer, shuffle=loss != "original", implementation=way)
                    except RequestError as refused:
                        self.assertEqual(refused.kind, "unsupported")
                        continue
                    told = self.worker.advance({"session": session, "steps": 99})
                    self.assertEqual((told["steps"], told["step"], told["epoch_done"], told["images"]), (3, 3, True, IMAGES))
                    told = self.worker.advance({"session": session, "seconds": 0})
                    self.assertEqual((told["steps"], told["epoch"], told["epoch_done"], told["images"]), (1, 2, False, BATCH))
                    found = self.worker._sessions._find(session)._weights()
                    # Differences of losses are exact to about 1e-16 / 1e-5; Adam divides by small ones.
                    for name, it in expected.items():
                        np.testing.assert_allclose(found[name], it, rtol=0, atol=1e-3 if optimizer == "adam" else 1e-8,
                                                   err_msg=name)
                    self.worker.close({"session": session})

    def test_losses_and_accuracies_are_those_of_the_scores(self):
        for loss in ("softmax", "sigmoid", "squared", "original"):
            session = self.open(loss, "sgd")
            told = self.worker.evaluate({"session": session})
            scores = [scores_of(self.weights, it / 255) for it in self.tests[0]]
            expected = sum(loss_of(loss, it, label) for it, label in zip(scores, self.tests[1])) / TESTS
            self.assertAlmostEqual(told["loss"], expected, places=5)
            self.assertEqual(told["predictions"], [int(it.argmax()) for it in scores])
            self.worker.close({"session": session})

    def test_weights_are_written_and_checkpoints_refused(self):
        session = self.open("softmax", "sgd", dtype="f32")
        self.worker.advance({"session": session})
        told = self.worker.save({"session": session, "path": self.path("out"), "content": "weights"})
        self.assertEqual(len(told["sha256"]), 64)
        arrays, _ = files.read_safetensors(self.path("out"))
        self.assertEqual(set(arrays), set(self.net.weights))
        for request, content in ((self.worker.save, "checkpoint"), (self.worker.load, "")):
            with self.assertRaises(RequestError) as refused:
                request({"session": session, "path": self.path("c"), "content": content or None})
            self.assertEqual(refused.exception.kind, "unsupported")
        self.assertFalse(os.path.exists(self.path("c")))

    def test_what_does_not_exist_is_named(self):
        for change, kind in ((("hinge", "sgd"), "usage"), (("softmax", "lion"), "usage")):
            with self.assertRaises(RequestError) as refused:
                self.open(*change)
            self.assertEqual(refused.exception.kind, kind)
            self.assertIn(change[0] if change[0] == "hinge" else change[1], str(refused.exception))
        with self.assertRaises(RequestError) as refused:
            self.open("softmax", "sgd", dtype="f16")
        self.assertEqual(refused.exception.kind, "unsupported")
        with self.assertRaises(RequestError):
            self.worker.advance({"session": 99})


if __name__ == "__main__":
    unittest.main()
