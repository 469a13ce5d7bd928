# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What prumo::random_uniform and prumo::random_normal fill arrays with, in NumPy; docs/random.md specifies both."""

import numpy as np

from prumo_peers.common import philox, rounding


def _words(seed, stream, first, count, dtype):
    """The words of numbers first ... first + count - 1: 64 bits wide for f64, 32 for the other types."""
    lanes = 2 if dtype == "f64" else 4
    begin, end = first // lanes, -(-(first + count) // lanes)
    words = philox.blocks(seed, stream, np.arange(begin, end, dtype=np.uint64))
    if dtype == "f64":
        words = (words[1::2] << np.uint64(32)) | words[0::2]
    return words.T.reshape(-1)[first - begin * lanes:][:count]


def rounded(numbers, dtype):
    """Numbers rounded to the type, to nearest and ties to even, as float64."""
    if dtype == "bf16":
        bits = np.asarray(numbers, np.float32).view(np.uint32)
        bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        return bits.view(np.float32).astype(np.float64)
    return np.asarray(numbers).astype({"f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]).astype(np.float64)


def _below(value, dtype):
    """The largest number of the type below one of its own."""
    if dtype == "bf16":
        bits = int(np.float32(value).view(np.uint32)) >> 16
        bits = 0x8001 if bits & 0x7FFF == 0 else bits - 1 if bits < 0x8000 else bits + 1
        return np.float64(np.uint32(bits << 16).view(np.float32))
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]
    return np.float64(np.nextafter(kind(value), kind(-np.inf)))


def uniform(seed, stream, first, count, dtype, low, high):
    """Numbers in [low, high): the same bits as prumo's, as float64."""
    bits, kind = philox.SIGNIFICAND_BITS[dtype], rounding.carrier(dtype)
    words = _words(seed, stream, first, count, dtype) >> np.uint64((64 if dtype == "f64" else 32) - bits)
    low, high = kind(rounded(low, dtype)), kind(rounded(high, dtype))
    highest = kind(low if low == high else _below(high, dtype))
    values = (high - low) * (words.astype(kind) * kind(2.0**-bits)) + low
    return rounded(np.minimum(values, highest), dtype)


def normal(seed, stream, first, count, dtype, mean, deviation):
    """Normal numbers, exact but for their parameters and what the specification rounds, as np.longdouble."""
    kind, width = rounding.carrier(dtype), 64 if dtype == "f64" else 32
    begin = first // 2 * 2
    words = _words(seed, stream, begin, -(-(first + count - begin) // 2) * 2, dtype)
    step = kind(2.0**-width)
    u = (words[0::2].astype(kind) * step + step / kind(2)).astype(np.longdouble)
    quarter = np.uint64(1) << np.uint64(width - 2)
    # The nearest quarter of a turn is taken off, so that what is left can be rounded.
    turn = words[1::2] + quarter // np.uint64(2)  # modulo 2^64 for f64
    if width == 32:
        turn &= np.uint64(0xFFFFFFFF)
    quarters = turn >> np.uint64(width - 2)
    rest = (turn & (quarter - np.uint64(1))).astype(np.int64) - np.int64(1 << (width - 3))
    angle = rest.astype(kind).astype(np.longdouble) * np.longdouble(2.0) ** (1 - width) * np.longdouble(_PI)
    cosine, sine = np.cos(angle), np.sin(angle)
    swapped = quarters % np.uint64(2) == 1
    along, across = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    along = np.where((quarters == 1) | (quarters == 2), -along, along)
    across = np.where(quarters >= 2, -across, across)
    radius = np.sqrt(-2 * np.log(u))
    pairs = np.stack([radius * along, radius * across], axis=1).reshape(-1)[first - begin:][:count]
    return np.longdouble(kind(mean)) + np.longdouble(kind(deviation)) * pairs


# pi in two parts: a literal is rounded to double.
_PI = np.longdouble(3.141592653589793) + np.longdouble(1.2246467991473532e-16)
