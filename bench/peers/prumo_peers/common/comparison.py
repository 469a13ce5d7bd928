# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results compared with references, entry by entry."""

import math

import numpy as np

STRETCH = 4096  # neighbouring entries that are checked together


def chosen_indices(count, affordable):
    """Stretches of indices: all, or evenly spread ones with the first and the last among them."""
    if affordable >= count:
        for first in range(0, count, STRETCH):
            yield np.arange(first, min(count, first + STRETCH))
        return
    length = min(STRETCH, max(1, affordable // 16))
    stretches = max(2, affordable // length)
    for which in range(stretches):
        first = which * (count - length) // (stretches - 1)
        yield np.arange(first, first + length)


def compare(result, affordable, expected):
    """The answer to ``verify``: the entries that the reference can afford, compared with their bounds."""
    worst, checked, message = 0.0, 0, ""
    for indices in chosen_indices(result.size, affordable):
        value, bound = expected(indices)
        found = result[indices].astype(np.longdouble)
        off = np.abs(found - value)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(off == 0, 0, off / bound)
        checked += len(indices)
        at = int(errors.argmax()) if len(errors) else 0
        if len(errors) and not errors[at] <= worst:
            worst = float(errors[at])
            if not worst <= 1:
                message = f"entry {indices[at]} is {found[at]}, expected {value[at]} within {bound[at]}"
    # What no call wrote is NaN, and -1 where indices belong.
    missing = int((result < 0).sum() if result.dtype == np.int64 else np.isnan(result).sum())
    if missing:
        message = f"{missing} of {result.size} entries are NaN or were not written"
    return {"verified": missing == 0 and worst <= 1, "error": None if missing or not math.isfinite(worst) else worst,
            "error_bound": 1.0, "checked": checked, "method": "all" if checked == result.size else "sampled",
            "message": message}
