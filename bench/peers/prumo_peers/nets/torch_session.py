# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net with its data in PyTorch: what is timed, checked and evaluated."""

import functools
import math
import time

import numpy as np
import torch

from prumo_peers.common import machine, rounding
from prumo_peers.common.device_calls import ResidentCalls, TransferredCalls
from prumo_peers.common.nvml import Reading, told_between
from prumo_peers.common.protocol import RequestError
from prumo_peers.common.sampling import Calls, Sampler
from prumo_peers.nets.sessions import flops_of
from prumo_peers.nets.torch_bounds import Reference
from prumo_peers.nets.torch_net import TorchNet

# eager: PyTorch's own kernels one by one, recorded into a graph where a device has graphs and calls are short;
# channels_last: the same with the channels of images next to each other; compiled: what torch.compile makes of the net.
IMPLEMENTATIONS = ("eager", "channels_last", "compiled")
_MOST_BATCHES = 32  # that calls on a device take in turns; each is recorded by itself
_TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


class TorchSession:
    def __init__(self, framework, device, choice):
        self.framework, self.device, self.choice = framework, device, choice
        self._type = _TYPES[choice.dtype]
        self._format = torch.channels_last if choice.implementation == "channels_last" else torch.contiguous_format
        self._enter()
        self._require_memory()
        try:
            self._model = TorchNet(choice.net)
            self._model.set_weights(choice.weights)
            # Not all at once: vectors and matrices have no channels.
            self._model = self._model.to(device.handle, self._type)
            for parameter in self._model.parameters():
                if parameter.dim() == 4:
                    parameter.data = parameter.data.contiguous(memory_format=self._format)
            self._run = torch.compile(self._model, dynamic=False) if choice.implementation == "compiled" else self._model
            self._bytes = torch.from_numpy(_wrapped(choice.images, choice.batch))
            self._offsets = self._batch_offsets()
            self._results = [None] * len(self._offsets)
            self._samplers = {}
            self._sampler("net", None)
        except Exception:
            self.close()
            raise

    @property
    def footprint(self):
        size = rounding.BYTES[self.choice.dtype]
        pixels = self._batch_pixels() * 1 if self.choice.transferred else math.prod(self.choice.images.shape)
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
        each = max(1, sum(map(flops_of, self.choice.net.layers)))
        if images is None:
            copy = sampler.calls.last_copy(sampler.batch)
            for it in self._results:
                if it is not None:
                    it.fill_(math.nan)
            sampler.run_interval()
            count = int(min(self.choice.batch, max(1, budget // each)))
            places = np.arange(count) * self.choice.batch // count
            found = self._results[copy][torch.from_numpy(places)].cpu()
            numbers = (self._offsets[copy] + places) % len(self.choice.images)
            whole = count == self.choice.batch
        else:
            numbers, whole = np.array(images), True
            found = torch.stack([self._scores_of_batch(it) for it in images]) if images else None
        dispatch = sampler.calls.settled_dispatch
        if not len(numbers):
            return {"verified": True, "error": 0, "error_bound": 1, "checked": 0, "differing": 0, "undecided": 0,
                    "method": "all", "message": "", "dispatch": dispatch}
        value, bound = self._reference(numbers)
        return {**_compared(found.flatten(1).double(), value, bound), "method": "all" if whole else "sampled",
                "dispatch": dispatch}

    def evaluate(self):
        self._enter()
        total, batch, predictions = len(self.choice.images), self.choice.batch, []
        warm = self._model(self._numbers(self._bytes[:min(batch, total)].to(self.device.handle)))
        del warm
        self._fence()
        start = time.perf_counter()
        for first in range(0, total, batch):
            pixels = self._bytes[first:min(total, first + batch)].to(self.device.handle)
            # Of equal results NumPy takes the first, and PyTorch any.
            predictions.append(self._model(self._numbers(pixels)).flatten(1).float().cpu().numpy().argmax(1))
        seconds = time.perf_counter() - start
        found = np.concatenate(predictions)
        return {"images": total, "correct": int((found == self.choice.labels).sum()), "predictions": found.tolist(),
                "seconds": seconds}

    def close(self):
        for name in ("_model", "_run", "_bytes", "_samplers", "_results", "_resident", "_between"):
            vars(self).pop(name, None)
        self.framework.trim(self.device)

    # How calls are made
    def _sampler(self, level, step):
        """The calls of the net, or of one step, and their batches."""
        key = (level, step if level == "layer" else None)
        if key not in self._samplers:
            if level == "layer":
                calls = self._calls([self._step_call(step)])
            elif self.choice.transferred:
                calls = self._transferred_calls()
            else:
                calls = self._calls([functools.partial(self._net_call, it) for it in range(len(self._offsets))])
            if level == "net":
                self.dispatch = calls.dispatch
                self._warm_up(calls)
            self._samplers[key] = Sampler(calls)
        return self._samplers[key]

    def _calls(self, functions):
        marks = self.framework.marks(self.device, 2)
        self.clock = "wall" if marks is None else "device"
        if marks is None:
            return Calls(functions, self._fence)
        return ResidentCalls(functions, self._fence, marks, lambda make: self.framework.record(self.device, make))

    def _warm_up(self, calls):
        """Libraries choose their kernels at the first calls, and compilers compile; a recording has no room for it."""
        try:
            calls.functions[0]()
            calls.functions[0]()
            self._fence()
        except Exception as problem:
            if self.choice.implementation != "compiled" or self.framework.kind_of(problem) == "memory":
                raise
            raise RequestError("unsupported", f"torch.compile fails here: {type(problem).__name__}: "
                                              f"{str(problem).strip().splitlines()[0][:200]}") from None

    def _net_call(self, which):
        self._results[which] = self._run(self._resident_images()[self._offsets[which]:][:self.choice.batch]).flatten(1)

    def _step_call(self, step):
        """A step on what the steps before make of the first batch."""
        x = self._numbers(self._bytes[:self.choice.batch].to(self.device.handle))
        for layer in self.choice.net.layers[:step]:
            x = self._model.run_layer(layer, x)
        return functools.partial(self._model.run_layer, self.choice.net.layers[step], x)

    def _transferred_calls(self):
        device, batch, outputs = self.device, self.choice.batch, self.choice.net.layers[-1].output
        marks, by_device = self.framework.choose_marks(device, TransferredCalls.MARKS)
        self.clock = "device" if by_device else "wall"
        if self.choice.pinned:
            self._bytes = self._bytes.pin_memory()
        pixels = torch.empty((batch, *self.choice.net.input), dtype=torch.uint8, device=device.handle)
        made = {}
        self._results = [torch.empty((batch, math.prod(outputs)), dtype=self._type, pin_memory=self.choice.pinned)
                         for _ in self._offsets]

        def upload(which):
            first = self._offsets[which]
            pixels.copy_(self._bytes[first:first + batch], non_blocking=True)

        def compute():
            made["y"] = self._run(self._numbers(pixels)).flatten(1)

        def download(which):
            self._results[which].copy_(made["y"], non_blocking=True)
        count = range(len(self._offsets))
        return TransferredCalls([compute] * len(count), self._fence, marks, [functools.partial(upload, it) for it in count],
                                [functools.partial(download, it) for it in count], by_device)

    # Data
    def _numbers(self, pixels):
        """b / 255, divided in the type of the net."""
        return (pixels.to(self._type) / 255).contiguous(memory_format=self._format)

    def _resident_images(self):
        if not hasattr(self, "_resident"):
            self._resident = self._numbers(self._bytes.to(self.device.handle))
        return self._resident

    def _batch_offsets(self):
        """Where the batches begin that calls take in turns: all there are on a host, and some tens on a device."""
        total, batch = len(self.choice.images), self.choice.batch
        distinct = total // math.gcd(total, batch)
        most = _MOST_BATCHES if self.device.transfers else distinct
        return [it * batch % total for it in range(min(distinct, most))]

    def _batch_pixels(self):
        return self.choice.batch * math.prod(self.choice.net.input)

    def _scores_of_batch(self, image):
        """The results of an image, in the batch that it belongs to."""
        batch, total = self.choice.batch, len(self.choice.images)
        first = image // batch * batch % total
        pixels = self._bytes[first:first + batch].to(self.device.handle)
        return self._run(self._numbers(pixels)).flatten(1)[image - first].cpu()

    def _reference(self, numbers):
        model = TorchNet(self.choice.net).double()
        model.set_weights({name: self._model.weight(name).detach().cpu().double().numpy() for name in self.choice.net.weights})
        pixels = torch.from_numpy(self.choice.images[numbers])
        x = (pixels.to(self._type) / 255).double()
        return Reference(model, self.choice.dtype, self.choice.mode).of(x)

    def _enter(self):
        self.framework.enter(self.device, self.choice.mode)
        # Its kernels are those that won a trial of all, as a user sets it who runs one shape again and again.
        torch.backends.cudnn.benchmark = True

    def _fence(self):
        self.framework.fence(self.device)

    def _require_memory(self):
        label = f"the net {self.choice.net.name} for {self.choice.batch} images"
        if not self.device.transfers:
            machine.require_memory(label, self.footprint)
            return
        available = self.framework.available_memory(self.device)
        if available is not None:
            machine.require_memory(f"{label} on {self.device.id}", self.footprint, available)


def _wrapped(images, batch):
    """All images, and behind them the first ones again, so that each batch is one stretch."""
    repeats = -(-(len(images) + batch) // len(images))
    return images if len(images) % batch == 0 else np.concatenate([images] * repeats)[:len(images) + batch]


def _compared(found, value, bound):
    """What `check` answers about results, of which each row is an image's."""
    distance = (found - value).abs() / bound
    error = float(torch.nan_to_num(distance, nan=math.inf).max())
    best = value.argmax(1)
    rows = torch.arange(len(value))
    # Another class may win within the bounds where its highest place reaches the lowest one of the best.
    reach = value + bound
    reach[rows, best] = -math.inf
    undecided = reach.amax(1) >= value[rows, best] - bound[rows, best]
    differing = int(((found.argmax(1) != best) & ~undecided).sum())
    verified = error <= 1
    return {"verified": verified, "error": error if math.isfinite(error) else None, "error_bound": 1,
            "checked": found.numel(), "differing": differing, "undecided": int(undecided.sum()),
            "message": "" if verified else "results are further from those in f64 than rounding explains"}
