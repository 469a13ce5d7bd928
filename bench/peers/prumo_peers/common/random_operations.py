# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of random numbers, which a framework's own generator fills."""

import math

import numpy as np

from prumo_peers.common import rounding
from prumo_peers.common.elementwise import Operation, parameter


class RandomNumbers(Operation):
    """Arrays filled by the framework's own generator: their numbers cannot be prumo's, so what is checked is their
    range and their moments. A row tells what the framework's users wait for."""

    OTHER_GENERATOR = "another generator than prumo's: range, mean and variance were checked"

    def __init__(self, op, description, flops, parameters):
        super().__init__(op, description, 0, flops, parameters=parameters, default=False)

    def check(self, choice, result, affordable):
        values, n = choice.values, result.size
        missing = result.missing()
        if missing or not n:
            message = f"{missing} of {n} entries are NaN or were not written" if missing else ""
            return {"verified": not missing, "error": None if missing else 0.0, "error_bound": 1.0, "checked": n,
                    "method": "moments", "message": message}
        mean, variance, kurtosis, low, high = self.distribution(values)
        deviation = math.sqrt(variance)
        # Coarse types round numbers, or the uniform ones that they are made of, to a number of steps.
        step = float(rounding.unit_roundoff(choice.dtype)) * 8
        # Six standard deviations of each estimate: passed by chance once in 10^9. The fourth moment gives a variance's.
        found_mean, found_variance, found_low, found_high = 0.0, 0.0, math.inf, -math.inf
        for piece in result.pieces():
            found_low, found_high = min(found_low, float(piece.min())), max(found_high, float(piece.max()))
            off = piece.astype(np.float64) - mean
            found_mean += float(off.sum()) / n
            found_variance += float(np.square(off, out=off).sum()) / n
        found_mean += mean
        bound_of_mean = 6 * deviation / math.sqrt(n) + step * (deviation + abs(mean))
        bound_of_variance = 6 * variance * math.sqrt((kurtosis - 1) / n) + step * (variance + abs(mean) * deviation)
        errors = {"the mean": 0.0 if found_mean == mean else 2.0}
        if bound_of_mean:
            errors["the mean"] = abs(found_mean - mean) / bound_of_mean
        # A variance of few numbers is far from normal.
        if bound_of_variance and n >= 1000:
            errors["the variance"] = abs(found_variance - variance) / bound_of_variance
        if found_low < low or found_high > high:
            errors["the range"] = 2.0
        worst = max(errors, key=errors.get)
        good = errors[worst] <= 1
        message = self.OTHER_GENERATOR if good else \
            f"{worst} is wrong: mean {found_mean}, variance {found_variance}, from {found_low} to {found_high}"
        return {"verified": good, "error": errors[worst], "error_bound": 1.0, "checked": n, "method": "moments",
                "message": message}


class RandomUniform(RandomNumbers):
    def __init__(self):
        super().__init__("random_uniform", "y = uniform numbers of the framework's own generator, low <= y < high", 2,
                         (parameter("low", "the lowest number", -2),
                          parameter("high", "what all numbers are below", 3)))

    @staticmethod
    def distribution(values):
        """Mean, variance, kurtosis and range. Types with few digits may round up to ``high``."""
        low, high = values["low"], values["high"]
        return (low + high) / 2, (high - low)**2 / 12, 1.8, low, high


class RandomNormal(RandomNumbers):
    def __init__(self):
        super().__init__("random_normal", "y = normal numbers of the framework's own generator", 17,
                         (parameter("mean", "their mean", 0.25),
                          parameter("deviation", "their standard deviation", 1.5)))

    @staticmethod
    def distribution(values):
        return values["mean"], values["deviation"]**2, 3, -math.inf, math.inf
