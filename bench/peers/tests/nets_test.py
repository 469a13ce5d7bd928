# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nets in a framework: ``python3 nets_test.py torch``. Exits with 77 where neither this Python nor PRUMO_PYTHON has it."""

import dataclasses
import gzip
import importlib
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
from prumo_peers.common.worker import Worker  # noqa: E402
from prumo_peers.nets import description, files  # noqa: E402

NET = {"schema": "prumo.net/1", "name": "unusual", "input": {"channels": 3, "height": 19, "width": 14}, "layers": [
    {"type": "convolution", "channels": 5, "filter": [3, 4], "stride": [2, 1], "padding": [1, 2], "activation": "tanh"},
    {"type": "average_pool", "window": [3, 2], "stride": 2, "rounding": "up"},
    {"type": "shared_convolution", "filter": [2, 3], "activation": "relu"},
    {"type": "max_pool", "window": [2, 3], "stride": 1, "padding": [1, 1]},
    {"type": "dense", "features": 21, "bias": False, "activation": "sigmoid"},
    {"type": "dense", "features": 17}, {"type": "softmax"}]}
IMAGES, BATCH = 23, 5


def idx(numbers):
    magic = {1: 2049, 3: 2051, 4: 2052}[numbers.ndim]
    return struct.pack(f">{1 + numbers.ndim}I", magic, *numbers.shape) + numbers.tobytes()


