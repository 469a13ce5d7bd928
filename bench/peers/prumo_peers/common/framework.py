# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a framework has to tell to be a peer; docs/peers.md shows how to write one."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from prumo_peers.common import machine
from prumo_peers.common.comparison import Result
from prumo_peers.common.device_calls import FencedMarks


@dataclasses.dataclass(frozen=True, eq=False)
class Device:
    id: str  # torch-cuda:0
    backend: str  # torch-cuda
    name: str | None
    handle: object = None  # how the framework calls it
    threads: int | None = None  # of a host device, where the framework tells
    transfers: bool = False  # data have to be copied there and back
    cache_bytes: int | None = None  # its last-level cache; None: the host's
    dtypes: tuple = ()  # empty: those of the framework
    product_dtypes: tuple = ()  # that gemm has besides
    modes: tuple = ("strict",)  # of gemm
    host_memory: tuple = ("pageable",)  # where transferred data may lie
    telemetry: Callable | None = None  # returns a nvml.Reading of its sensors
    facts: dict = dataclasses.field(default_factory=dict)


class Framework:
    """A framework whose calls write their result into the last array and are done when they return, on the host.

    ``calls`` holds a function for each operation that the framework has; it takes the arrays and the parameters.
    """

    name = ""  # of the module, the worker and the implementation
    dtypes = ("f32", "f64")
    calls = {}
    ulps = {}  # errors of operations whose authors promise less than operations.py asks for
    storage_roundings = {}  # how often operations on 16-bit types round to them on the way to the result
    warnings = ()
    compiles = False  # whether the first call of a case compiles it, for seconds perhaps

    def devices(self):
        raise NotImplementedError

    def net_sessions(self, devices):
        """A prumo_peers.nets.sessions.Sessions, where the framework runs nets; else None."""
        return None

    def training_implementations(self, device):
        """The ways in which nets are trained on a device, the first one where none is named; empty where they are not."""
        return ()

    def versions(self):
        """Of all that computes, by name."""
        raise NotImplementedError

    def array(self, device, numbers, dtype):
        """An array of the device with these numbers: NumPy's float64 for f64, int64 for i64 (results that are indices),
        float32 for all other types."""
        return numbers

    def fill(self, device, arrays, which, numbers, dtype):
        """Gives array number ``which`` other contents."""
        np.copyto(arrays[which], numbers)

    def numbers(self, array):
        """The numbers of an array in NumPy, of type float32 or float64, or int64 of indices."""
        return array

    def make(self, device, contents, written=None):
        """An array that the device itself fills with its contents (contents.py), which takes large ones much less time;
        None where NumPy makes them on the host. It is ``written``, if that is given and arrays can be written."""
        return None

    def result(self, array):
        """The numbers of an array as a verification asks for them."""
        return Result(self.numbers(array))

    def duplicate(self, array):
        return array.copy()

    def bind(self, device, op, arrays, parameters, dtype, mode):
        """A function of nothing that makes a call. It reads its arrays anew each time where calls return new ones."""
        return functools.partial(self.calls[op], *arrays, parameters)

    def enter(self, device, mode):
        """Makes the device and compute mode those of the calls that follow."""

    def fence(self, device):
        """Waits for all calls."""

    def trim(self, device):
        """Gives memory back to the system, where other workers may want it."""

    def available_memory(self, device):
        """Bytes of a device with memory of its own; None where it does not tell."""
        return None

    # Devices with clocks of their own
    def marks(self, device, count):
        """An object with mark(i) and seconds_between(i, j), i and j below ``count``, by the device's clock, or None."""
        return None

    def record(self, device, make_calls):
        """A function that repeats what ``make_calls`` does by one launch; None where nothing can be recorded."""
        return None

    # Devices with transfers
    def host_buffer(self, array, pinned):
        """Memory of the host with the contents of an array."""
        raise NotImplementedError

    def upload(self, device, arrays, which, buffer):
        """Copies a buffer into array number ``which``, or puts a new one into its place."""
        raise NotImplementedError

    def download(self, arrays, which, buffer):
        raise NotImplementedError

    def kind_of(self, error):
        """The protocol's kind of an exception of the framework."""
        return "memory" if isinstance(error, MemoryError) else "failed"

    # What follows is the same for all.
    def choose_marks(self, device, count):
        """Marks of the device's clock, or of the wall's; and whether they are the device's."""
        own = self.marks(device, count)
        return (own, True) if own is not None else (FencedMarks(lambda: self.fence(device)), False)

    @staticmethod
    def cache_bytes(device):
        return device.cache_bytes or machine.last_level_cache_bytes()
