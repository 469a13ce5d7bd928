# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case: a choice of everything, with its arrays in a framework, its measurement and its verification."""

import functools
import math

import numpy as np

from prumo_peers.common import machine, philox, rounding
from prumo_peers.common.contents import Constant, Indices, Uniform
from prumo_peers.common.device_calls import ResidentCalls, TransferredCalls
from prumo_peers.common.nvml import Reading, told_between
from prumo_peers.common.sampling import Calls, Sampler


class Case:
    def __init__(self, operation, dtype, shape, values, seed=1, mode="strict"):
        self.operation, self.dtype, self.shape, self.values = operation, dtype, shape, values
        self.seed, self.mode = seed, mode
        self.compute_type = rounding.compute_type(dtype)
        self.arrays = operation.arrays(shape, values)
        self.array_bytes = [math.prod(extents) * rounding.BYTES[self.dtype_of(which)]
                            for which, (extents, _) in enumerate(self.arrays)]
        self.footprint = sum(self.array_bytes)
        untouched = operation.untouched_elements(shape) * rounding.BYTES[dtype]
        self.touched = sum(map(machine.whole_lines, self.array_bytes)) - untouched  # by a call
        self.transfer_bytes = None  # to the device and back, where calls contain copies

    def dtype_of(self, which):
        """The type of an array's elements: the case's, or that of indices."""
        role = self.arrays[which][1]
        if role == "indices" or role == "output" and self.operation.finds_index:
            return "i64"
        return self.dtype if role == "input" else self.operation.result_type(self.dtype)

    def moves(self, direction):
        """The numbers of the arrays that go to the device ("h2d") or come back."""
        unmoved = ("output",) if direction == "h2d" else ("input", "indices")
        return [which for which, (_, role) in enumerate(self.arrays) if role not in unmoved]

    def allocate(self, framework, device, copies, host_memory=None, single=False):
        """Makes the arrays, and the calls that are measured; ``host_memory`` tells where transferred data lie,
        ``single`` that each call is launched by itself.
        """
        self.framework, self.device = framework, device
        self.buffers = None  # the host's memory, where calls contain copies
        framework.enter(device, self.mode)
        self.copies = [[self._array(it) for it in range(len(self.arrays))]]
        for _ in range(1, copies):
            self.copies.append([framework.duplicate(array) for array in self.copies[0]])
        functions = [framework.bind(device, self.operation.op, arrays, self.values, self.dtype, self.mode)
                     for arrays in self.copies]
        if host_memory:
            calls = self._transferred(functions, host_memory == "pinned")
        else:
            calls = self._resident(functions, single)
        self.dispatch = calls.dispatch
        self.sampler = Sampler(calls)
        if framework.compiles:  # or a first call of a second and more would be taken for a sample
            functions[0]()
            self._fence()

    def contents(self, which):
        """What array number ``which`` holds before a call. What no call writes shows as NaN, or -1 among indices."""
        extents, role = self.arrays[which]
        dtype = self.dtype_of(which)
        if role == "output":
            return Constant(extents, dtype, -1 if dtype == "i64" else math.nan)
        if role == "indices":
            return Indices(extents, dtype, self.seed, which, self.operation.indices_below(self.shape))
        return Uniform(extents, dtype, self.seed, which, self.operation.positive)

    def _made_on_device(self, contents, written=None):
        return self.framework.make(self.device, contents, written) if contents.fits_device else None

    def _array(self, which):
        contents = self.contents(which)
        made = self._made_on_device(contents)
        return self.framework.array(self.device, contents.numbers(), contents.dtype) if made is None else made

    def _refill(self, copy, which):
        """Fills an array of a copy again with what it held before the calls."""
        contents, arrays = self.contents(which), self.copies[copy]
        made = self._made_on_device(contents, arrays[which])
        if made is None:
            self.framework.fill(self.device, arrays, which, contents.numbers(), contents.dtype)
        else:
            arrays[which] = made

    def _fence(self):
        self.framework.fence(self.device)

    def _resident(self, functions, single):
        marks = self.framework.marks(self.device, 2)
        self.clock = "wall" if marks is None else "device"
        if marks is None:
            return Calls(functions, self._fence)
        record = None if single else lambda make: self.framework.record(self.device, make)
        return ResidentCalls(functions, self._fence, marks, record)

    def _transferred(self, functions, pinned):
        framework, device = self.framework, self.device
        marks, by_device = framework.choose_marks(device, TransferredCalls.MARKS)
        self.clock = "device" if by_device else "wall"
        self.buffers = buffers = [framework.host_buffer(array, pinned) for array in self.copies[0]]
        inputs, outputs = self.moves("h2d"), self.moves("d2h")
        self.transfer_bytes = tuple(sum(self.array_bytes[it] for it in moved) for moved in (inputs, outputs))

        def uploader(arrays):
            return lambda: [framework.upload(device, arrays, it, buffers[it]) for it in inputs]

        def downloader(arrays):
            return lambda: [framework.download(arrays, it, buffers[it]) for it in outputs]

        return TransferredCalls(functions, self._fence, marks, [uploader(it) for it in self.copies],
                                [downloader(it) for it in self.copies], by_device)

    def sample(self, seconds):
        """Times of calls, and what the device's sensors told before and after them, if they told anything."""
        self.framework.enter(self.device, self.mode)
        self.sampler.calibrate()
        read = self.device.telemetry or Reading
        known = self.sampler.holds_samples
        before = read()
        times = self.sampler.sample(seconds)
        after = read()
        # Calls that found the batch were made before the first reading, so no energy of theirs is known.
        return times, told_between(before, after, 0 if known else times.seconds)

    # What references ask for
    def entries(self, which, indices):
        """Elements of an input by index, from the generator."""
        numbers = philox.uniform_at(self.seed, which, indices, self.dtype_of(which)).astype(np.longdouble)
        return np.abs(numbers) if self.operation.positive else numbers

    def rounded_parameters(self):
        return {name: rounding.as_computed(self.dtype, value) for name, value in self.values.items()}

    def ulps(self, operation):
        return self.framework.ulps.get(operation.op, operation.ulps)

    def storage_bound(self, operation, value):
        """What intermediate results that are no larger than the value lose where they are rounded to 16 bits."""
        if self.compute_type == self.dtype:
            return np.longdouble(0)
        return self.framework.storage_roundings.get(operation.op, 0) * rounding.ulp(self.dtype, value) / 2

    def verify(self, budget):
        """Fills a copy anew, makes the calls of an interval exactly as those of the samples are made, and compares what
        they wrote with the reference."""
        framework, calls = self.framework, self.sampler.calls
        framework.enter(self.device, self.mode)
        self.sampler.calibrate()
        copy = calls.last_copy(self.sampler.batch)
        for which in range(len(self.arrays)):
            self._refill(copy, which)
        if self.buffers:
            self._move(framework.download, self.copies[copy], range(len(self.arrays)))
        if any(role == "input_output" for _, role in self.arrays):
            calls.run_once(copy)  # the reference knows the result of one call only
        else:
            self.sampler.run_interval()
        if self.buffers:  # compared is what came back to the host
            self._move(functools.partial(framework.upload, self.device), self.copies[copy], self.moves("d2h"))
        result = framework.result(self.copies[copy][-1])
        answer = self.operation.check(self, result, int(max(16, budget / self.operation.reference_cost(self.shape))))
        return {**answer, "dispatch": calls.settled_dispatch}

    def _move(self, copy, arrays, which):
        """Copies between arrays and the host's memory of a case with transfers."""
        for it in which:
            copy(arrays, it, self.buffers[it])
        self._fence()
