# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations: shapes, cost, and the references that results are held against. No framework is mentioned here.

Shapes, parameters and costs are those of prumo's own cases (ops/*/*_cases.cpp): results meet by them. A further
element-wise operation is one line of OPERATIONS, and one of each framework that has it.

A reference knows nothing of the order in which a framework computes, so its bounds hold for any order. 16-bit types are
computed in f32 and rounded once; where a framework does otherwise by itself, its adaptor asks for this.
"""

import math

import numpy as np

from prumo_peers.common import philox, rounding
from prumo_peers.common.convolution_gradients import ConvolutionBackwardData, ConvolutionBackwardWeights
from prumo_peers.common.dense import Dense
from prumo_peers.common.elementwise import Axpby, Cast, Gelu, Operation, parameter
from prumo_peers.common.images import Convolution, Pooling
from prumo_peers.common.products import Gemm
from prumo_peers.common.random_operations import RandomNormal, RandomUniform

ROW = 1024  # elements of a row where nobody says otherwise


class Rows(Operation):
    """What works on each row of a matrix."""

    axes = ({"name": "rows", "description": "rows of x"},
            {"name": "columns", "description": "elements of a row", "default": ROW})

    def fitting(self, elements, given):
        if given.get("rows") and "columns" not in given:
            return {"rows": given["rows"], "columns": max(1, elements // given["rows"])}
        columns = given.get("columns", ROW)
        return {"rows": max(1, elements // max(1, columns)), "columns": columns}


class Reduction(Operation):
    """What makes one number of all elements; ByRow makes it one of each row."""

    def __init__(self, op, description, flops, default=False):
        super().__init__(op, description, 1, flops, default=default)

    def row(self, choice, index):
        """First element and length of the row that an entry is made of."""
        return 0, choice.shape["n"]

    def arrays(self, shape, values):
        return [((shape["n"],), "input"), ((), "output")]

    def extents(self, shape):
        """Rows, and elements of each."""
        return 1, shape["n"]

    def model(self, shape, values, size):
        rows, columns = self.extents(shape)
        result_bytes = rounding.BYTES["i64"] if self.finds_index else size
        return {"bytes": rows * columns * size + rows * result_bytes, "flops": self.flops * rows * columns,
                "elements": rows * columns, "unit": "vector"}

    def reference_cost(self, shape):
        rows, columns = self.extents(shape)
        return 5 * columns + (2000 if "rows" in shape else 0)  # a row is a few calls of NumPy

    def expected(self, choice, indices):
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for at, index in enumerate(indices):
            begin, count = self.row(choice, int(index))
            value[at], bound[at] = self.expected_of_row(choice, begin, count)
        return value, bound if self.finds_index else rounding.stored_bound(choice.dtype, value, bound)

    @staticmethod
    def of_pieces(choice, begin, count, function):
        """What a function makes of each piece of a row. It takes the index in the row of the first element, and all."""
        return philox.map_pieces(function, choice.seed, 0, begin, count, choice.dtype)


class ByRow(Rows):
    """In front of a reduction: one of each row."""

    def row(self, choice, index):
        return index * choice.shape["columns"], choice.shape["columns"]

    def arrays(self, shape, values):
        return [((shape["rows"], shape["columns"]), "input"), ((shape["rows"],), "output")]

    def extents(self, shape):
        return shape["rows"], shape["columns"]


class Sum(Reduction):
    def expected_of_row(self, choice, begin, count):
        """The bound: an addition whose result is s is off by u |s| at most. In whatever order n independent numbers of
        mean 0 and variance 1/3 are added, the squares of all partial sums add up to n^2 / 6 at most on average, when
        they are added one by one. Roundings of varying sign reach 8 standard deviations u sqrt(sum s^2) once in 10^13
        (Hoeffding); with the squares four times their average this is 7 n u. For few numbers gamma_n sum |x| is less.
        """
        if not count:
            return np.longdouble(0), 0
        # The numbers of all types but f64 are multiples of 2^-24 below 1: doubles hold sums of a piece exactly.
        wide = np.longdouble if choice.dtype == "f64" else np.float64
        sums = self.of_pieces(choice, begin, count, lambda _, part: (part.sum(dtype=wide), np.abs(part).sum()))
        total, magnitude = (np.longdouble(0) + sum(map(np.longdouble, column)) for column in zip(*sums))
        computed = choice.compute_type
        return total, min(7 * count * rounding.unit_roundoff(computed), rounding.gamma(computed, count) * magnitude)


class Mean(Sum):
    def model(self, shape, values, size):
        model = super().model(shape, values, size)
        return {**model, "flops": model["flops"] + self.extents(shape)[0]}

    def expected_of_row(self, choice, begin, count):
        """The sum's bound over n, and what rounds after it: n, its reciprocal perhaps, the quotient or product."""
        total, bound = super().expected_of_row(choice, begin, count)
        mean = total / count
        return mean, bound / count + rounding.gamma(choice.compute_type, 3) * (abs(mean) + bound / count)


