# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net in f64 on the host, with a bound for the error of any computation of it in another type: a running error analysis
(Higham 2002, section 3.3), layer by layer, as nets/reference has it for prumo."""

import math

import torch

from prumo_peers.common import rounding

_FUNCTION_ULPS = 6  # what sigmoid, tanh and exp of a library may be off
_SLOPES = {"none": 1, "relu": 1, "sigmoid": 0.25, "tanh": 1}


class Reference:
    """``model`` is a TorchNet in f64, of weights that the type of the session holds."""

    def __init__(self, model, dtype, mode):
        self._model = model
        self._absolute = type(model)(model.net).double()
        self._absolute.set_weights({name: abs(it) for name, it in model.weights().items()})
        compute = rounding.compute_type(dtype)
        self._unit = float(rounding.unit_roundoff(compute))
        self._stored = 0.0 if compute == dtype else float(rounding.unit_roundoff(dtype))
        # TF32 rounds both factors of a product to 11 bits.
        self._factors = 2.002 * 2.0**-11 if mode == "fast_tf32" else 0.0

    def of(self, x):
        """Values and bounds of images, given in f64."""
        bound = torch.zeros_like(x)
        for layer in self._model.net.layers:
            x, bound = self._step(layer, x, bound)
        return x.flatten(1), bound.flatten(1)

    def _gamma(self, roundings):
        return roundings * self._unit / (1 - roundings * self._unit)

    def _step(self, layer, x, bound):
        model = self._model
        if layer.kind == "max_pool":
            return model.run_layer(layer, x), model.run_layer(layer, bound)
        if layer.kind == "average_pool":
            y = model.run_layer(layer, x)
            sums = model.run_layer(layer, x.abs() + bound)
            growth = self._gamma(math.prod(layer.window) + 1)
            return y, self._rounded(model.run_layer(layer, bound) + growth * sums, y)
        if layer.kind == "softmax":
            y = model.run_layer(layer, x)
            worst = bound.amax(1, keepdim=True)
            relative = torch.expm1(2 * worst) + (4 * _FUNCTION_ULPS + x.shape[1]) * self._unit + self._gamma(
                2) * x.abs().amax(1, keepdim=True)
            return y, self._rounded(y * relative, y)
        total = model.sums(layer, x)
        magnitude = self._absolute.sums(layer, x.abs() + bound)
        carried = self._absolute.sums(layer, bound)
        if layer.has_bias:
            bias = self._absolute.weight(layer.weights[1][0])
            carried = carried - (bias if layer.kind == "dense" else bias[:, None, None])
        weight = layer.weights[0][1]
        terms = math.prod(weight if layer.kind == "shared_convolution" else weight[1:])
        error = carried + (self._gamma(terms + 2) + self._factors) * magnitude
        error = self._rounded(error, total)  # where a framework stores the sum before the activation
        y = model.run_layer(layer, x)
        error = _SLOPES[layer.activation] * error
        if layer.activation in ("sigmoid", "tanh"):
            error = error + 2 * _FUNCTION_ULPS * self._unit * (y.abs() + error)
        return y, self._rounded(error, y)

    def _rounded(self, error, value):
        return error + self._stored * (value.abs() + error) + 1e-30
