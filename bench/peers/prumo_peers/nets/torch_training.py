# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training in PyTorch."""

import numpy as np
import torch
from torch.nn import functional

from prumo_peers.nets.torch_net import TorchNet
from prumo_peers.nets.training import TrainingSession, gradient_divisors

# graph: a whole step recorded once and replayed, as PyTorch advises where steps are short; eager: kernel by kernel.
IMPLEMENTATIONS = ("graph", "eager")
_TYPES = {"f32": torch.float32, "f64": torch.float64}


def implementations_on(device):
    """Graphs are CUDA's."""
    return IMPLEMENTATIONS if device.handle is not None and torch.device(device.handle).type == "cuda" else ("eager",)


class TorchTraining(TrainingSession):
    def _place(self):
        choice, handle = self.choice, self.device.handle
        self._type = _TYPES[choice.dtype]
        model = TorchNet(choice.net)
        model = model.to(self._type)
        model.set_weights(choice.weights)
        self._model = model.to(handle)
        self._pixels = torch.from_numpy(choice.images).to(handle)
        self._labels = torch.from_numpy(choice.labels.astype(np.int64)).to(handle)
        self._order = torch.arange(len(choice.images), device=handle)
        self._places = torch.arange(choice.batch, device=handle)
        self._first = torch.zeros((), dtype=torch.int64, device=handle)
        self._loss_sum = torch.zeros((), dtype=torch.float64, device=handle)
        self._correct = torch.zeros((), dtype=torch.int64, device=handle)
        self._divisors = gradient_divisors(choice.net) if choice.loss == "original" else {}
        self._optimizer = self._make_optimizer()
        self._graph = None
        if choice.implementation == "graph":
            self.dispatch = "recorded"
            self._record()

    def _enter(self):
        super()._enter()
        torch.backends.cudnn.benchmark = True  # kernels that won a trial of all

    def _make_optimizer(self):
        choice, on_gpu = self.choice, torch.device(self.device.handle).type == "cuda"
        parameters = list(self._model.parameters())
        if choice.optimizer == "adam":
            return torch.optim.Adam(parameters, lr=choice.rate, capturable=on_gpu, fused=on_gpu)
        momentum = choice.momentum if choice.optimizer == "momentum" else 0
        return torch.optim.SGD(parameters, lr=choice.rate, momentum=momentum, fused=on_gpu)

    def _record(self):
        """Records a step with a whole batch. Warming up changes weights and moments, which are set back."""
        if len(self.choice.images) < self.choice.batch:
            return  # no step has a whole batch
        before = [it.detach().clone() for it in self._model.parameters()]
        stream = torch.cuda.Stream(self.device.handle)
        stream.wait_stream(torch.cuda.current_stream(self.device.handle))
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._first.zero_()
                self._step_of(self._places)
        torch.cuda.current_stream(self.device.handle).wait_stream(stream)
        self._first.zero_()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._step_of(self._places)
        with torch.no_grad():
            for now, then in zip(self._model.parameters(), before):
                now.copy_(then)
            for state in self._optimizer.state.values():
                for value in state.values():
                    if torch.is_tensor(value):
                        value.zero_()

    @torch.enable_grad()  # which the worker turns off for all other work
    def _step_of(self, places):
        """A step with the images at these places of the order, from the first one on."""
        which = self._order[self._first + places]
        labels = self._labels[which]
        results = self._run(self._numbers(self._pixels[which]))
        loss = self._loss(results, labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for name, divisor in self._divisors.items():
            self._model.weight(name).grad /= divisor
        self._optimizer.step()
        scale = 1 if self.choice.loss == "original" else len(places)
        self._loss_sum += loss.detach().double() * scale
        self._correct += (results.detach().argmax(1) == labels).sum()
        self._first += len(places)

    def _run(self, x):
        """Scores of the last dense layer, before its activation and a softmax; results for the loss squared."""
        if self.choice.loss == "squared":
            return self._model(x).flatten(1)
        layers = [it for it in self.choice.net.layers if it.kind != "softmax"]
        for layer in layers[:-1]:
            x = self._model.run_layer(layer, x)
        return self._model.sums(layers[-1], x).flatten(1)

    def _loss(self, results, labels):
        kind = self.choice.loss
        if kind == "softmax":
            return functional.cross_entropy(results, labels)
        targets = functional.one_hot(labels, results.shape[1]).to(results.dtype)
        if kind == "squared":
            return 0.5 * (results - targets).square().sum() / len(labels)
        total = functional.binary_cross_entropy_with_logits(results, targets, reduction="sum")
        return total if kind == "original" else total / len(labels)

    def _numbers(self, pixels):
        return pixels.to(self._type) / 255

    def _begin_epoch(self, order):
        if order is not None:
            self._order.copy_(torch.from_numpy(order))
        self._first.zero_()
        self._loss_sum.zero_()
        self._correct.zero_()

    def _take_steps(self, first, count):
        for step in range(first, first + count):
            images = min(self.choice.batch, len(self.choice.images) - step * self.choice.batch)
            if self._graph is not None and images == self.choice.batch:
                self._graph.replay()
            else:
                self._step_of(self._places[:images])

    def _sums(self):
        return self._loss_sum.item(), self._correct.item()

    def _scores(self, pixels):
        with torch.no_grad():
            x = torch.from_numpy(np.ascontiguousarray(pixels)).to(self.device.handle)
            return self._run(self._numbers(x)).cpu().numpy()

    def _weights(self):
        return self._model.weights()