class SumOfSquares(Reduction):
    def expected_of_row(self, choice, begin, count):
        """The terms have one sign: each square is rounded, then come the additions in whatever order."""
        sums = self.of_pieces(choice, begin, count, lambda _, part: np.square(part.astype(np.longdouble)).sum())
        total = sum(sums, np.longdouble(0))
        return total, rounding.summation_growth(choice.compute_type, count + 1) * total


class Extreme(Reduction):
    """The largest or smallest element, exact."""

    def __init__(self, op, description, find):
        super().__init__(op, description, 0)
        self.find = find

    def expected_of_row(self, choice, begin, count):
        return self.find(self.of_pieces(choice, begin, count, lambda _, part: self.find(part))), 0


class Position(Reduction):
    """The index of the first of the largest elements, or of the smallest."""

    finds_index = True

    def __init__(self, op, description, find):
        super().__init__(op, description, 0)
        self.find = find

    def expected_of_row(self, choice, begin, count):
        def of_piece(first, part):
            place = int(self.find(part))
            return first + place, part[place]

        places, values = zip(*self.of_pieces(choice, begin, count, of_piece))
        return places[int(self.find(values))], 0


class SumRows(ByRow, Sum):
    pass


class MeanRows(ByRow, Mean):
    pass


class SumOfSquaresRows(ByRow, SumOfSquares):
    pass


class ExtremeRows(ByRow, Extreme):
    pass


class PositionRows(ByRow, Position):
    pass


