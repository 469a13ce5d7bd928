# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator of docs/random.md for the arrays of any library: a device makes the same bits as philox.py on the host.

It needs 64-bit integers with signs, which all libraries have, and the operators + * & << >> ^ and %. A product of two
32-bit numbers may become negative. Its halves are right nevertheless, once the bits that the shift fills in are masked.
"""

import dataclasses
from collections.abc import Callable

from prumo_peers.common.philox import SIGNIFICAND_BITS

_LOW = 0xFFFFFFFF
_M0 = 0xD2511F53
_M1 = 0xCD9E8D57
# A chunk needs about 10 arrays of 8 MiB at a time. That is little beside the memory that a device keeps free, and
# enough work for an operation to take about as long as its launch from Python.
BLOCKS_AT_ONCE = 1 << 20
MOST_INDICES = 1 << 47  # indices must stay below this number


@dataclasses.dataclass(frozen=True)
class ArrayLibrary:
    """How a library makes arrays on one device."""

    arange: Callable  # the 64-bit integers from a first number up to an end
    to_float: Callable  # takes such integers and "f32" or "f64"


def lanes(dtype):
    """How many elements of an array are made of one block."""
    return 2 if dtype in ("f64", "i64") else 4


def _high(product):
    return (product >> 32) & _LOW


def blocks(seed, stream, counters):
    """The words of each block, as four arrays. ``counters`` are below 2^63."""
    # The last two become arrays later. The words of 64 bits may have a sign where they are a library's integers.
    c0, c1, c2, c3 = counters & _LOW, counters >> 32, stream & _LOW, (stream >> 32) & _LOW
    k0, k1 = seed & _LOW, (seed >> 32) & _LOW
    for _ in range(10):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = _high(p1) ^ c1 ^ k0, p1 & _LOW, _high(p0) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & _LOW, (k1 + 0xBB67AE85) & _LOW
    return c0, c1, c2, c3


def uniform(words, dtype, positive, library):
    """The values that blocks hold: an array for each element of a block. They are exact in every type."""
    bits = SIGNIFICAND_BITS[dtype]
    if dtype == "f64":
        # The upper 53 bits of a 64-bit word
        numbers = [(words[it + 1] << 21) + (words[it] >> 11) for it in (0, 2)]
    else:
        numbers = [it >> (32 - bits) for it in words]
    values = [library.to_float(it * 2 + (1 - (1 << bits)), "f64" if dtype == "f64" else "f32") * 2.0**-bits
              for it in numbers]
    return [abs(it) for it in values] if positive else values


def indices(words, below):
    """The 64-bit words of blocks modulo ``below``, by 16 bits at a time, so that no number needs the sign's bit."""
    if not below:
        return [words[0] * 0, words[2] * 0]
    rests = []
    for low, high in (words[0:2], words[2:4]):
        rest = high % below
        for part in (low >> 16, low & 0xFFFF):
            rest = ((rest << 16) + part) % below
        rests.append(rest)
    return rests
