# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The product of two matrices."""

import math

import numpy as np

from prumo_peers.common import rounding
from prumo_peers.common.elementwise import Operation


class Gemm(Operation):
    axes = ({"name": "m", "description": "rows of C"}, {"name": "n", "description": "columns of C"},
            {"name": "k", "description": "columns of op(A), rows of op(B)"})
    # Relative errors of inputs that a compute mode rounds, of one unit in the last place: some units cut digits off.
    input_errors = {"strict": 0.0, "fast_tf32": 2.0**-10, "fast_f16": 2.0**-10, "fast_bf16": 2.0**-7,
                    "fast_accumulation": 0.0}

    def defaults(self, dtype):
        # Units for f8 take operands that are contiguous along the sums.
        return {**super().defaults(dtype), "trans_b": int(dtype in rounding.PRODUCT_DTYPES)}

    def result_type(self, dtype):
        return rounding.product_result(dtype)

    def fitting(self, elements, given):
        return dict.fromkeys("mnk", math.isqrt(elements))

    def arrays(self, shape, values):
        m, n, k = shape["m"], shape["n"], shape["k"]
        return [((k, m) if values["trans_a"] else (m, k), "input"), ((n, k) if values["trans_b"] else (k, n), "input"),
                ((m, n), "input_output" if values["beta"] else "output")]

    def model(self, shape, values, size):
        m, n, k = shape["m"], shape["n"], shape["k"]
        inputs = m * k + k * n if values["alpha"] else 0
        scaling = 0 if values["alpha"] in (0, 1) else m * n
        adding = {0: 0, 1: 1}.get(values["beta"], 2) * m * n
        result_size = max(size, rounding.BYTES["bf16"])  # products of f8 are of bf16
        return {"bytes": inputs * size + (2 if values["beta"] else 1) * m * n * result_size,
                "flops": 2 * m * n * k + scaling + adding, "elements": m * n, "unit": "tensor"}

    def reference_cost(self, shape):
        return 200 * (shape["k"] + 200)

    def expected(self, choice, indices):
        """The bound: every product reaches C through k additions at most, its own rounding, and those of alpha and
        beta, so the error is below gamma_{k+3} (|alpha| |A| |B| + |beta C|), in any order (Higham 2002, section 3.5).
        A mode that rounds inputs by e adds (2 e + e^2) |alpha| |A| |B|; units for f8 may cut_off()."""
        m, n, k = choice.shape["m"], choice.shape["n"], choice.shape["k"]
        values = choice.rounded_parameters()
        e = self.input_errors[choice.mode]
        growth = rounding.gamma(choice.compute_type, k + 3)
        value, bound = np.empty(len(indices), np.longdouble), np.empty(len(indices), np.longdouble)
        along = np.arange(k)
        for at, index in enumerate(indices):
            i, j = divmod(int(index), n)
            a = choice.entries(0, along * m + i if values["trans_a"] else i * k + along)
            b = choice.entries(1, j * k + along if values["trans_b"] else along * n + j)
            products = a * b * values["alpha"]
            cut = 0.0
            if choice.dtype in rounding.PRODUCT_DTYPES:
                cut = abs(values["alpha"]) * cut_off(a * b, 128 if choice.mode == "strict" else max(1, k))
            old = values["beta"] * choice.entries(2, np.array([index]))[0] if values["beta"] else np.longdouble(0)
            magnitude = np.abs(products).sum()
            value[at] = products.sum() + old
            bound[at] = growth * (magnitude + abs(old)) + (2 * e + e * e) * magnitude + cut
        return value, rounding.stored_bound(self.result_type(choice.dtype), value, bound)


def cut_off(products, stretch):
    """The most that a unit for f8 loses of a sum of products, of which ``stretch`` are summed in it before they go to
    f32. It adds 32 at a time to the running sum and keeps the 14 highest bits of each, counted from the largest, and of
    the result; the products are multiples of 2^-8 (ops/case/prumo/case/product_reference.hpp)."""
    block, lost = 32, 0.0
    for begin in range(0, len(products), stretch):
        piece = products[begin:begin + stretch].astype(np.float64)
        after = np.cumsum(np.add.reduceat(piece, np.arange(0, len(piece), block)))
        largest = np.maximum(np.abs(after), np.abs(np.concatenate(([0.0], after[:-1]))))
        lost_here = 0.0
        for magnitude in largest if (largest >= 32).any() else ():
            if magnitude + lost_here >= 32:
                grid = 2.0 ** (math.frexp(magnitude + lost_here)[1] - 1 + 2 - 14)
                lost_here += (block + 2) * (grid - 2.0**-8)
        lost += lost_here
    return lost
