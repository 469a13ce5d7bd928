# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results compared with references, entry by entry."""

import math

import numpy as np

PIECE = 1 << 22  # entries that are looked at together: what is made of them stays small
STRETCH = 4096  # neighbouring entries that are checked together


class Result:
    """The numbers of an array, which lie in NumPy. Frameworks derive from it to bring from a device only what a check
    asks for."""

    def __init__(self, numbers):
        self._flat = numbers.reshape(-1)

    @property
    def size(self):
        return math.prod(self._flat.shape)

    def entries(self, which):
        """Some numbers in NumPy, by an array of indices or a slice."""
        return self._flat[which]

    def missing(self):
        """The number of entries that no call has written. They are NaN, or -1 in an array of indices."""
        return sum(self._missing_of(self._flat[first:first + PIECE]) for first in range(0, self.size, PIECE))

    @staticmethod
    def _missing_of(part):
        """The same of a part of the array, as the framework has it."""
        return int((part < 0).sum() if part.dtype == np.int64 else np.isnan(part).sum())

    def pieces(self):
        """All numbers, piece by piece."""
        return (self.entries(slice(first, first + PIECE)) for first in range(0, self.size, PIECE))


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
        found = result.entries(indices).astype(np.longdouble)
        off = np.abs(found - value)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(off == 0, 0, off / bound)
        checked += len(indices)
        at = int(errors.argmax()) if len(errors) else 0
        if len(errors) and not errors[at] <= worst:
            worst = float(errors[at])
            if not worst <= 1:
                message = f"entry {indices[at]} is {found[at]}, expected {value[at]} within {bound[at]}"
    missing = result.missing()
    if missing:
        message = f"{missing} of {result.size} entries are NaN or were not written"
    return {"verified": missing == 0 and worst <= 1, "error": None if missing or not math.isfinite(worst) else worst,
            "error_bound": 1.0, "checked": checked, "method": "all" if checked == result.size else "sampled",
            "message": message}
