# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy computes for each operation, and the references that its results are held against."""

import math

import numpy as np

from prumo_peers import philox

DTYPES = {"f32": np.float32, "f64": np.float64}
SOFTMAX_COLUMNS = 1024


def parameter(name, description, default):
    return {"name": name, "description": description, "default": default}


class Operation:
    """One operation: shapes, cost, the call and the reference. The shapes are those of prumo's own cases."""

    parameters = ()
    axes = ({"name": "n", "description": "elements of each array"},)

    def __init__(self, op, description, inputs, flops, call, exact=None, ulps=0.5, parameters=()):
        self.op, self.description, self.inputs = op, description, inputs
        self.flops, self.call, self.exact, self.ulps = flops, call, exact, ulps
        self.parameters = parameters

    def fitting(self, elements):
        """The shape of arrays of so many elements."""
        return {"n": elements}

    def arrays(self, shape, values):
        """Extents and role of each array; the output comes last."""
        return [((shape["n"],), "input")] * self.inputs + [((shape["n"],), "output")]

    def model(self, shape, values, size):
        n = shape["n"]
        return {"bytes": (self.inputs + 1) * n * size, "flops": self.flops * n, "elements": n, "unit": "vector"}

    def run(self, arrays, values):
        self.call(*arrays, values)

    def reference_cost(self, shape):
        """Operations that the reference of one entry costs, roughly."""
        return 100

    def expected(self, choice, indices):
        """Values and bounds of entries of the output."""
        inputs = [choice.entries(which, indices) for which in range(self.inputs)]
        value = self.exact(*inputs, choice.rounded_parameters()) + np.zeros(len(indices), np.longdouble)
        return value, self.ulps * np.spacing(np.abs(value).astype(choice.type)).astype(np.longdouble)


class Sum(Operation):
    def __init__(self):
        super().__init__("sum", "the sum of all elements of x", 1, 1, lambda x, out, _: np.sum(x, out=out))

    def arrays(self, shape, values):
        return [((shape["n"],), "input"), ((), "output")]

    def model(self, shape, values, size):
        n = shape["n"]
        return {"bytes": (n + 1) * size, "flops": n, "elements": n, "unit": "vector"}

    def reference_cost(self, shape):
        return 5 * shape["n"]

    def expected(self, choice, indices):
        n, total, magnitude = choice.shape["n"], np.longdouble(0), np.longdouble(0)
        for first in range(0, n, 1 << 16):
            part = philox.uniform(choice.seed, 0, first, min(1 << 16, n - first), choice.dtype).astype(np.longdouble)
            total, magnitude = total + part.sum(), magnitude + np.abs(part).sum()
        # NumPy adds pairwise in blocks of 128 with 8 accumulators: few roundings on the way of any element.
        depth = 128 / 8 + 8 + math.log2(max(n, 2))
        return np.array([total]), np.array([depth * choice.roundoff * magnitude])


