# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error function, which NumPy lacks, in the precision of np.longdouble."""

import numpy as np

FARTHEST = 15  # from there on the function is 1 in every type


def erf(x):
    """erf(x): 2 / sqrt(pi) exp(-x^2) times the sum of 2^k x^(2k+1) / (1 * 3 * ... * (2k+1)), whose terms have one sign
    (Abramowitz and Stegun 7.1.6)."""
    x = np.clip(np.asarray(x, np.longdouble), -FARTHEST, FARTHEST)
    term = x
    total = x
    k = 0
    while np.any(np.abs(term) > np.abs(total) * 2.0**-66):
        k += 1
        term = term * (2 * x * x) / (2 * k + 1)
        total = total + term
    return 2 / np.sqrt(np.longdouble(4) * np.arctan(np.longdouble(1))) * np.exp(-x * x) * total
