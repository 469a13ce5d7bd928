# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on devices with memory and clocks of their own, timed as bench/worker/measured_calls.hpp times prumo's."""

import time

from prumo_peers.common.sampling import Calls, Interval


class FencedMarks:
    """Marks for frameworks without events: each waits for the device and reads the wall's clock."""

    def __init__(self, fence):
        self._fence, self._times = fence, {}

    def mark(self, which):
        self._fence()
        self._times[which] = time.perf_counter()

    def seconds_between(self, first, last):
        return self._times[last] - self._times[first]


class ResidentCalls(Calls):
    """Calls on data that stay on the device, timed by its events. Short ones are recorded and replayed as one launch,
    so that what is timed is the device's work and not the host's launching.

    ``record`` takes a function that makes calls and returns one that replays them, or None where nothing can be
    recorded. Without it each call is launched by itself.
    """

    LEAST_RECORDED = 10  # batches of a millisecond with fewer calls are of calls that Python's launches hide behind
    LONGEST_RECORDING = 512

    def __init__(self, functions, fence, marks, record=None):
        super().__init__(functions, fence)
        self._marks, self._record = marks, record
        self._replay, self._recorded, self._asked = None, 0, record is None
        self._settled = None  # whether calls are replayed from now on
        self.dispatch = "single" if record is None else "recorded"

    def _recording(self, calls):
        """Makes the recording at the first need; whether there is one."""
        if not self._asked:
            self._asked = True
            copies = len(self.functions)
            self._recorded = -(-min(calls, self.LONGEST_RECORDING) // copies) * copies
            # It begins with the first copy and ends with the last, so the rotation goes on where it was.
            before, self._next = self._next, 0
            self._replay = self._record(lambda: self.enqueue(self._recorded))
            self._next = before
        return self._replay is not None

    def _replays(self, calls):
        """Whether this number of calls is replayed."""
        wanted = calls >= self.LEAST_RECORDED if self._settled is None else self._settled
        return wanted and self._recording(calls)

    def settle(self, calls):
        self._settled = self._replays(calls)
        self.settled_dispatch = "recorded" if self._settled else "single"

    def last_copy(self, calls):
        """A recording always begins with the first copy and ends with the last one."""
        return len(self.functions) - 1 if self._settled else super().last_copy(calls)

    def run_once(self, copy):
        """Recorded calls are many. So this records another one, in the same way."""
        replay = self._record(self.functions[copy]) if self._settled else None
        (replay or self.functions[copy])()
        self.fence()

    def run(self, calls):
        recorded = self._replays(calls)
        self.fence()
        start = time.perf_counter()
        self._marks.mark(0)
        if recorded:
            replays = -(-calls // self._recorded)
            calls = replays * self._recorded
            for _ in range(replays):
                self._replay()
        else:
            self.enqueue(calls)
        self._marks.mark(1)
        self.fence()
        return Interval(calls, time.perf_counter() - start, self._marks.seconds_between(0, 1))


class TransferredCalls(Calls):
    """The same with the inputs copied to the device before each call and the outputs back after it.

    ``upload`` and ``download`` hold, for each copy of the arrays, a function that makes its copies.
    """

    most = 32  # each call of an interval has marks of its own
    MARKS = 4 * most

    def __init__(self, functions, fence, marks, upload, download, by_device):
        super().__init__(functions, fence)
        self._marks, self._upload, self._download, self._by_device = marks, upload, download, by_device

    def run_once(self, copy):
        self._next = copy
        self.run(1)

    def run(self, calls):
        calls, marks = min(calls, self.most), self._marks
        self.fence()
        start = time.perf_counter()
        for call in range(calls):
            which = self._next
            marks.mark(4 * call)
            self._upload[which]()
            marks.mark(4 * call + 1)
            self.functions[which]()
            marks.mark(4 * call + 2)
            self._download[which]()
            marks.mark(4 * call + 3)
            self._next = (which + 1) % len(self.functions)
        self.fence()
        wall = time.perf_counter() - start
        device = marks.seconds_between(0, 4 * calls - 1) if self._by_device else None
        return Interval(calls, wall, device, sum(marks.seconds_between(4 * it, 4 * it + 1) for it in range(calls)),
                        sum(marks.seconds_between(4 * it + 2, 4 * it + 3) for it in range(calls)))
