# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net of prumo's description as a module of PyTorch."""

import torch
from torch import nn
from torch.nn import functional


class TorchNet(nn.Module):
    """Takes images [n, channels, rows, columns] and gives what the last layer makes of them. Its arrays of weights are
    called as in prumo, with an underscore for the point."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        for layer in net.layers:
            if layer.kind == "max_pool" and any(2 * p > w for p, w in zip(layer.padding, layer.window)):
                raise ValueError(f"{layer.name}: PyTorch pads windows by half of their size at most; this layer pads "
                                 f"{layer.window} by {layer.padding}")
        for name, shape in net.weights.items():
            self.register_parameter(name.replace(".", "_"), nn.Parameter(torch.zeros(shape)))

    def initialize(self, generator):
        """Uniform numbers within 1 / sqrt(inputs of a sum), as PyTorch's own layers begin."""
        with torch.no_grad():
            for layer in self.net.layers:
                for name, shape in layer.weights:
                    weight = layer.weights[0][1]
                    terms = weight[0] * weight[1] if layer.kind == "shared_convolution" else _product(weight[1:])
                    self.weight(name).uniform_(-terms**-0.5, terms**-0.5, generator=generator)

    def weight(self, name):
        return getattr(self, name.replace(".", "_"))

    def set_weights(self, arrays):
        """Takes numpy's arrays by prumo's names."""
        with torch.no_grad():
            for name in self.net.weights:
                self.weight(name).copy_(torch.from_numpy(arrays[name].copy()))

    def weights(self):
        """numpy's arrays by prumo's names."""
        return {name: self.weight(name).detach().cpu().numpy() for name in self.net.weights}

    def scores(self, x):
        """What forward() gives, without a softmax at the end: what the cross-entropy loss takes."""
        for layer in self.net.layers:
            if layer.kind != "softmax":
                x = self.run_layer(layer, x)
        return x

    def forward(self, x):
        x = self.scores(x)
        return functional.softmax(x, 1) if self.net.layers[-1].kind == "softmax" else x

    def run_layer(self, layer, x):
        """One layer with its activation."""
        return _ACTIVATIONS[layer.activation](self.sums(layer, x))

    def sums(self, layer, x):
        """One layer without its activation."""
        weight, bias = None, None
        if layer.weights:
            weight = self.weight(layer.weights[0][0])
            bias = self.weight(layer.weights[1][0]) if layer.has_bias else None
        if layer.kind == "convolution":
            return functional.conv2d(x, weight, bias, layer.stride, layer.padding)
        if layer.kind == "shared_convolution":
            # The maps of all images are images of one channel.
            maps = functional.conv2d(x.reshape(-1, 1, *layer.input[1:]), weight[None, None], bias, layer.stride,
                                     layer.padding)
            return maps.reshape(-1, *layer.output)
        if layer.kind == "max_pool":
            return functional.max_pool2d(x, layer.window, layer.stride, layer.padding, ceil_mode=layer.round_up)
        if layer.kind == "average_pool":
            return functional.avg_pool2d(x, layer.window, layer.stride, layer.padding, ceil_mode=layer.round_up,
                                         count_include_pad=False)
        if layer.kind == "softmax":
            return functional.softmax(x, 1)
        return functional.linear(x.flatten(1), weight, bias)


_ACTIVATIONS = {"none": lambda x: x, "relu": functional.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}


def _product(extents):
    product = 1
    for it in extents:
        product *= it
    return product
