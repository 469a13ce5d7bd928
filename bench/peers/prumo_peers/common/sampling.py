# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How calls are timed: in batches of a millisecond or more, as the C++ workers do (bench/serving/sampling.cpp)."""

import dataclasses
import math
import time


@dataclasses.dataclass
class Interval:
    """Calls made one after the other, and the seconds that they took together."""

    calls: int
    wall: float
    device: float | None = None  # by the device's own clock
    h2d: float | None = None  # of it, copies to the device
    d2h: float | None = None  # and back

    def length(self):
        return max(self.wall if self.device is None else self.device, 1e-9)


@dataclasses.dataclass
class Times:
    """Seconds of single calls: each an interval divided by its number of calls."""

    batch: int = 1
    seconds: float = 0.0  # of all intervals, by the wall's clock
    wall: list = dataclasses.field(default_factory=list)
    device: list = dataclasses.field(default_factory=list)  # empty where there is no such clock; so are the next two
    h2d: list = dataclasses.field(default_factory=list)
    d2h: list = dataclasses.field(default_factory=list)

    def add(self, interval):
        self.batch = interval.calls
        self.seconds += interval.wall
        self.wall.append(max(interval.wall, 1e-9) / interval.calls)
        for name in ("device", "h2d", "d2h"):
            value = getattr(interval, name)
            if value is not None:
                getattr(self, name).append(max(value, 1e-9) / interval.calls)


class Calls:
    """Calls that can be made again and again: ``functions`` holds one for each copy of the arrays, taken in turns."""

    most = 1 << 24  # how many run() makes at most
    dispatch = "single"  # or "recorded", which short calls may be
    settled_dispatch = "single"  # how the calls of all samples are made, once settle() was called

    def __init__(self, functions, fence):
        self.functions, self.fence = functions, fence
        self._next = 0

    def settle(self, calls):
        """Called once it is known how many calls make an interval. From then on run() makes all calls in one way, so
        that what a verification has seen is what is timed later."""

    def last_copy(self, calls):
        """The copy that the last one of the next calls uses."""
        return (self._next + calls - 1) % len(self.functions)

    def run_once(self, copy):
        """Makes a single call in the way that is settled, and waits for it."""
        self.functions[copy]()
        self.fence()

    def enqueue(self, calls):
        """Makes calls without waiting for them."""
        functions, copies, which = self.functions, len(self.functions), self._next
        for _ in range(calls):
            functions[which]()
            which += 1
            if which == copies:
                which = 0
        self._next = which

    def run(self, calls):
        """Makes about this number of calls and waits for them."""
        start = time.perf_counter()
        self.enqueue(calls)
        self.fence()
        return Interval(calls, time.perf_counter() - start)


class Sampler:
    MARGIN = 1.25  # calls become faster as clocks rise and pages settle
    LONG_FIRST_CALL = 1.0  # calls of this many seconds are samples although they were made to find the batch: the first,
    LONG_CALL = 0.1  # which also starts threads and compiles, and a later one

    def __init__(self, calls, least_interval=1e-3):
        self.calls, self._least = calls, least_interval
        self.batch = 0  # 0: not calibrated yet
        self._held = Times()  # samples of the calibration that sample() has not returned yet

    def _find_batch(self):
        self.batch = 1
        first = self.calls.run(1)
        if first.length() >= self.LONG_FIRST_CALL:
            self._held.add(first)
            return
        while self.batch < self.calls.most:
            interval = self.calls.run(self.batch)
            elapsed = interval.length()
            wanted = self.MARGIN * self._least / elapsed
            if elapsed >= self._least:
                self.batch = max(1, min(self.calls.most, math.ceil(self.batch * wanted)))
                if elapsed >= self.LONG_CALL:
                    self._held.add(interval)
                return
            self.batch = min(self.calls.most, math.ceil(self.batch * min(10.0, max(2.0, wanted))))

    def calibrate(self):
        """Finds the batch, if that is not known yet. Calls so long that they are samples are kept for sample()."""
        if self.batch == 0:
            self._find_batch()
            self.calls.settle(self.batch)

    @property
    def holds_samples(self):
        """Whether the next sample() has samples that calibrate() took."""
        return bool(self._held.wall)

    def run_interval(self):
        """Makes the calls of one interval exactly as sample() does, and keeps no times."""
        self.calls.run(self.batch)

    def sample(self, seconds):
        """Measures for about this many seconds, at least one interval."""
        self.calibrate()
        times, self._held = self._held, Times()
        shortest = math.inf
        while not times.wall or times.seconds < seconds:
            interval = self.calls.run(self.batch)
            shortest = min(shortest, interval.length())
            times.add(interval)
        if shortest < self._least:
            self.batch = min(self.calls.most, math.ceil(self.batch * self.MARGIN * self._least / shortest))
        return times
