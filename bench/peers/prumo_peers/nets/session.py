# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net with its data in a framework: what is timed, checked and evaluated, whatever the framework."""

import abc
import math
import time

import numpy as np

from prumo_peers.common import machine, rounding
from prumo_peers.common.device_calls import ResidentCalls, TransferredCalls
from prumo_peers.common.nvml import Reading, told_between
from prumo_peers.common.sampling import Calls, Sampler
from prumo_peers.nets.reference import Reference, compared
from prumo_peers.nets.sessions import flops_of

_MOST_BATCHES = 32  # that calls on a device take in turns; each may be recorded by itself


class NetSession(abc.ABC):
    """A subclass places the net, and says how calls are made. ``_pixels`` are the bytes of all images, so extended that
    each batch is one stretch; batch number i begins at image ``_offsets[i]``."""

    def __init__(self, framework, device, choice):
        self.framework, self.device, self.choice = framework, device, choice
        self._samplers = {}
        self._enter()
        self._require_memory()
        self._pixels = _wrapped(choice.images, choice.batch)
        self._offsets = self._batch_offsets()
        try:
            self._place()
            self._sampler("net", None)
        except Exception:
            self.close()
            raise

    # What a framework has to tell
    @abc.abstractmethod
    def _place(self):
        """Puts weights on the device, and images as numbers, if they are resident."""

    @abc.abstractmethod
    def _net_calls(self):
        """A function for each batch of ``_offsets``, which runs the net on its resident numbers."""

    @abc.abstractmethod
    def _transfers(self):
        """Three lists with a function for each batch: bytes to the device, the net from bytes, results to the host."""

    @abc.abstractmethod
    def _step_call(self, step):
        """A function that runs a step on what the steps before make of the first batch."""

    @abc.abstractmethod
    def _forget_results(self):
        """Results of earlier calls must not be taken for later ones."""

    @abc.abstractmethod
    def _results_of(self, which, places):
        """NumPy's [places, classes] of the latest call with batch number ``which``."""

    @abc.abstractmethod
    def _scores(self, pixels):
        """NumPy's [n, classes] of bytes of images, in the way that is timed."""

    @abc.abstractmethod
    def _rounded_weights(self):
        """NumPy's arrays by name, as the device has them."""

    @abc.abstractmethod
    def _rounded_numbers(self, pixels):
        """b / 255 as the type of the net has it, in f64."""

    def _enter(self):
        self.framework.enter(self.device, self.choice.mode)

    def _warm_up(self, calls):
        """Libraries choose their kernels at the first calls, and compilers compile; a recording has no room for it."""
        calls.run_once(0)
        calls.run_once(0)

    # The answers
    @property
    def footprint(self):
        size = rounding.BYTES[self.choice.dtype]
        pixels = self._batch_pixels() if self.choice.transferred else math.prod(self.choice.images.shape)
        weights = sum(math.prod(it) for it in self.choice.net.weights.values())
        largest = max(math.prod(it.output) for it in self.choice.net.layers) * self.choice.batch
        return size * (pixels + weights + 2 * largest)

    def time(self, level, step, seconds):
        self._enter()
        sampler = self._sampler(level, step)
        sampler.calibrate()
        read = self.device.telemetry or Reading
        known = sampler.holds_samples
        before = read()
        times = sampler.sample(seconds)
        told = told_between(before, read(), 0 if known else times.seconds)
        transfer = None
        if self.choice.transferred and level == "net":
            transfer = {"h2d": times.h2d, "d2h": times.d2h, "h2d_bytes": self._batch_pixels(),
                        "d2h_bytes": self.choice.batch * math.prod(self.choice.net.layers[-1].output) *
                        rounding.BYTES[self.choice.dtype]}
        return {"samples": times.device or times.wall, "wall": times.wall, "batch": times.batch, "transfer": transfer,
                **told}

    def check(self, level, budget, images):
        self._enter()
        sampler = self._sampler("net", None)
        sampler.calibrate()
        total, batch = len(self.choice.images), self.choice.batch
        if images is None:
            which = sampler.calls.last_copy(sampler.batch)
            self._forget_results()
            sampler.run_interval()
            each = max(1, sum(map(flops_of, self.choice.net.layers)))
            count = int(min(batch, max(1, budget // each)))
            places = np.arange(count) * batch // count
            found = self._results_of(which, places)
            numbers, whole = (self._offsets[which] + places) % total, count == batch
        else:
            numbers, whole = np.array(images, int), True
            found = np.concatenate([self._scores_of_image(it) for it in images]) if images else None
        method, dispatch = "all" if whole else "sampled", sampler.calls.settled_dispatch
        if not len(numbers):
            return {"verified": True, "error": 0, "error_bound": 1, "checked": 0, "differing": 0, "undecided": 0,
                    "method": method, "message": "", "dispatch": dispatch}
        value, bound = self._reference(numbers)
        return {**compared(found.astype(np.float64), value, bound), "checked": len(numbers), "method": method, "dispatch": dispatch}

    def evaluate(self):
        self._enter()
        total, batch, predictions = len(self.choice.images), self.choice.batch, []
        self._scores(self._pixels[:min(batch, total)])
        if total > batch and total % batch:
            self._scores(self._pixels[:total % batch])  # a shape of its own
        start = time.perf_counter()
        for first in range(0, total, batch):
            # Of equal results NumPy takes the first.
            predictions.append(self._scores(self._pixels[first:min(total, first + batch)]).argmax(1))
        seconds = time.perf_counter() - start
        found = np.concatenate(predictions)
        return {"images": total, "correct": int((found == self.choice.labels).sum()), "predictions": found.tolist(),
                "seconds": seconds}

    def close(self):
        framework, device = self.framework, self.device
        vars(self).clear()
        framework.trim(device)

    # How calls are made
    def _sampler(self, level, step):
        """The calls of the net, or of one step, and their batches."""
        key = (level, step if level == "layer" else None)
        if key not in self._samplers:
            if level == "layer":
                calls = self._resident_calls([self._step_call(step)])
            elif self.choice.transferred:
                calls = self._transferred_calls()
            else:
                calls = self._resident_calls(self._net_calls())
            if level == "net":
                self.dispatch = calls.dispatch
                self._warm_up(calls)
            self._samplers[key] = Sampler(calls)
        return self._samplers[key]

    def _resident_calls(self, functions):
        marks = self.framework.marks(self.device, 2)
        self.clock = "wall" if marks is None else "device"
        if marks is None:
            return Calls(functions, self._fence)
        return ResidentCalls(functions, self._fence, marks, lambda make: self.framework.record(self.device, make))

    def _transferred_calls(self):
        marks, by_device = self.framework.choose_marks(self.device, TransferredCalls.MARKS)
        self.clock = "device" if by_device else "wall"
        upload, compute, download = self._transfers()
        return TransferredCalls(compute, self._fence, marks, upload, download, by_device)

    def _fence(self):
        self.framework.fence(self.device)

    # Data
    def _batch(self, which):
        """The bytes of the images of a batch."""
        return self._pixels[self._offsets[which]:][:self.choice.batch]

    def _batch_offsets(self):
        """Where the batches begin that calls take in turns: all there are on a host, and some tens on a device."""
        total, batch = len(self.choice.images), self.choice.batch
        distinct = total // math.gcd(total, batch)
        most = _MOST_BATCHES if self.device.transfers else distinct
        return [it * batch % total for it in range(min(distinct, most))]

    def _batch_pixels(self):
        return self.choice.batch * math.prod(self.choice.net.input)

    def _scores_of_image(self, image):
        """The results of an image, in the batch that it belongs to."""
        first = image // self.choice.batch * self.choice.batch
        return self._scores(self._pixels[first:first + self.choice.batch])[image - first:][:1]

    def _reference(self, numbers):
        return Reference(self.choice.net, self._rounded_weights(), self.choice.dtype, self.choice.mode).of(
            self._rounded_numbers(self.choice.images[numbers]))

    def _require_memory(self):
        label = f"the net {self.choice.net.name} for {self.choice.batch} images"
        host_bytes = math.prod(self.choice.images.shape) + self._batch_pixels()
        if not self.device.transfers:
            machine.require_memory(label, self.footprint + host_bytes)
            return
        machine.require_memory(f"{label} on the host", host_bytes)
        available = self.framework.available_memory(self.device)
        if available is not None:
            machine.require_memory(f"{label} on {self.device.id}", self.footprint, available)


def _wrapped(images, batch):
    """All images, and behind them the first ones again, so that each batch is one stretch."""
    repeats = -(-(len(images) + batch) // len(images))
    return images if len(images) % batch == 0 else np.concatenate([images] * repeats)[:len(images) + batch]
