# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training in a framework, whatever the framework: its slices, epochs, sums and tests, as docs/protocol.md has them."""

import abc
import dataclasses
import hashlib
import math
import time

import numpy as np

from prumo_peers.common import machine, protocol, rounding
from prumo_peers.common.nvml import Reading, told_between
from prumo_peers.common.protocol import RequestError, usage
from prumo_peers.nets.training_numbers import image_order
from prumo_peers.nets import files

LOSSES = ("softmax", "sigmoid", "squared", "original")
OPTIMIZERS = ("sgd", "momentum", "adam")
_TEST_BATCH = 1000


@dataclasses.dataclass(frozen=True)
class TrainingChoice:
    """What a training was opened with."""
    net: object
    dtype: str
    batch: int
    implementation: str
    images: np.ndarray            # bytes [n, channels, rows, columns]
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    weights: dict                 # numpy's arrays by name, to begin with
    loss: str
    optimizer: str
    rate: float
    momentum: float
    seed: int
    shuffle: bool


def gradient_divisors(net):
    """By what the authors of mnist-2f divide gradients: those of a first convolution by the places of its filter, that of a
    shared filter's bias by the number of its results."""
    divisors = {}
    for number, layer in enumerate(net.layers):
        if number == 0 and layer.kind == "convolution":
            divisors.update({name: math.prod(layer.output[1:]) for name, _ in layer.weights})
        elif layer.kind == "shared_convolution" and layer.has_bias:
            divisors[layer.weights[1][0]] = math.prod(layer.output)
    return divisors


def losses_of(loss, scores, labels):
    """NumPy's sum of the losses of images, in f64, by their scores; by their results for the loss squared."""
    scores = scores.astype(np.float64)
    targets = np.zeros_like(scores)
    targets[np.arange(len(labels)), labels] = 1
    if loss == "softmax":
        largest = scores.max(1)
        return float((largest + np.log(np.exp(scores - largest[:, None]).sum(1)) - scores[targets == 1]).sum())
    if loss == "squared":
        return float(0.5 * ((scores - targets) ** 2).sum())
    return float((np.maximum(scores, 0) - scores * targets + np.log1p(np.exp(-np.abs(scores)))).sum())