class Softmax(Rows):
    flops_per_element = 4

    def arrays(self, shape, values):
        extents = (shape["rows"], shape["columns"])
        return [(extents, "input"), (extents, "output")]

    def model(self, shape, values, size):
        elements = shape["rows"] * shape["columns"]
        return {"bytes": 2 * elements * size, "flops": self.flops_per_element * elements + shape["rows"],
                "elements": elements, "unit": "vector"}

    def entries(self, u, distance, total, total_bound):
        """Values and bounds of entries so far from their row's maximum. The quotient takes two more roundings at most."""
        value = np.exp(-distance) / total
        return value, value * (u * (distance + 8) + total_bound + 2 * u)

    def expected(self, choice, indices):
        """The bound: x - max is rounded once, which exp turns into a relative error of u |x - max|; exp itself is
        within 4 ulp, 8 u, in every library met here. The terms of the sum carry the same at the largest distance, and
        the sum its own additions."""
        columns, computed = choice.shape["columns"], choice.compute_type
        u = rounding.unit_roundoff(computed)
        growth = rounding.summation_growth(computed, columns)
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        for row in np.unique(indices // columns) if len(indices) else ():
            x = philox.uniform(choice.seed, 0, int(row) * columns, columns, choice.dtype).astype(np.longdouble)
            distance = x.max() - x
            here = indices // columns == row
            value[here], bound[here] = self.entries(u, distance[indices[here] % columns], np.exp(-distance).sum(),
                                                    u * (distance.max() + 8) + growth)
        return value, rounding.stored_bound(choice.dtype, value, bound + choice.storage_bound(self, value))


class LogSoftmax(Softmax):
    flops_per_element = 5

    def entries(self, u, distance, total, total_bound):
        """The logarithm is within 4 ulp, 8 u; x - max, which may be taken apart, and the difference are rounded. A
        library that takes max + log(total) away at once rounds that sum: no more, as the maximum is below 1."""
        logarithm = np.log(total)
        value = -distance - logarithm
        return value, total_bound + u * (distance + 8 * logarithm + 2 * (1 + logarithm) + np.abs(value))

    def expected(self, choice, indices):
        """PyTorch on hosts keeps a row's logarithm, which no result is nearer to 0 than, in 16 bits where x has so
        many."""
        value, bound = super().expected(choice, indices)
        if choice.dtype != choice.compute_type:
            bound = bound + rounding.ulp(choice.dtype, value) / 2
        return value, bound


class Transpose(Operation):
    axes = ({"name": "rows", "description": "rows of x"}, {"name": "columns", "description": "columns of x"})

    def fitting(self, elements, given):
        side = math.isqrt(elements)
        if not given.get("rows") and not given.get("columns"):
            return {"rows": max(1, side), "columns": max(1, side)}
        other = max(1, elements // max(1, given.get("rows") or given.get("columns")))
        return {"rows": given.get("rows", other), "columns": given.get("columns", other)}

    def arrays(self, shape, values):
        return [((shape["rows"], shape["columns"]), "input"), ((shape["columns"], shape["rows"]), "output")]

    def model(self, shape, values, size):
        elements = shape["rows"] * shape["columns"]
        return {"bytes": 2 * elements * size, "flops": 0, "elements": elements, "unit": "vector"}

    def expected(self, choice, indices):
        rows, columns = choice.shape["rows"], choice.shape["columns"]
        value = choice.entries(0, indices % rows * columns + indices // rows)
        return value, np.zeros(len(indices), np.longdouble)


class GatherRows(Rows):
    axes = ({"name": "rows", "description": "rows of y"},
            {"name": "columns", "description": "elements of a row", "default": 256},
            {"name": "table", "description": "rows of x (default: the number of rows of y)"})

    def fitting(self, elements, given):
        fitted = super().fitting(elements, {"columns": 256, **given} if not given.get("rows") else given)
        return {**fitted, "table": given.get("rows", fitted["rows"])}

    def indices_below(self, shape):
        return shape["table"]

    def untouched_elements(self, shape):
        return max(0, shape["table"] - shape["rows"]) * shape["columns"]

    def arrays(self, shape, values):
        return [((shape["table"], shape["columns"]), "input"), ((shape["rows"],), "indices"),
                ((shape["rows"], shape["columns"]), "output")]

    def model(self, shape, values, size):
        elements = shape["rows"] * shape["columns"]
        return {"bytes": 2 * elements * size + 8 * shape["rows"], "flops": 0, "elements": elements, "unit": "vector"}

    def expected(self, choice, indices):
        columns, rows = choice.shape["columns"], indices // choice.shape["columns"]
        if not len(indices):
            return np.empty(0, np.longdouble), np.empty(0, np.longdouble)
        first = int(rows.min())
        chosen = philox.indices(choice.seed, 1, first, int(rows.max()) + 1 - first, choice.shape["table"])
        value = choice.entries(0, chosen[rows - first] * columns + indices % columns)
        return value, np.zeros(len(indices), np.longdouble)


OPERATIONS = {it.op: it for it in (
    Operation("add", "z = x + y", 2, 1, lambda x, y, _: x + y),
    Operation("mul", "z = x * y, element by element", 2, 1, lambda x, y, _: x * y),
    Operation("scale", "y = alpha x", 1, 1, lambda x, it: it["alpha"] * x,
              parameters=(parameter("alpha", "the factor", 2.5),)),
    # exp within 4 ulp, two roundings, and a little for what they add to one another
    Operation("sigmoid", "y = 1 / (1 + exp(-x))", 1, 3, lambda x, _: 1 / (1 + np.exp(-x)), ulps=6),
    Operation("tanh", "y = tanh(x)", 1, 1, lambda x, _: np.tanh(x), ulps=4.5),
    Operation("relu", "y = max(x, 0)", 1, 0, lambda x, _: np.maximum(x, 0), ulps=0, default=False),
    Gelu(),
    Operation("exp", "y = exp(x)", 1, 1, lambda x, _: np.exp(x), ulps=4, default=False),
    Operation("log", "y = ln x, of x in (0, 1)", 1, 1, lambda x, _: np.log(x), ulps=4, default=False, positive=True),
    Operation("sqrt", "y = sqrt(x), of x in (0, 1)", 1, 1, lambda x, _: np.sqrt(x), ulps=1, default=False,
              positive=True),
    # a square root within 1 ulp and a quotient, or a function within 2
    Operation("rsqrt", "y = 1 / sqrt(x), of x in (0, 1)", 1, 2, lambda x, _: 1 / np.sqrt(x), ulps=2.5, default=False,
              positive=True),
    # two products and their sum, each rounded
    Axpby("axpby", "z = alpha x + beta y", 2, 3, lambda x, y, it: it["alpha"] * x + it["beta"] * y, ulps=2,
          parameters=(parameter("alpha", "the factor of x", 2.5), parameter("beta", "the factor of y", -1.5)),
          default=False, scale=lambda x, y, it: np.abs(it["alpha"] * x) + np.abs(it["beta"] * y)),
    *map(Cast, rounding.DTYPES),
    RandomUniform(),
    RandomNormal(),
    Operation("copy", "y = x", 1, 0, lambda x, _: x, ulps=0, default=False),
    Operation("fill", "y = value", 0, 0, lambda it: it["value"], ulps=0, default=False,
              parameters=(parameter("value", "the value", 0.75),)),
    Sum("sum", "the sum of all elements of x", 1, default=True),
    SumRows("sum_rows", "the sum of each row of x", 1),
    SumOfSquares("sum_of_squares", "the sum of the squares of all elements of x", 2),
    SumOfSquaresRows("sum_of_squares_rows", "the sum of squares of each row of x", 2),
    Mean("mean", "the mean of all elements of x", 1),
    MeanRows("mean_rows", "the mean of each row of x", 1),
    Extreme("max", "the largest element of x", np.max),
    ExtremeRows("max_rows", "the largest element of each row of x", np.max),
    Extreme("min", "the smallest element of x", np.min),
    ExtremeRows("min_rows", "the smallest element of each row of x", np.min),
    Position("argmax", "the index of the largest element of x", np.argmax),
    PositionRows("argmax_rows", "the column of the largest element of each row of x", np.argmax),
    Position("argmin", "the index of the smallest element of x", np.argmin),
    PositionRows("argmin_rows", "the column of the smallest element of each row of x", np.argmin),
    Softmax("softmax", "the softmax of each row of x", 1, 4),
    Transpose("transpose", "y = x^T", 1, 0, default=False),
    GatherRows("gather_rows", "y(i, :) = x(index(i), :)", 2, 0, default=False),
    LogSoftmax("log_softmax", "the logarithm of the softmax of each row of x", 1, 5, default=False),
    Convolution(),
    ConvolutionBackwardData(),
    ConvolutionBackwardWeights(),
    Dense(),
    Pooling("max_pool", "the largest value of each window", "maximum"),
    Pooling("average_pool", "the mean of each window", "mean"),
    Gemm("gemm", "C = alpha op(A) op(B) + beta C", 2, 0, parameters=(
        parameter("alpha", "the factor of the product", 1), parameter("beta", "the factor of the old C", 0),
        parameter("trans_a", "1 where A is stored transposed", 0),
        parameter("trans_b", "1 where B is stored transposed", 0))))}
