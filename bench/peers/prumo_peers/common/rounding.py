# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types and the pieces that error bounds are made of, as ops/case/rounding.cpp has them for prumo's own cases.

NumPy has no bf16, so data travel to and from a framework in a type that holds every value exactly: float64 for f64,
float32 for the others.
"""

import numpy as np

# Significand bits, and the exponent of the smallest normal number.
_FORMATS = {"f32": (24, -126), "f64": (53, -1022), "f16": (11, -14), "bf16": (8, -126), "f8_e4m3": (4, -6)}
DTYPES = ("f32", "f64", "f16", "bf16")  # of every operation
PRODUCT_DTYPES = ("f8_e4m3",)  # of matrix products only
BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "f8_e4m3": 1, "i64": 8}  # indices are 64-bit integers


def carrier(dtype):
    """NumPy's type that holds every value of ``dtype``."""
    return np.float64 if dtype == "f64" else np.float32


def product_result(dtype):
    """The type of a matrix product's result."""
    return "bf16" if dtype in PRODUCT_DTYPES else dtype


def compute_type(dtype):
    return "f64" if dtype == "f64" else "f32"


def unit_roundoff(dtype):
    return np.ldexp(np.longdouble(1), -_FORMATS[dtype][0])


def gamma(dtype, roundings):
    """(1 - u)^-n - 1: the most that n successive roundings add up to.

    Higham's n u / (1 - n u), which is no less, means nothing where n u is 1 or more (2002, lemma 3.1).
    """
    return np.expm1(-np.longdouble(roundings) * np.log1p(-unit_roundoff(dtype)))


def summation_growth(dtype, count):
    """The relative error of a sum of this many numbers of one sign, in any order.

    Either gamma of all additions, or what is left of it where roundings vary in sign (Higham and Mary, "A new approach
    to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019, theorem 2.4): 8 sqrt(n) u, but with a
    probability of 2 n exp(-32).
    """
    return min(gamma(dtype, count), 8 * np.sqrt(np.longdouble(max(count, 1))) * unit_roundoff(dtype))


def ulp(dtype, value):
    """One unit in the last place of each value; that of the smallest normal number below it."""
    bits, lowest = _FORMATS[dtype]
    exponent = np.frexp(np.abs(value))[1] - 1
    exponent = np.where((value == 0) | ~np.isfinite(value), lowest, np.maximum(exponent, lowest))
    return np.ldexp(np.ones(np.shape(value), np.longdouble), exponent - bits + 1)


def holds(target, dtype, value):
    """Whether a type has room for values of another: for their digits, and for the size of each."""
    bits, lowest = _FORMATS[target]
    return (_FORMATS[dtype][0] <= bits) & (np.abs(value) >= np.ldexp(np.longdouble(1), lowest))


def stored_bound(dtype, value, absolute):
    """The bound of results within ``absolute`` of the exact ones before they are rounded to their type in memory."""
    if compute_type(dtype) == dtype:
        return absolute
    return absolute + ulp(dtype, np.abs(value) + absolute) / 2


def as_computed(dtype, parameter):
    """A parameter as the computation sees it."""
    return np.longdouble(carrier(dtype)(parameter))
