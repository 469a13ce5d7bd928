# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net with its data in PyTorch."""

import functools
import math

import numpy as np
import torch

from prumo_peers.common.protocol import RequestError
from prumo_peers.nets.session import NetSession
from prumo_peers.nets.torch_net import TorchNet

# eager: PyTorch's own kernels one by one, recorded into a graph where a device has graphs and calls are short;
# channels_last: the same with the channels of images next to each other; compiled: what torch.compile makes of the net.
IMPLEMENTATIONS = ("eager", "channels_last", "compiled")
_TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


class TorchSession(NetSession):
    def _place(self):
        choice = self.choice
        self._type = _TYPES[choice.dtype]
        self._format = torch.channels_last if choice.implementation == "channels_last" else torch.contiguous_format
        self._model = TorchNet(choice.net)
        self._model.set_weights(choice.weights)
        # Not all at once: vectors and matrices have no channels.
        self._model = self._model.to(self.device.handle, self._type)
        for parameter in self._model.parameters():
            if parameter.dim() == 4:
                parameter.data = parameter.data.contiguous(memory_format=self._format)
        self._run = torch.compile(self._model, dynamic=False) if choice.implementation == "compiled" else self._model
        self._results = [None] * len(self._offsets)

    def _enter(self):
        super()._enter()
        # Its kernels are those that won a trial of all, as a user sets it who runs one shape again and again.
        torch.backends.cudnn.benchmark = True

    def _warm_up(self, calls):
        try:
            super()._warm_up(calls)
        except Exception as problem:
            if self.choice.implementation != "compiled" or self.framework.kind_of(problem) == "memory":
                raise
            raise RequestError("unsupported", f"torch.compile fails here: {type(problem).__name__}: "
                                              f"{str(problem).strip().splitlines()[0][:200]}") from None

    def _net_calls(self):
        resident = self._numbers(torch.from_numpy(self._pixels).to(self.device.handle))

        def run(which):
            self._results[which] = self._run(resident[self._offsets[which]:][:self.choice.batch]).flatten(1)
        return [functools.partial(run, it) for it in range(len(self._offsets))]

    def _step_call(self, step):
        x = self._numbers(self._on_device(self._pixels[:self.choice.batch]))
        for layer in self.choice.net.layers[:step]:
            x = self._model.run_layer(layer, x)
        return functools.partial(self._model.run_layer, self.choice.net.layers[step], x)

    def _transfers(self):
        device, choice, made = self.device, self.choice, {}
        all_bytes = torch.from_numpy(self._pixels)
        if choice.pinned:
            all_bytes = all_bytes.pin_memory()
        pixels = torch.empty((choice.batch, *choice.net.input), dtype=torch.uint8, device=device.handle)
        classes = math.prod(choice.net.layers[-1].output)
        self._results = [torch.empty((choice.batch, classes), dtype=self._type, pin_memory=choice.pinned)
                         for _ in self._offsets]

        def upload(which):
            pixels.copy_(all_bytes[self._offsets[which]:][:choice.batch], non_blocking=True)

        def compute():
            made["y"] = self._run(self._numbers(pixels)).flatten(1)

        def download(which):
            self._results[which].copy_(made["y"], non_blocking=True)
        count = range(len(self._offsets))
        return ([functools.partial(upload, it) for it in count], [compute] * len(count),
                [functools.partial(download, it) for it in count])

    def _forget_results(self):
        for it in self._results:
            if it is not None:
                it.fill_(math.nan)

    def _results_of(self, which, places):
        return self._results[which][torch.from_numpy(places)].double().cpu().numpy()

    def _scores(self, pixels):
        # A compiled net would be compiled again for a last batch that is smaller.
        model = self._run if len(pixels) == self.choice.batch else self._model
        scores = model(self._numbers(self._on_device(pixels))).flatten(1).cpu()
        return (scores if self._type == torch.float64 else scores.float()).numpy()

    def _rounded_weights(self):
        return {name: self._model.weight(name).detach().cpu().double().numpy() for name in self.choice.net.weights}

    def _rounded_numbers(self, pixels):
        return (torch.from_numpy(pixels).to(self._type) / 255).double().numpy()

    def _numbers(self, pixels):
        """b / 255, divided in the type of the net."""
        return (pixels.to(self._type) / 255).contiguous(memory_format=self._format)

    def _on_device(self, pixels):
        return torch.from_numpy(np.ascontiguousarray(pixels)).to(self.device.handle)
