#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the coefficients of core/prumo/detail/math_constants.hpp and ops/random: minimax polynomials by Remez'
exchange. Needs mpmath.

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


def normal_tail(t):
    """exp(y^2/2) Q(y) (1 + y/4) for t = (y/4) / (1 + y/4), Q the upper tail of the normal distribution"""
    y = 4 * t / (1 - t)
    if y < 30:
        return mp.exp(y * y / 2) * mp.erfc(y / mp.sqrt(2)) / 2 / (1 - t)
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(30):  # its asymptotic series (Abramowitz and Stegun, 26.2.12)
        total, term = total + term, -term * (2 * k + 1) / (y * y)
    return total / (y * mp.sqrt(2 * mp.pi)) / (1 - t)


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
    # From this argument on the results of gelu are zero.
    for bits, degree, last, rounds in ((24, 9, mp.mpf("14.5"), 8), (53, 21, mp.mpf(39), 8)):
        fit(f"gelu, {bits} bits, in t", normal_tail, lambda t: 1 / normal_tail(t), mp.mpf(0), last / (last + 4), degree,
            bits, rounds)
    for bits, low_bits in ((24, 15), (53, 42)):
        ln2 = mp.log(2)
        high_part = mp.ldexp(mp.floor(mp.ldexp(ln2, low_bits)), -low_bits)
        low_part = rounded(ln2 - high_part, bits)
        print(f"ln 2 for {bits} bits: {float(high_part).hex()} + {float(low_part).hex()}")


if __name__ == "__main__":
    main()
