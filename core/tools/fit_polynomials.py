#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the coefficients of core/prumo/detail/math_constants.hpp, core/prumo/detail/host/normal_tail_table.hpp and
ops/random: minimax polynomials by Remez' exchange, and quotients of polynomials. Needs mpmath; numpy for the quotient
of f32, whose last bits are chosen by a search of some minutes.

usage: fit_polynomials.py
"""
import mpmath as mp

mp.mp.dps = 60


def remez(function, weight, low, high, degree, rounds=12):
    """The polynomial p of the degree that minimises max |weight(x) (p(x) - function(x))| on [low, high]."""
    count = degree + 2
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (count - 1 - i) / (count - 1)) for i in range(count)]
    coefficients = []
    for _ in range(rounds):
        system = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                system[i, j] = x**j
            system[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = mp.lu_solve(system, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        error = lambda x: weight(x) * (mp.polyval(coefficients[::-1], x) - function(x))
        grid = [low + (high - low) * i / 2000 for i in range(2001)]
        values = [error(x) for x in grid]
        extrema, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or mp.sign(values[i]) != mp.sign(values[start]):
                best = max(range(start, i), key=lambda k: abs(values[k]))
                extrema.append(grid[best])
                start = i
        if len(extrema) < count:
            break
        nodes = extrema[:count]
    worst = max(abs(error(low + (high - low) * i / 4000)) for i in range(4001))
    return coefficients, worst


def rounded(value, bits):
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def fit(name, function, weight, low, high, degree, bits, rounds=12):
    coefficients, worst = remez(function, weight, low, high, degree, rounds)
    print(f"{name}: largest weighted error {mp.nstr(worst, 3)} = 2^{mp.nstr(mp.log(worst, 2), 4)}")
    for coefficient in coefficients:
        number = float(rounded(coefficient, bits))
        print(f"  {number.hex()}{'f' if bits == 24 else ''}  // {mp.nstr(coefficient, 17)}")


def exp_tail(x):
    """(exp(x) - 1 - x) / x^2"""
    if abs(x) < mp.mpf(10) ** -8:
        return mp.mpf(1) / 2 + x / 6 + x * x / 24
    return (mp.exp(x) - 1 - x) / (x * x)


def twice_expm1_tail(p):
    """(exp(2p) - 1 - 2p) / p^2"""
    if abs(p) < mp.mpf(10) ** -12:
        return 2 + 4 * p / 3 + 2 * p * p / 3
    return (mp.exp(2 * p) - 1 - 2 * p) / (p * p)


def log_tail(z):
    """(log((1 + s) / (1 - s)) / s - 2) / z for z = s^2"""
    if z < mp.mpf(10) ** -12:
        return mp.mpf(2) / 3 + 2 * z / 5
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def sine_tail(z):
    """(sin(pi x) - pi x) / x^3 for z = x^2"""
    if z < mp.mpf(10) ** -12:
        return -mp.pi**3 / 6 + mp.pi**5 * z / 120
    x = mp.sqrt(z)
    return (mp.sin(mp.pi * x) - mp.pi * x) / (x * z)


def cosine_tail(z):
    """(cos(pi x) - 1) / x^2 for z = x^2"""
    if z < mp.mpf(10) ** -12:
        return -mp.pi**2 / 2 + mp.pi**4 * z / 24
    return (mp.cos(mp.pi * mp.sqrt(z)) - 1) / z


def upper_tail(y):
    """Q(y), the upper tail of the normal distribution"""
    return mp.erfc(y / mp.sqrt(2)) / 2


def scaled_tail(y):
    """exp(y^2/2) Q(y)"""
    if y < 30:
        return mp.exp(y * y / 2) * upper_tail(y)
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(30):  # its asymptotic series (Abramowitz and Stegun, 26.2.12)
        total, term = total + term, -term * (2 * k + 1) / (y * y)
    return total / (y * mp.sqrt(2 * mp.pi))


def fit_quotient(function, tolerance, last, degrees, points, rounds):
    """The coefficients of P and D, with P(0) = function(0) and D(0) = 1, that make the error of P/D relative to the
    tolerance small everywhere on [0, last]. Each round solves a linear problem of least squares, for P - function D
    over the D of the round before (Loeb 1957). The points' weights grow with their errors (Lawson 1961), so that all
    errors become equal."""
    ys = [((mp.cos(mp.pi * (i + mp.mpf(1) / 2) / points) + 1) / 2) ** 2 * last for i in range(points)]
    values, tolerances = [function(y) for y in ys], [tolerance(y) for y in ys]
    weights, denominators, best = [mp.mpf(1)] * points, [mp.mpf(1)] * points, None
    above, below = degrees
    start = function(mp.mpf(0))
    for _ in range(rounds):
        normal, right = mp.zeros(above + below, above + below), mp.zeros(above + below, 1)
        for y, value, wanted, weight, denominator in zip(ys, values, tolerances, weights, denominators):
            row = [y**j for j in range(1, above + 1)] + [-value * y**j for j in range(1, below + 1)]
            share = weight / (value * wanted * denominator) ** 2
            for i, entry in enumerate(row):
                right[i] += share * entry * (value - start)
                for j, other in enumerate(row):
                    normal[i, j] += share * entry * other
        solution = mp.lu_solve(normal, right)
        numerator = [start] + [solution[j] for j in range(above)]
        denominator = [mp.mpf(1)] + [solution[above + j] for j in range(below)]
        denominators = [mp.polyval(denominator[::-1], y) for y in ys]
        errors = [abs(mp.polyval(numerator[::-1], y) / d / value - 1) / wanted
                  for y, d, value, wanted in zip(ys, denominators, values, tolerances)]
        worst = max(errors)
        if best is None or worst < best[0]:
            best = (worst, numerator, denominator)
        weights = [weight * (error / worst + mp.mpf("1e-3")) for weight, error in zip(weights, errors)]
    return best


def tanh_quotient(u):
    """tanh(x) / x for u = x^2"""
    if u < mp.mpf(10) ** -12:
        return 1 - u / 3
    return mp.tanh(mp.sqrt(u)) / mp.sqrt(u)


def fit_half_tanh():
    """tanh for results of 16 bits, up to 4.6 and a little more."""
    worst, numerator, denominator = fit_quotient(tanh_quotient, lambda u: mp.mpf(1), mp.mpf("21.2"), (3, 3), 200, 60)
    print(f"tanh for 16 bits, in u = x^2: largest error {mp.nstr(worst, 3)}")
    print("  " + ", ".join(float(rounded(c, 24)).hex() for c in numerator))
    print("  " + ", ".join(float(rounded(c, 24)).hex() for c in denominator))


def fit_normal_tail():
    """The quotients of gelu. Their errors count as much as Q(y) does beside 1, as long as that is more than in ulp."""
    for bits, degrees, last, near, far, rounds in ((24, (4, 4), "14.6", "1e-7", "5e-7", 60),
                                                   (53, (9, 10), "39", "2e-17", "1e-16", 60)):
        tolerance = lambda y: min(mp.mpf(near) / 2 / upper_tail(y), mp.mpf(far))
        worst, numerator, denominator = fit_quotient(scaled_tail, tolerance, mp.mpf(last), degrees, 250, rounds)
        print(f"gelu, {bits} bits, in y: largest error {mp.nstr(worst, 3)} of the tolerance")
        numerator = [float(rounded(c, bits)) for c in numerator]
        denominator = [float(rounded(c, bits)) for c in denominator]
        if bits == 24:
            numerator, denominator = search_last_bits(numerator, denominator)
        print("  " + ", ".join(c.hex() for c in numerator))
        print("  " + ", ".join(c.hex() for c in denominator))


def search_last_bits(numerator, denominator, rounds=4000):
    """Changes the last bits of the coefficients of f32 at random, as long as the largest error of gelu becomes less.
    It computes the steps of less_normal_tail() and gelu_of_any(). A product of two floats is exact in double."""
    import math
    import numpy as np

    generator = np.random.default_rng(7)
    y = np.exp(generator.uniform(-6, 2.5, 60000)).astype(np.float32)
    exact = np.array([float(v) * math.erfc(float(v) / math.sqrt(2)) / 2 for v in y])
    single, double = np.float32, np.float64
    fma = lambda a, b, c: (double(a) * double(b) + double(c)).astype(single)
    n = np.rint(double(y) * double(y) * (-0.5 / math.log(2))).astype(single)
    twice_r = fma(n, single(float.fromhex("-0x1.7f7d1cp-19")), fma(-y, y, n * single(float.fromhex("-0x1.62e4p0"))))
    series = ["0x1p0", "0x1p-1", "0x1.fffffcp-4", "0x1.555492p-6", "0x1.5558eap-9", "0x1.12394cp-12", "0x1.6a26aep-16"]

    def polynomial(coefficients, x):
        value = np.full_like(x, coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = fma(value, x, single(coefficient))
        return value

    exponential = double(polynomial([float.fromhex(c) for c in series], twice_r)) * 2.0 ** double(n)

    def largest_error(above, below):
        tail = double((exponential * double(polynomial(above, y) * y / polynomial(below, y))).astype(single))
        positive = np.abs(double((double(y) - tail).astype(single)) - (double(y) - exact)) / y * 2.0**23
        negative = np.abs(tail - exact)
        ulps = negative / 2.0 ** (np.floor(np.log2(exact)) - 23)
        return max(positive.max(), (negative / y).max() * 2.0**23), ulps.max()

    kept = [single(c) for c in numerator], [single(c) for c in denominator]
    least = largest_error(*kept)
    for _ in range(rounds):
        tried = [np.array(part, dtype=single) for part in kept]
        for _ in range(generator.integers(1, 3)):
            part, index = generator.integers(0, 2), generator.integers(1, 5)
            reach = 1000 if part == 0 and index == 4 else 4
            tried[part].view(np.int32)[index] += generator.integers(-reach, reach + 1)
        error = largest_error(*tried)
        if error[1] < 11 and error < least:
            kept, least = tried, error
    print(f"  largest error of gelu {least[0]:.3f} epsilon |x|, {least[1]:.2f} ulp")
    return [float(c) for c in kept[0]], [float(c) for c in kept[1]]


def fit_normal_tail_table():
    """Q(y) in pieces around centers, as polynomials of the distance to the center."""
    pieces, per_unit, degree = 32, mp.mpf("7.5"), 4
    width = rounded(1 / per_unit, 24)
    rows, worst = [], 0
    for piece in range(pieces):
        half = width / 2 * mp.mpf("1.0001")
        coefficients, error = remez(lambda d: upper_tail(piece * width + d), lambda d: 1 / upper_tail(piece * width + d),
                                    -half if piece else mp.mpf(0), half, degree)
        worst = max(worst, error)
        rows.append([float(rounded(c, 24)) for c in coefficients])
    print(f"gelu, table: largest relative error {mp.nstr(worst, 3)}, width {float(width).hex()}")
    for power in range(degree + 1):
        print("  {" + ", ".join(row[power].hex() + "f" for row in rows) + "},")


def main():
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.0001")
    for bits, degree in ((24, 4), (53, 9)):
        fit(f"exp, {bits} bits: (exp(r) - 1 - r) / r^2", exp_tail, lambda r: (r * r + mp.mpf(10) ** -3) / mp.exp(r),
            -half_ln2, half_ln2, degree, bits)
    # n is rounded down but for a 128th: 2p lies between -ln(2) / 128 and ln(2).
    for bits, degree in ((24, 5), (53, 10)):
        fit(f"tanh, {bits} bits: (exp(2p) - 1 - 2p) / p^2", twice_expm1_tail,
            lambda p: (p * p + mp.mpf(10) ** -4) / (abs(mp.exp(2 * p) - 1) + mp.mpf(10) ** -3),
            -mp.log(2) / 200, mp.log(2) / 2, degree, bits)
    largest = mp.mpf("1.001") * (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    for bits, degree in ((24, 2), (53, 6)):
        fit(f"log, {bits} bits, in z = s^2", log_tail, lambda z: z / 2 + mp.mpf(10) ** -6, mp.mpf(10) ** -10,
            largest**2, degree, bits)
    # Of ops/random: |x| <= 1/4.
    for bits, degree in ((24, 3), (53, 6)):
        for name, tail in (("sin(pi x): (sin(pi x) - pi x) / x^3", sine_tail),
                           ("cos(pi x): (cos(pi x) - 1) / x^2", cosine_tail)):
            fit(f"{name} in z = x^2, {bits} bits", tail, lambda z: z + mp.mpf(10) ** -3, mp.mpf(10) ** -9,
                mp.mpf(1) / 16, degree, bits)
    fit_half_tanh()
    fit_normal_tail()
    fit_normal_tail_table()
    for bits, low_bits in ((24, 15), (53, 42)):
        ln2 = mp.log(2)
        high_part = mp.ldexp(mp.floor(mp.ldexp(ln2, low_bits)), -low_bits)
        low_part = rounded(ln2 - high_part, bits)
        print(f"ln 2 for {bits} bits: {float(high_part).hex()} + {float(low_part).hex()}")


if __name__ == "__main__":
    main()