class TrainingSession(abc.ABC):
    """A subclass places the data, and says how steps are taken. Its arrays of weights are called as in prumo."""

    clock, dispatch = "wall", "single"

    def __init__(self, framework, device, choice):
        self.framework, self.device, self.choice = framework, device, choice
        self._epoch, self._step, self._seconds_of_step = 0, 0, 0.0
        self._has_begun = False
        self._enter()
        machine.require_memory(f"a training of {choice.net.name}", 2 * choice.images.nbytes)
        try:
            self._place()
            self._fence()
        except Exception:
            self.close()
            raise

    # What a framework has to tell
    @abc.abstractmethod
    def _place(self):
        """Puts data and weights on the device, and makes what steps need ready, so that no epoch pays for it."""

    @abc.abstractmethod
    def _begin_epoch(self, order):
        """The images of the epoch in their order; None where it is that of the file. Sums begin anew."""

    @abc.abstractmethod
    def _take_steps(self, first, count):
        """Enqueues ``count`` steps from number ``first`` of the epoch on. The last one of an epoch may have fewer images."""

    @abc.abstractmethod
    def _sums(self):
        """The sum of the losses of the epoch's images so far, and how many of them were right."""

    @abc.abstractmethod
    def _scores(self, pixels):
        """NumPy's [n, classes] of bytes of images: scores of the last dense layer, or results for the loss squared."""

    @abc.abstractmethod
    def _weights(self):
        """NumPy's arrays by name, in the type of the net."""

    # The answers
    @property
    def footprint(self):
        return self.choice.images.nbytes + 4 * rounding.BYTES[self.choice.dtype] * sum(
            math.prod(it) for it in self.choice.net.weights.values())

    @property
    def steps_per_epoch(self):
        return -(-len(self.choice.images) // self.choice.batch)

    def advance(self, steps, seconds):
        self._enter()
        read = self.device.telemetry or Reading
        before, start, done = read(), time.perf_counter(), 0
        if not self._has_begun or self._step == self.steps_per_epoch:
            self._epoch, self._step = self._epoch + (1 if self._has_begun else 0), 0
            choice, self._has_begun = self.choice, True
            self._begin_epoch(image_order(choice.seed, self._epoch, len(choice.images)) if choice.shuffle else None)
        most = min(self.steps_per_epoch - self._step, steps or self.steps_per_epoch)
        while done < most:
            now = most - done
            if seconds is not None:
                left = seconds - (time.perf_counter() - start)
                if done and left <= 0:
                    break
                now = max(1, min(now, int(max(left, 0) / self._seconds_of_step) if self._seconds_of_step else 1))
            begun = time.perf_counter()
            self._take_steps(self._step, now)
            self._fence()
            self._seconds_of_step = (time.perf_counter() - begun) / now
            self._step += now
            done += now
        spent = time.perf_counter() - start
        loss, correct = self._sums()
        images = min(self._step * self.choice.batch, len(self.choice.images))
        told = told_between(before, read(), spent)
        return {"steps": done, "epoch": self._epoch + 1, "step": self._step,
                "epoch_done": self._step == self.steps_per_epoch, "images": images,
                "loss": loss / images if math.isfinite(loss) else None, "correct": correct, "time": spent, "wall": spent,
                **{name: told.get(name) for name in ("clock_mhz", "energy_j", "temperature_c")},
                "throttle": told.get("throttle") or []}

    def check(self, level, budget, images):
        return {"verified": False, "error": None, "error_bound": None, "checked": 0, "differing": 0, "undecided": 0, "method": "",
                "message": f"{self.framework.name} does not tell the gradients of its steps", "dispatch": ""}

    def evaluate(self):
        self._enter()
        choice, predictions, loss = self.choice, [], 0.0
        weights = self._weights()
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(weights[name]).tobytes() for name in choice.net.weights))
        start = time.perf_counter()
        for first in range(0, len(choice.test_images), _TEST_BATCH):
            scores = self._scores(choice.test_images[first:first + _TEST_BATCH])
            predictions.append(scores.argmax(1))
            loss += losses_of(choice.loss, scores, choice.test_labels[first:first + _TEST_BATCH])
        seconds = time.perf_counter() - start
        found, loss = np.concatenate(predictions), loss / len(choice.test_images)
        return {"images": len(found), "correct": int((found == choice.test_labels).sum()), "predictions": found.tolist(),
                "seconds": seconds, "loss": loss if math.isfinite(loss) else None, "weights_sha256": digest.hexdigest()}

    def save(self, path, content):
        if content != "weights":
            raise RequestError("unsupported", f"{self.framework.name} writes no checkpoints; it writes weights")
        try:
            files.write_safetensors(path, self._weights(), {"net": self.choice.net.name})
            with open(path, "rb") as file:
                return {"sha256": hashlib.sha256(file.read()).hexdigest()}
        except OSError as wrong:
            raise RequestError("failed", f"{path}: {wrong.strerror}") from None

    def load(self, path):
        raise RequestError("unsupported", f"{self.framework.name} reads no checkpoints")

    def close(self):
        framework, device = self.framework, self.device
        vars(self).clear()
        framework.trim(device)

    def _enter(self):
        self.framework.enter(self.device, "strict")

    def _fence(self):
        self.framework.fence(self.device)


def read_setup(request):
    """The field ``training`` of a request, checked; None where it is absent."""
    setup = protocol.field(request, "training", dict, "an object", None)
    if setup is None:
        return None

    def field(name, types, expected, *default):
        return protocol.field(setup, name, types, expected, *default, inside="training.")
    made = {name: field(name, str, "a text") for name in ("test_images", "test_labels", "loss", "optimizer")}
    made["rate"] = float(field("learning_rate", (int, float), "a number"))
    made["momentum"] = float(field("momentum", (int, float), "a number", 0.0))
    made["seed"] = field("seed", int, "a whole number", 1)
    made["shuffle"] = field("shuffle", bool, "true or false", True)
    if not made["rate"] > 0 or not math.isfinite(made["rate"]):
        raise usage(f"the field 'training.learning_rate' should be above 0 and is {made['rate']}")
    if not 0 <= made["momentum"] <= 1:
        raise usage(f"the field 'training.momentum' should be between 0 and 1 and is {made['momentum']}")
    return made


def read_training(request, setup, read, net, chosen):
    """The choice of a training. ``read`` reads a set of files, checked against the net."""
    for name, known in (("loss", LOSSES), ("optimizer", OPTIMIZERS)):
        if setup[name] not in known:
            raise usage(f"there is no {name} '{setup[name]}'; there are: {', '.join(known)}")
    setup = dict(setup)
    tests = setup.pop("test_images"), setup.pop("test_labels")
    images, labels, weights = read(net, request["images"], request["labels"], request["weights"])
    test_images, test_labels, _ = read(net, *tests, request["weights"])
    return TrainingChoice(net, images=images, labels=labels, test_images=test_images, test_labels=test_labels, weights=weights,
                          **setup, **chosen)
