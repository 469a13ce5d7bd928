# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a net is: the JSON of `prumo data info NET --json`, with every default filled in and every array of weights named.
docs/data.md describes the file."""

import collections
import dataclasses
import math

_PREFIXES = {"convolution": "conv", "shared_convolution": "shared", "max_pool": "pool", "average_pool": "pool",
             "dense": "dense", "softmax": "softmax"}


def _pair(value):
    return tuple(value) if isinstance(value, list) else (value, value)


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer. Fields that its kind lacks keep their defaults."""
    kind: str
    name: str                     # conv1, pool1, dense1, as prumo calls it
    input: tuple                  # channels, rows, columns
    output: tuple
    window: tuple = (1, 1)        # of a filter, too
    stride: tuple = (1, 1)
    padding: tuple = (0, 0)
    round_up: bool = False
    activation: str = "none"
    weights: tuple = ()           # names and shapes: (("conv1.weight", (6, 1, 5, 5)), ("conv1.bias", (6,)))

    @property
    def has_bias(self):
        return len(self.weights) == 2


@dataclasses.dataclass(frozen=True)
class Net:
    name: str
    input: tuple                  # channels, rows, columns
    layers: tuple

    @property
    def weights(self):
        """Names and shapes of all arrays of weights, in the order of the layers."""
        return dict(pair for layer in self.layers for pair in layer.weights)


def _places(extent, window, stride, padding, round_up):
    """The number of windows along one side; one more where the last begins inside of the image and that is asked for."""
    room = extent + 2 * padding - window
    count = room // stride + 1
    return count + 1 if round_up and room % stride and count * stride < extent + padding else count


def _layer(it, name, shape):
    kind = it["type"]
    common = {"kind": kind, "name": name, "input": shape, "activation": it.get("activation", "none")}

    def arrays(weight, outputs):
        bias = ((f"{name}.bias", (outputs,)),) if it.get("bias", True) else ()
        return ((f"{name}.weight", weight), *bias)

    if kind == "softmax":
        return Layer(**common, output=shape)
    if kind == "dense":
        features = it["features"]
        return Layer(**common, output=(features, 1, 1), weights=arrays((features, math.prod(shape)), features))
    is_pooling = kind in ("max_pool", "average_pool")
    window = _pair(it["window" if is_pooling else "filter"])
    stride = _pair(it.get("stride", list(window) if is_pooling else 1))
    padding = _pair(it.get("padding", 0))
    round_up = it.get("rounding", "down") == "up"
    channels = it.get("channels", shape[0])
    sides = tuple(_places(*side, round_up) for side in zip(shape[1:], window, stride, padding))
    weights = ()
    if kind == "convolution":
        weights = arrays((channels, shape[0], *window), channels)
    elif kind == "shared_convolution":
        weights = arrays(window, 1)
    return Layer(**common, output=(channels, *sides), window=window, stride=stride, padding=padding, round_up=round_up,
                 weights=weights)


def parse(document):
    """The net of a JSON document that prumo wrote or has checked."""
    it = document["input"]
    shape = (it.get("channels", 1), it["height"], it["width"])
    layers, numbers = [], collections.Counter()
    first = shape
    for entry in document["layers"]:
        prefix = _PREFIXES[entry["type"]]
        numbers[prefix] += 1
        layers.append(_layer(entry, prefix if prefix == "softmax" else f"{prefix}{numbers[prefix]}", shape))
        shape = layers[-1].output
    return Net(document.get("name", "net"), first, tuple(layers))
