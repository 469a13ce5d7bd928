# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dense layer of a net: a product with a bias for each column and an activation."""

import numpy as np

from prumo_peers.common import rounding
from prumo_peers.common.elementwise import Operation, parameter
from prumo_peers.common.images import ACTIVATIONS, activated, axis

_FLOPS = {"none": 0, "relu": 0, "sigmoid": 3, "tanh": 1, "gelu": 5, "gelu_by_tanh": 8}  # of an element


class Dense(Operation):
    axes = (axis("images", "rows of x"), axis("inputs", "columns of x", 400), axis("features", "columns of y", 120))

    def __init__(self):
        super().__init__("dense", "y = act(x w^T + bias), a layer of a net", 3, 0, default=False, parameters=(
            parameter("bias", "1 where y has a bias for each column", 1),
            parameter("activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 1)))

    def fitting(self, elements, given):
        others = {it["name"]: given.get(it["name"], it["default"]) for it in self.axes[1:]}
        return {"images": max(1, elements // max(1, others["inputs"]) // max(1, others["features"])), **others}

    def arrays(self, shape, values):
        rows, inputs, features = (shape[it["name"]] for it in self.axes)
        bias = [((features,), "input")] if values["bias"] else []
        return [((rows, inputs), "input"), ((features, inputs), "input"), *bias, ((rows, features), "output")]

    def model(self, shape, values, size):
        elements = shape["images"] * shape["features"]
        each = 2 * shape["inputs"] + (1 if values["bias"] else 0) + _FLOPS[ACTIVATIONS[int(values["activation"])]]
        stored = sum(int(np.prod(extents, dtype=object)) for extents, _ in self.arrays(shape, values))
        return {"bytes": stored * size, "flops": each * elements, "elements": elements, "unit": "tensor"}

    def reference_cost(self, shape):
        return 1000 + 200 * shape["inputs"]

    def expected(self, choice, indices):
        """The bound of a sum as for gemm, with the bias as one more term. What an activation does to it, and where a
        framework rounds to the type of the arrays, is as for a convolution."""
        it, inputs, features = choice.values, choice.shape["inputs"], choice.shape["features"]
        growth = rounding.gamma(choice.compute_type, inputs + 2)
        name, along = ACTIVATIONS[int(it["activation"])], np.arange(inputs)
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for at, index in enumerate(indices):
            row, column = divmod(int(index), features)
            products = choice.entries(0, row * inputs + along) * choice.entries(1, column * inputs + along)
            bias = choice.entries(2, np.array([column]))[0] if it["bias"] else np.longdouble(0)
            total = products.sum() + bias
            error = growth * (np.abs(products).sum() + abs(bias)) + choice.storage_bound(self, total)
            value[at] = activated(name, total)
            if name not in ("none", "relu"):
                error = 1.13 * error + 6 * rounding.unit_roundoff(choice.compute_type) * 2 * (abs(total) + error)
            bound[at] = error + choice.storage_bound(self, value[at])
        return value, rounding.stored_bound(choice.dtype, value, bound)
