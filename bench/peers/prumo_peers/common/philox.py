# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator of docs/random.md in NumPy: the same numbers as in every C++ worker."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from prumo_peers.common import machine

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_BLOCKS_AT_ONCE = 1 << 12  # the temporaries of this many blocks stay in a core's own cache
_PIECE = 1 << 16  # elements: their operations are long enough for threads to take turns at the interpreter

SIGNIFICAND_BITS = {"f32": 24, "f64": 53, "f16": 11, "bf16": 8, "f8_e4m3": 4}


def blocks(seed, stream, counters):
    """The blocks of these numbers (unsigned 64-bit integers) as 4 rows of words (in 64-bit integers)."""
    count = len(counters)
    words = np.empty((4, count), np.uint64)
    c0, c1, c2, c3 = words
    np.bitwise_and(counters, _LOW, out=c0)
    np.right_shift(counters, _HALF, out=c1)
    c2[...] = stream & 0xFFFFFFFF
    c3[...] = stream >> 32
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    p0, p1 = np.empty(count, np.uint64), np.empty(count, np.uint64)
    for _ in range(10):
        np.multiply(c0, _M0, out=p0)
        np.multiply(c2, _M1, out=p1)
        np.right_shift(p1, _HALF, out=c0)
        c0 ^= c1
        c0 ^= np.uint64(k0)
        np.right_shift(p0, _HALF, out=c2)
        c2 ^= c3
        c2 ^= np.uint64(k1)
        np.bitwise_and(p1, _LOW, out=c1)
        np.bitwise_and(p0, _LOW, out=c3)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return words


def _values(words, dtype):
    """The values of blocks, a row each, as doubles: exact for every type."""
    bits = SIGNIFICAND_BITS[dtype]
    width = 32
    if dtype == "f64":
        width = 64
        words = (words[1::2] << _HALF) | words[0::2]
    odd = (words >> np.uint64(width - bits)).astype(np.int64)
    odd *= 2
    odd -= (1 << bits) - 1
    return (odd * 2.0**-bits).T


def uniform(seed, stream, first, count, dtype):
    """Elements ``first`` ... ``first + count - 1`` of an array, as doubles."""
    lanes = 2 if dtype == "f64" else 4
    begin = first // lanes
    end = -(-(first + count) // lanes)
    values = _values(blocks(seed, stream, np.arange(begin, end, dtype=np.uint64)), dtype).reshape(-1)
    return values[first - begin * lanes:][:count]


def indices(seed, stream, first, count, below):
    """Elements of an array of indices: the words of doubles, modulo ``below``."""
    begin = first // 2
    words = blocks(seed, stream, np.arange(begin, -(-(first + count) // 2), dtype=np.uint64))
    words = ((words[1::2] << _HALF) | words[0::2]).T.reshape(-1)[first - begin * 2:][:count]
    return (words % np.uint64(below)).astype(np.int64) if below else np.zeros(count, np.int64)


def uniform_at(seed, stream, indices, dtype):
    """Elements of an array by index, as doubles."""
    lanes = 2 if dtype == "f64" else 4
    values = _values(blocks(seed, stream, (indices // lanes).astype(np.uint64)), dtype)
    return values[np.arange(len(indices)), indices % lanes]


def map_pieces(function, seed, stream, first, count, dtype):
    """What ``function`` makes of each piece of some elements, in order, by all cores. It takes the place of the piece
    among them and its elements, as doubles."""
    def of_piece(begin):
        return function(begin, uniform(seed, stream, first + begin, min(_PIECE, count - begin), dtype))

    begins = range(0, count, _PIECE)
    workers = min(machine.processors(), len(begins))
    if workers <= 1:
        return [of_piece(begin) for begin in begins]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(of_piece, begins))


def fill(array, seed, stream, dtype):
    """Writes the elements of a whole contiguous array, on all cores."""
    flat = array.reshape(-1)
    step = _BLOCKS_AT_ONCE * (2 if dtype == "f64" else 4)
    workers = min(machine.processors(), -(-flat.size // step)) or 1
    share = -(-flat.size // (workers * step)) * step

    def fill_part(begin):
        for first in range(begin, min(begin + share, flat.size), step):
            count = min(step, flat.size - first)
            flat[first:first + count] = uniform(seed, stream, first, count, dtype)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill_part, range(0, flat.size, share or 1)))