class Softmax(Operation):
    axes = ({"name": "rows", "description": "rows of x"},
            {"name": "columns", "description": "elements of a row", "default": SOFTMAX_COLUMNS})

    def __init__(self):
        super().__init__("softmax", "the softmax of each row of x", 1, 4, self._softmax)

    @staticmethod
    def _softmax(x, y, _):
        np.subtract(x, x.max(axis=1, keepdims=True), out=y)
        np.exp(y, out=y)
        np.divide(y, y.sum(axis=1, keepdims=True), out=y)

    def fitting(self, elements):
        return {"rows": max(1, elements // SOFTMAX_COLUMNS), "columns": SOFTMAX_COLUMNS}

    def arrays(self, shape, values):
        extents = (shape["rows"], shape["columns"])
        return [(extents, "input"), (extents, "output")]

    def model(self, shape, values, size):
        elements = shape["rows"] * shape["columns"]
        return {"bytes": 2 * elements * size, "flops": 4 * elements + shape["rows"], "elements": elements, "unit": "vector"}

    def expected(self, choice, indices):
        columns = choice.shape["columns"]
        value = np.empty(len(indices), np.longdouble)
        for row in np.unique(indices // columns):
            x = philox.uniform(choice.seed, 0, int(row) * columns, columns, choice.dtype).astype(np.longdouble)
            powers = np.exp(x - x.max())
            here = indices // columns == row
            value[here] = (powers / powers.sum())[indices[here] % columns]
        # x - max rounds once and is at most 2, exp is off by 4 ulp, the sum by some 40 roundings, the division by one.
        return value, 64 * choice.roundoff * value


class Gemm(Operation):
    axes = ({"name": "m", "description": "rows of C"}, {"name": "n", "description": "columns of C"},
            {"name": "k", "description": "columns of op(A), rows of op(B)"})

    def __init__(self):
        super().__init__("gemm", "C = alpha op(A) op(B) + beta C", 2, 0, None, parameters=(
            parameter("alpha", "the factor of the product", 1), parameter("beta", "the factor of the old C", 0),
            parameter("trans_a", "1 where A is stored transposed", 0),
            parameter("trans_b", "1 where B is stored transposed", 0)))

    def fitting(self, elements):
        side = math.isqrt(elements)
        return {"m": side, "n": side, "k": side}

    def arrays(self, shape, values):
        m, n, k = shape["m"], shape["n"], shape["k"]
        return [((k, m) if values["trans_a"] else (m, k), "input"), ((n, k) if values["trans_b"] else (k, n), "input"),
                ((m, n), "input_output" if values["beta"] else "output")]

    def model(self, shape, values, size):
        m, n, k = shape["m"], shape["n"], shape["k"]
        scaling = 0 if values["alpha"] in (0, 1) else m * n
        adding = {0: 0, 1: 1}.get(values["beta"], 2) * m * n
        return {"bytes": (m * k + k * n + (2 if values["beta"] else 1) * m * n) * size,
                "flops": 2 * m * n * k + scaling + adding, "elements": m * n, "unit": "vector"}

    def run(self, arrays, values):
        a, b, c = arrays
        a, b = a.T if values["trans_a"] else a, b.T if values["trans_b"] else b
        if values["beta"] == 0:
            np.matmul(a, b, out=c)
            if values["alpha"] != 1:
                np.multiply(c, c.dtype.type(values["alpha"]), out=c)
        else:
            product = np.matmul(a, b)
            np.multiply(product, c.dtype.type(values["alpha"]), out=product)
            np.multiply(c, c.dtype.type(values["beta"]), out=c)
            np.add(c, product, out=c)

    def reference_cost(self, shape):
        return 200 * (shape["k"] + 200)

    def expected(self, choice, indices):
        m, n, k = choice.shape["m"], choice.shape["n"], choice.shape["k"]
        values = choice.rounded_parameters()
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        along = np.arange(k)
        for at, index in enumerate(indices):
            i, j = divmod(int(index), n)
            a = choice.entries(0, along * m + i if values["trans_a"] else i * k + along)
            b = choice.entries(1, j * k + along if values["trans_b"] else along * n + j)
            old = values["beta"] * choice.entries(2, np.array([index]))[0] if values["beta"] else np.longdouble(0)
            value[at] = values["alpha"] * (a * b).sum() + old
            bound[at] = (k + 3) * choice.roundoff * (abs(values["alpha"]) * np.abs(a * b).sum() + abs(old))
        return value, bound


def _sigmoid(x, y, _):
    np.negative(x, out=y)
    np.exp(y, out=y)
    np.add(y, y.dtype.type(1), out=y)
    np.reciprocal(y, out=y)


OPERATIONS = {it.op: it for it in (
    Operation("add", "z = x + y", 2, 1, lambda x, y, z, _: np.add(x, y, out=z), lambda x, y, _: x + y),
    Operation("mul", "z = x * y, element by element", 2, 1, lambda x, y, z, _: np.multiply(x, y, out=z),
              lambda x, y, _: x * y),
    Operation("scale", "y = alpha x", 1, 1, lambda x, y, it: np.multiply(x, x.dtype.type(it["alpha"]), out=y),
              lambda x, it: it["alpha"] * x, parameters=(parameter("alpha", "the factor", 2.5),)),
    Operation("sigmoid", "y = 1 / (1 + exp(-x))", 1, 3, _sigmoid, lambda x, _: 1 / (1 + np.exp(-x)), ulps=6),
    Operation("tanh", "y = tanh(x)", 1, 1, lambda x, y, _: np.tanh(x, out=y), lambda x, _: np.tanh(x), ulps=4.5),
    Operation("copy", "y = x", 1, 0, lambda x, y, _: np.copyto(y, x), lambda x, _: x, ulps=0),
    Operation("fill", "y = value", 0, 0, lambda y, it: y.fill(it["value"]), lambda it: it["value"], ulps=0,
              parameters=(parameter("value", "the value", 0.75),)),
    Sum(), Softmax(), Gemm())}
