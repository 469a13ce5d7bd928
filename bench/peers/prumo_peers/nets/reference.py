# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net in f64 in NumPy, with a bound for the error of any computation of it in another type: a running error analysis
(Higham 2002, section 3.3), layer by layer, as nets/reference has it for prumo. It shares no code with the frameworks whose
results it judges."""

import math

import numpy as np

from prumo_peers.common import rounding

_FUNCTION_ULPS = 6  # what sigmoid, tanh and exp of a library may be off
_SLOPES = {"none": 1, "relu": 1, "sigmoid": 0.25, "tanh": 1}
_MOST_IMAGES = 64  # at once: the windows of a convolution are copied


def _windows(x, layer, outside):
    """The windows [n, channels, rows, columns, window rows, window columns] of images, with a number for what lies
    outside of them."""
    padding = [(0, 0), (0, 0)]
    for side in (0, 1):
        reach = (layer.output[1 + side] - 1) * layer.stride[side] + layer.window[side]
        before = layer.padding[side]
        padding.append((before, max(0, reach - before - layer.input[1 + side])))
    padded = np.pad(x, padding, constant_values=outside)
    every = np.lib.stride_tricks.sliding_window_view(padded, layer.window, (2, 3))[:, :, ::layer.stride[0],
                                                                                   ::layer.stride[1]]
    return every[:, :, :layer.output[1], :layer.output[2]]


def _sums(layer, x, weight, bias):
    """A layer of products without its activation."""
    if layer.kind == "dense":
        return x.reshape(len(x), -1) @ weight.T + (0 if bias is None else bias)
    windows = _windows(x, layer, 0)
    if layer.kind == "shared_convolution":
        return np.tensordot(windows, weight, ((4, 5), (0, 1))) + (0 if bias is None else bias)
    sums = np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
    return sums + (0 if bias is None else bias[:, None, None])


def _mean(layer, x):
    inside = np.isfinite(_windows(np.zeros((1, *layer.input)), layer, np.nan)).sum((4, 5))
    return _windows(x, layer, 0).sum((4, 5)) / inside


def _softmax(x):
    exponentials = np.exp(x - x.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


_ACTIVATIONS = {"none": lambda x: x, "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
                "tanh": np.tanh}


class Reference:
    """``weights`` are NumPy's arrays by name, as the type of the session holds them."""

    def __init__(self, net, weights, dtype, mode="strict"):
        self._net = net
        self._weights = {name: np.asarray(it, np.float64) for name, it in weights.items()}
        compute = rounding.compute_type(dtype)
        # The reference is in f64: where that is the type of the session, it rounds as often as what it judges.
        self._unit = float(rounding.unit_roundoff(compute)) * (2 if compute == "f64" else 1)
        self._stored = 0.0 if compute == dtype else float(rounding.unit_roundoff(dtype))
        # TF32 rounds both factors of a product to 11 bits.
        self._factors = 2.002 * 2.0**-11 if mode == "fast_tf32" else 0.0

    def of(self, x):
        """Values and bounds [n, classes] of images, given in f64."""
        parts = [self._of(x[first:first + _MOST_IMAGES]) for first in range(0, len(x), _MOST_IMAGES)]
        return tuple(np.concatenate(it) for it in zip(*parts))

    def _of(self, x):
        bound = np.zeros_like(x)
        for layer in self._net.layers:
            x, bound = self._step(layer, x, bound)
        return x.reshape(len(x), -1), bound.reshape(len(x), -1)

    def _gamma(self, roundings):
        return roundings * self._unit / (1 - roundings * self._unit)

    def _step(self, layer, x, bound):
        if layer.kind == "max_pool":
            return tuple(_windows(it, layer, -np.inf).max((4, 5)) for it in (x, bound))
        if layer.kind == "average_pool":
            y = _mean(layer, x)
            growth = self._gamma(math.prod(layer.window) + 1)
            return y, self._rounded(_mean(layer, bound) + growth * _mean(layer, abs(x) + bound), y)
        if layer.kind == "softmax":
            x, bound = (it.reshape(len(it), -1) for it in (x, bound))
            y = _softmax(x)
            relative = (np.expm1(2 * bound.max(1, keepdims=True)) + (4 * _FUNCTION_ULPS + x.shape[1]) * self._unit +
                        self._gamma(2) * abs(x).max(1, keepdims=True))
            return y, self._rounded(y * relative, y)
        weight = self._weights[layer.weights[0][0]]
        bias = self._weights[layer.weights[1][0]] if layer.has_bias else None
        total = _sums(layer, x, weight, bias)
        magnitude = _sums(layer, abs(x) + bound, abs(weight), None if bias is None else abs(bias))
        terms = weight.size if layer.kind == "shared_convolution" else weight[0].size
        error = _sums(layer, bound, abs(weight), None) + (self._gamma(terms + 2) + self._factors) * magnitude
        error = self._rounded(error, total)  # where a framework stores the sum before the activation
        y = _ACTIVATIONS[layer.activation](total)
        error = _SLOPES[layer.activation] * error
        if layer.activation in ("sigmoid", "tanh"):
            error = error + 2 * _FUNCTION_ULPS * self._unit * (abs(y) + error)
        return y, self._rounded(error, y)

    def _rounded(self, error, value):
        return error + self._stored * (abs(value) + error) + 1e-30


def compared(found, value, bound):
    """What `check` answers about results [images, classes] in f64."""
    distance = abs(found - value) / bound
    error = float(np.nan_to_num(distance, nan=math.inf).max())
    best, rows = value.argmax(1), np.arange(len(value))
    # Another class may win within the bounds where its highest place reaches the lowest one of the best.
    reach = value + bound
    reach[rows, best] = -math.inf
    undecided = reach.max(1) >= value[rows, best] - bound[rows, best]
    differing = int(((found.argmax(1) != best) & ~undecided).sum())
    verified = error <= 1
    return {"verified": verified, "error": error if math.isfinite(error) else None, "error_bound": 1,
            "differing": differing, "undecided": int(undecided.sum()),
            "message": "" if verified else "results are further from those in f64 than rounding explains"}
