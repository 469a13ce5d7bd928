# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arrays hold before a call. NumPy makes it on the host, or a framework on its device: the same bits."""

import dataclasses
import math

import numpy as np

from prumo_peers.common import array_philox, philox, rounding


@dataclasses.dataclass(frozen=True)
class Contents:
    extents: tuple
    dtype: str  # of the elements

    # Smaller arrays are made on the host, which takes a millisecond: a device would load or compile its kernels first.
    LEAST_ON_DEVICE = 1 << 20

    @property
    def size(self):
        return math.prod(self.extents)

    @property
    def fits_device(self):
        """Whether a device can make the elements, and has enough of them to do."""
        return self.size >= self.LEAST_ON_DEVICE

    def numbers(self):
        """All elements in NumPy, as Framework.array() takes them."""
        raise NotImplementedError

    def write(self, flat, library):
        """Writes all elements into an array of one axis, which the library has on its device."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Constant(Contents):
    """One value everywhere."""

    value: float

    def numbers(self):
        kind = np.int64 if self.dtype == "i64" else rounding.carrier(self.dtype)
        return np.full(self.extents, self.value, kind)

    def write(self, flat, library):
        flat[...] = self.value


@dataclasses.dataclass(frozen=True)
class Generated(Contents):
    """Numbers of the generator."""

    seed: int
    stream: int

    @property
    def lanes(self):
        return array_philox.lanes(self.dtype)

    def chunks(self):
        """The first and the end of each stretch of blocks that are made together."""
        count = -(-self.size // self.lanes)
        step = array_philox.BLOCKS_AT_ONCE
        return [(first, min(first + step, count)) for first in range(0, count, step)]

    def of_blocks(self, counters, library):
        """The elements that blocks hold: an array for each element of a block."""
        raise NotImplementedError

    def write(self, flat, library):
        for first, end in self.chunks():
            for lane, values in enumerate(self.of_blocks(library.arange(first, end), library)):
                target = flat[first * self.lanes + lane:end * self.lanes:self.lanes]
                target[...] = values[:target.shape[0]]  # the last block may be cut off


@dataclasses.dataclass(frozen=True)
class Uniform(Generated):
    """Floating-point numbers in (-1, 1), or their absolute values."""

    positive: bool = False

    def numbers(self):
        numbers = np.empty(self.extents, rounding.carrier(self.dtype))
        philox.fill(numbers, self.seed, self.stream, self.dtype)
        return np.abs(numbers, out=numbers) if self.positive else numbers

    def of_blocks(self, counters, library):
        words = array_philox.blocks(self.seed, self.stream, counters)
        return array_philox.uniform(words, self.dtype, self.positive, library)


@dataclasses.dataclass(frozen=True)
class Indices(Generated):
    """Integers from 0 on."""

    below: int

    @property
    def fits_device(self):
        return super().fits_device and self.below <= array_philox.MOST_INDICES

    def numbers(self):
        return philox.indices(self.seed, self.stream, 0, self.size, self.below).reshape(self.extents)

    def of_blocks(self, counters, library):
        return array_philox.indices(array_philox.blocks(self.seed, self.stream, counters), self.below)