class Nets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        at = pathlib.Path(cls.folder.name)
        random = np.random.default_rng(3)
        net = description.parse(NET)
        cls.files = {name: str(at / name) for name in ("images", "labels", "weights")}
        cls.pixels = random.integers(0, 256, (IMAGES, *net.input), np.uint8)
        (at / "images").write_bytes(gzip.compress(idx(cls.pixels)))
        (at / "labels").write_bytes(idx(random.integers(0, 17, IMAGES, np.uint8)))
        cls.weights = {name: random.uniform(-0.5, 0.5, shape).astype(np.float32) for name, shape in net.weights.items()}
        files.write_safetensors(cls.files["weights"], cls.weights, {"net": "unusual"})

    def setUp(self):
        self.framework = getattr(module, PEER.capitalize())()
        self.first, *others = self.framework.net_implementations
        self.uncompiled = [self.first, *(it for it in others if it != "compiled")]  # torch.compile takes long
        self.worker = Worker(self.framework)
        self.device = next(iter(self.worker._devices))

    def open(self, **fields):
        return self.worker.open({"device": self.device, "workload": "inference", "net": NET, "dtype": "f32", "batch": BATCH,
                                 **self.files, **fields})

    def session(self, answer):
        return self.worker._sessions._open[answer["session"]]

    def refusal(self, **fields):
        with self.assertRaises(RequestError) as refused:
            self.open(**fields)
        return refused.exception.kind, str(refused.exception)

    def test_steps_and_weights_are_called_as_in_prumo(self):
        answer = self.open()
        names = ["conv1", "pool1", "shared1", "pool2", "dense1", "dense2", "softmax"]
        self.assertEqual([it["name"] for it in answer["steps"]], names)
        self.assertEqual((answer["images"], answer["classes"]), (IMAGES, 17))
        self.assertEqual(list(self.weights), ["conv1.weight", "conv1.bias", "shared1.weight", "shared1.bias",
                                              "dense1.weight", "dense2.weight", "dense2.bias"])
        self.assertEqual(answer["model"]["flops"], sum(it["model"]["flops"] for it in answer["steps"]))

    def test_results_are_within_their_bounds_in_every_type(self):
        for dtype in self.framework.dtypes:
            for implementation in self.uncompiled:
                with self.subTest(dtype=dtype, implementation=implementation):
                    answer = self.open(dtype=dtype, implementation=implementation)
                    for chosen in ({}, {"images": [0, 22, 7]}, {"images": []}):
                        found = self.worker.check({"session": answer["session"], "budget": 1e12, **chosen})
                        self.assertTrue(found["verified"], found)
                        self.assertEqual((found["method"], found["differing"]), ("all", 0))
                    self.assertEqual(answer["implementation"], implementation)

    def test_a_wrong_weight_is_found(self):
        for dtype in ("f32", "f64"):
            answer = self.open(dtype=dtype)
            session = self.session(answer)
            wrong = session._rounded_weights()
            wrong["dense2.bias"] = wrong["dense2.bias"] + np.eye(17)[3] * 0.01
            session._rounded_weights = lambda: wrong
            found = self.worker.check({"session": answer["session"], "budget": 1e12})
            self.assertFalse(found["verified"])
            self.assertGreater(found["error"], 1)

    def test_times_of_the_net_and_of_each_step(self):
        answer = self.open()
        for level in [{}] + [{"level": "layer", "step": it} for it in range(7)]:
            found = self.worker.time({"session": answer["session"], "seconds": 0.002, **level})
            self.assertTrue(found["samples"] and min(found["samples"]) > 0)
            self.assertIsNone(found["transfer"])
        with self.assertRaisesRegex(RequestError, "'step' should be below 7"):
            self.worker.time({"session": answer["session"], "seconds": 0, "level": "layer", "step": 7})

    def test_every_image_is_evaluated_once(self):
        for dtype, batch in (("f64", 5), ("f64", 23), ("f64", 100)):
            answer = self.open(dtype=dtype, batch=batch)
            found = self.worker.evaluate({"session": answer["session"]})
            values, _ = self.session(answer)._reference(np.arange(IMAGES))
            self.assertEqual(found["predictions"], values.argmax(1).tolist())
            self.assertEqual(found["images"], IMAGES)
            self.worker.close({"session": answer["session"]})
            with self.assertRaisesRegex(RequestError, "there is no session"):
                self.worker.evaluate({"session": answer["session"]})

    def test_transferred_data(self):
        """The host stands in for a device with memory of its own."""
        device = dataclasses.replace(self.worker._devices[self.device], transfers=True)
        self.worker._devices[self.device] = device
        self.framework.available_memory = lambda device: None
        answer = self.open(data="transferred", host_memory="pageable", batch=7)
        found = self.worker.check({"session": answer["session"], "budget": 1e12})
        self.assertTrue(found["verified"], found)
        times = self.worker.time({"session": answer["session"], "seconds": 0.002})
        self.assertEqual(times["transfer"]["h2d_bytes"], 7 * 3 * 19 * 14)
        self.assertEqual(times["transfer"]["d2h_bytes"], 7 * 17 * 4)
        self.assertEqual(len(times["transfer"]["h2d"]), len(times["samples"]))

    def test_what_does_not_fit_is_refused_by_name(self):
        self.assertEqual(self.refusal(data="transferred")[0], "skipped")
        self.assertIn(f"there are: {self.first}", self.refusal(implementation="layers")[1])
        self.assertEqual(self.refusal(compute_mode="fast_tf32")[0], "unsupported")
        self.assertIn("describes no net", self.refusal(net={})[1])
        for name, content, message in (("images", b"nothing", "is no IDX file"),
                                       ("images", idx(self.pixels[:, :, :9]), "takes 3 channels of 19 x 14 pixels"),
                                       ("images", idx(self.pixels)[:-1], "promises"),
                                       ("labels", idx(np.zeros(3, np.uint8)), "holds 3 labels"),
                                       ("weights", b"", "is it a safetensors file?")):
            path = pathlib.Path(self.folder.name) / "wrong"
            path.write_bytes(content)
            kind, found = self.refusal(**{name: str(path)})
            self.assertEqual(kind, "usage")
            self.assertIn(message, found)
            self.assertTrue(found.startswith(str(path)), found)
        files.write_safetensors(path, {**self.weights, "dense2.bias": np.zeros(3)}, {})
        self.assertIn("array 'dense2.bias' has the shape [3], and the net has [17]", self.refusal(weights=str(path))[1])


if __name__ == "__main__":
    unittest.main()
