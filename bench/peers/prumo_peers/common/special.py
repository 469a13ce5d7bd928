# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error function, which NumPy lacks, in the precision of np.longdouble."""

import numpy as np

TERMS = 30  # the last of them is below 2^-64 of the sum for every |x| <= 1


def erf(x):
    """erf(x) of |x| <= 1: 2 / sqrt(pi) exp(-x^2) times the sum of 2^k x^(2k+1) / (1 * 3 * ... * (2k+1)), whose terms
    have one sign (Abramowitz and Stegun 7.1.6)."""
    x = np.asarray(x, np.longdouble)
    term = x
    total = x
    for k in range(1, TERMS):
        term = term * (2 * x * x) / (2 * k + 1)
        total = total + term
    return 2 / np.sqrt(np.longdouble(4) * np.arctan(np.longdouble(1))) * np.exp(-x * x) * total
