# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on each element by itself, and what all others differ from."""

import numpy as np

from prumo_peers.common import rounding, special
from prumo_peers.common.comparison import compare


def parameter(name, description, default):
    return {"name": name, "description": description, "default": default}


class Operation:
    """An element-wise operation, and what the others differ from. ``exact`` takes inputs and parameters; so does
    ``scale``, what an error is in units in the last place of, where that is not the result."""

    axes = ({"name": "n", "description": "elements of each array"},)
    finds_index = False  # whether the output holds integers of 64 bits
    target = None  # the type of the output's elements where it is not that of the inputs

    def __init__(self, op, description, inputs, flops, exact=None, ulps=0.5, parameters=(), default=True,
                 positive=False, scale=None):
        self.op, self.description, self.inputs, self.flops = op, description, inputs, flops
        self.exact, self.ulps, self.parameters, self.default = exact, ulps, parameters, default
        self.positive, self.scale = positive, scale  # whether inputs are the generator's numbers without their signs

    def defaults(self, dtype):
        """The parameters where nobody says otherwise."""
        return {it["name"]: it["default"] for it in self.parameters}

    def result_type(self, dtype):
        """The type of the output's elements in a case of that type."""
        return self.target or dtype

    def inputs_read(self, values):
        return self.inputs

    def flops_of(self, values):
        """Operations of one element."""
        return self.flops

    def check(self, choice, result, affordable):
        """The answer to ``verify`` for a Result."""
        return compare(result, affordable, lambda indices: self.expected(choice, indices))

    def fitting(self, elements, given):
        """The axes that are not given, for arrays of this number of elements."""
        return {"n": elements}

    def untouched_elements(self, shape):
        """Elements of the inputs that a call does not read, because indices choose others."""
        return 0

    def arrays(self, shape, values):
        """Extents and role of each array; the output comes last."""
        return [((shape["n"],), "input")] * self.inputs + [((shape["n"],), "output")]

    def model(self, shape, values, size):
        n, written = shape["n"], rounding.BYTES[self.target] if self.target else size
        return {"bytes": (self.inputs_read(values) * size + written) * n, "flops": self.flops_of(values) * n,
                "elements": n, "unit": "vector"}

    def reference_cost(self, shape):
        """Operations that the reference of one entry costs, roughly."""
        return 100

    def expected(self, choice, indices):
        """Values and bounds of entries of the output."""
        inputs = [choice.entries(which, indices) for which in range(self.inputs)]
        values = choice.rounded_parameters()
        value = self.exact(*inputs, values) + np.zeros(len(indices), np.longdouble)
        scale = self.scale(*inputs, values) if self.scale else value
        bound = choice.ulps(self) * rounding.ulp(choice.compute_type, scale) + choice.storage_bound(self, scale)
        return value, rounding.stored_bound(choice.dtype, value, bound)


class Axpby(Operation):
    def inputs_read(self, values):
        return sum(values[name] != 0 for name in ("alpha", "beta"))

    def flops_of(self, values):
        return max(0, 2 * self.inputs_read(values) - 1)


class Gelu(Operation):
    """By erf, or by tanh: exact values of both."""

    def __init__(self):
        # Any formula of a few rounded steps, whose functions are within 4 ulp, is as near as that to x.
        super().__init__("gelu", "y = x Phi(x), Phi of the normal distribution", 1, 5, self.exact_of, ulps=8,
                         parameters=(parameter("tanh", "1 for the approximation by tanh", 0),), default=False,
                         scale=lambda x, _: x)

    def flops_of(self, values):
        return 8 if values["tanh"] else 5

    @staticmethod
    def exact_of(x, values):
        if values["tanh"]:
            inner = 2 * np.sqrt(2 / np.longdouble(np.pi)) * x * (1 + np.longdouble(0.044715) * x * x)
            return x / (1 + np.exp(-inner))
        return x * (1 + special.erf(x / np.sqrt(np.longdouble(2)))) / 2


class Cast(Operation):
    def __init__(self, target):
        super().__init__(f"cast_{target}", f"y = x in {target}", 1, 0, default=False)
        self.target = target

    def expected(self, choice, indices):
        """Rounded once, or not at all where the target has room. f64 may become a 16-bit type by way of f32."""
        value = choice.entries(0, indices)
        half_unit = rounding.ulp(self.target, value) / 2
        if choice.dtype == "f64" and rounding.compute_type(self.target) != self.target:
            half_unit = half_unit + rounding.ulp("f32", value) / 2
        return value, np.where(rounding.holds(self.target, choice.dtype, value), 0, half_unit)
