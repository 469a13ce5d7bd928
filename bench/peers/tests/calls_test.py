# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How Python peers make, time and verify calls: ``python3 calls_test.py``."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

from prumo_peers.common import array_philox, machine, nvml, philox, rounding
from prumo_peers.common.case import Case
from prumo_peers.common.contents import Constant, Contents, Uniform
from prumo_peers.common.device_calls import ResidentCalls, TransferredCalls
from prumo_peers.common.framework import Device
from prumo_peers.common.operations import OPERATIONS
from prumo_peers.common.protocol import RequestError
from prumo_peers.common.sampling import Calls, Interval, Sampler
from prumo_peers.common.worker import Worker
from prumo_peers.numpy import NumPy

NUMPY = array_philox.ArrayLibrary(lambda first, end: np.arange(first, end, dtype=np.int64),
                                  lambda numbers, dtype: numbers.astype(rounding.carrier(dtype)))


class Sampling(unittest.TestCase):
    def test_rotates_and_batches(self):
        copies = []
        sampler = Sampler(Calls([lambda it=it: copies.append(it) for it in range(3)], lambda: None))
        times = sampler.sample(0.005)
        self.assertGreater(times.batch, 10)
        self.assertGreaterEqual(len(times.wall), 1)
        self.assertEqual(copies[:7], [0, 1, 2, 0, 1, 2, 0])

    def test_calls_of_a_second_are_samples_from_the_first_on(self):
        calls = Calls([lambda: None], lambda: None)
        calls.run = lambda count: Interval(count, 2.0)
        self.assertEqual(Sampler(calls).sample(3.0).wall, [2.0, 2.0])


NUMPY_TYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64}


class ColdCopies(unittest.TestCase):
    def test_are_twice_the_cache_together(self):
        self.assertEqual([machine.cold_copies(it, 1000) for it in (100, 300, 5000, 0)], [20, 7, 1, 1])

    def test_of_arrays_shorter_than_a_line_are_as_many_as_the_lines_need(self):
        case = Case(OPERATIONS["add"], "f32", {"n": 10}, {})
        self.assertEqual((case.footprint, case.touched), (120, 192))
        self.assertEqual(machine.cold_copies(case.footprint, 1000, case.touched), 11)

    def test_of_a_call_that_looks_up_a_few_rows_count_these(self):
        shape = {"rows": 10, "columns": 32, "table": 1000}
        case = Case(OPERATIONS["gather_rows"], "f32", shape, {})
        lines_of_indices = 128
        self.assertEqual(case.touched, 2 * 10 * 32 * 4 + lines_of_indices)
        self.assertEqual(machine.cold_copies(case.footprint, 10000, case.touched), -(-20000 // case.touched))
        self.assertEqual(machine.cold_copies(1 << 30, 10000, 100), 2)  # of 2 GiB
        self.assertEqual(machine.cold_copies(3 << 30, 10000, 100), 1)


class Caches(unittest.TestCase):
    """Files as Linux has them below /sys/devices/system/cpu."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.system = pathlib.Path(folder.name)

    def add(self, processor, index, kind, level, size, shared):
        folder = self.system / f"cpu{processor}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("type", kind), ("level", level), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(f"{text}\n", encoding="ascii")

    def test_of_each_group_of_cores_count_once(self):
        for processor in range(8):
            self.add(processor, 0, "Data", 1, "48K", processor)
            self.add(processor, 1, "Instruction", 1, "32K", processor)
            self.add(processor, 2, "Unified", 2, "1024K", processor)
            self.add(processor, 3, "Unified", 3, "32768K", "0-3" if processor < 4 else "4-7")
        self.assertEqual(machine.last_level_caches(self.system, range(8)), 64 << 20)
        self.assertEqual(machine.last_level_caches(self.system, {1, 3}), 32 << 20)

    def test_may_be_unknown(self):
        self.assertEqual(machine.last_level_caches(self.system, {0, 1}), 0)
        self.add(0, 0, "Instruction", 1, "32K", "0")
        self.assertEqual(machine.last_level_caches(self.system, {0}), 0)

    def test_of_this_machine_are_those_that_linux_tells(self):
        sizes = [it.read_text(encoding="ascii") for it in pathlib.Path("/sys/devices/system/cpu").glob("cpu*/cache/*/size")]
        if not sizes:
            self.skipTest("the system does not tell its caches")
        self.assertGreaterEqual(machine.last_level_cache_bytes(), max(int(it.strip().removesuffix("K")) for it in sizes) * 1024)


class FakeGpu(NumPy):
    """NumPy with the memory, events and graphs of a GPU whose clock is simulated: a call takes 1 us, a byte 1 ns on its
    way there and 2 ns on its way back."""

    def __init__(self):
        self.now, self.launches, self.calls_made, self.capturing, self.trimmed = 0.0, 0, [], None, 0
        self.made, self.telemetry, self.alter_recording = [], None, lambda recorded: recorded

    def devices(self):
        return [Device("fake-gpu:0", "fake-gpu", "a GPU", transfers=True, cache_bytes=1000, host_memory=("pageable",),
                       telemetry=lambda: self.telemetry() if self.telemetry else nvml.Reading())]

    def available_memory(self, device):
        return 1 << 30

    def make(self, device, contents, written=None):
        self.made.append(contents)
        array = np.empty(contents.extents, NUMPY_TYPES[contents.dtype]) if written is None else written
        contents.write(array.reshape(-1), NUMPY)
        return array

    def bind(self, device, op, arrays, parameters, dtype, mode):
        compute = super().bind(device, op, arrays, parameters, dtype, mode)

        def call():
            if self.capturing is not None:
                self.capturing.append(call)
                return
            self.now += 1e-6
            self.calls_made.append(id(arrays))
            compute()

        return call

    def marks(self, device, count):
        gpu, times = self, [None] * count

        class Marks:
            def mark(self, which):
                times[which] = gpu.now

            def seconds_between(self, first, last):
                return times[last] - times[first]

        return Marks()

    def record(self, device, make_calls):
        self.capturing = recorded = []
        make_calls()
        self.capturing = None
        recorded = self.alter_recording(recorded)

        def replay():
            self.launches += 1
            for call in recorded:
                call()

        return replay

    def host_buffer(self, array, pinned):
        return array.copy()

    def upload(self, device, arrays, which, buffer):
        self.now += buffer.nbytes * 1e-9
        np.copyto(arrays[which], buffer)

    def download(self, arrays, which, buffer):
        self.now += buffer.nbytes * 2e-9
        np.copyto(buffer, arrays[which])

    def trim(self, device):
        self.trimmed += 1


class DeviceCalls(unittest.TestCase):
    def setUp(self):
        self.gpu = FakeGpu()
        self.worker = Worker(self.gpu)
        self.request = {"device": "fake-gpu:0", "op": "add", "dtype": "f32", "shape": {"n": 100}}

    def test_short_calls_are_replayed_and_timed_by_the_device(self):
        prepared = self.worker.prepare(self.request)
        self.assertEqual((prepared["clock"], prepared["copies"]), ("device", 2))  # twice the cache of 1000 bytes
        sample = self.worker.sample({"case": 1, "seconds": 0})
        self.assertGreater(self.gpu.launches, 0)
        self.assertEqual(sample["batch"] % 2, 0)  # a recording ends with the last copy
        self.assertAlmostEqual(sample["samples"][0], 1e-6)
        self.assertNotEqual(sample["samples"], sample["wall"])
        made = self.gpu.calls_made[-sample["batch"]:]
        self.assertEqual(len(set(made)), 2)
        self.assertTrue(all(made[it] != made[it + 1] for it in range(len(made) - 1)), "copies take turns")
        self.assertTrue(self.worker.verify({"case": 1})["verified"])

    def test_single_calls_are_launched_one_by_one_and_timed_by_the_device(self):
        prepared = self.worker.prepare({**self.request, "dispatch": "single"})
        self.assertEqual((prepared["clock"], prepared["dispatch"]), ("device", "single"))
        sample = self.worker.sample({"case": 1, "seconds": 0})
        self.assertEqual(self.gpu.launches, 0)
        self.assertAlmostEqual(sample["samples"][0], 1e-6)
        self.assertEqual(self.worker.prepare(self.request)["dispatch"], "recorded")
        with self.assertRaises(RequestError):
            self.worker.prepare({**self.request, "dispatch": "twice"})

    def test_the_last_copy_of_an_interval_is_known_before(self):
        made = []

        def record(make):
            before = len(made)
            make()
            recorded = made[before:]
            del made[before:]
            return lambda: made.extend(recorded)

        for batch, dispatch in ((40, "recorded"), (5, "single")):
            calls = ResidentCalls([lambda it=it: made.append(it) for it in range(3)], lambda: None,
                                  self.gpu.marks(None, 2), record)
            calls.run(2)
            calls.settle(batch)
            for _ in range(2):
                wanted = calls.last_copy(batch)
                calls.run(batch)
                self.assertEqual((calls.settled_dispatch, made[-1]), (dispatch, wanted))

    def test_few_long_calls_are_not_recorded(self):
        made = []
        calls = ResidentCalls([lambda: made.append(1)], lambda: None, self.gpu.marks(None, 2),
                              lambda _: self.fail("9 calls are too few to record"))
        self.assertEqual((calls.run(9).calls, len(made)), (9, 9))

    def test_where_nothing_can_be_recorded_calls_are_made(self):
        made = []
        calls = ResidentCalls([lambda: made.append(1)], lambda: None, self.gpu.marks(None, 2), lambda _: None)
        self.assertEqual((calls.run(100).calls, len(made)), (100, 100))

    def test_what_is_verified_is_what_is_timed(self):
        self.assertEqual(self.verify({})["dispatch"], "recorded")
        self.assertEqual(self.verify({"dispatch": "single"})["dispatch"], "single")
        launches = self.gpu.launches
        self.assertEqual(self.verify({"op": "gemm", "shape": {"m": 4, "n": 4, "k": 4}, "parameters": {"beta": 0.5}}),
                         {"verified": True, "error": mock.ANY, "error_bound": 1.0, "checked": 16, "method": "all",
                          "message": "", "dispatch": "recorded"})
        self.assertGreater(self.gpu.launches, launches)

    def test_a_recording_that_differs_from_direct_calls_is_wrong(self):
        for fault in (lambda recorded: [], lambda recorded: recorded[:1] * len(recorded)):  # the first copy only
            self.gpu.alter_recording = fault
            answer = self.verify({})
            self.assertFalse(answer["verified"])
            self.assertIn("100 of 100 entries are NaN or were not written", answer["message"])
            self.assertTrue(self.verify({"dispatch": "single"})["verified"])

    def test_transfers_are_verified_by_what_came_back(self):
        moved = {"data": "transferred", "host_memory": "pageable"}
        self.assertTrue(self.verify(moved)["verified"])
        self.gpu.download = lambda arrays, which, buffer: buffer.fill(np.nan)
        self.assertFalse(self.verify(moved)["verified"])

    def verify(self, change):
        return self.worker.verify({"case": self.worker.prepare({**self.request, **change})["case"]})

    def test_transfers_are_timed_alone(self):
        moved = {"data": "transferred", "host_memory": "pageable", "cache": "hot"}
        prepared = self.worker.prepare({**self.request, **moved})
        self.assertEqual(prepared["clock"], "device")
        sample = self.worker.sample({"case": 1, "seconds": 0})
        transfer = sample["transfer"]
        self.assertEqual((transfer["h2d_bytes"], transfer["d2h_bytes"]), (800, 400))
        self.assertAlmostEqual(transfer["h2d"][0], 800e-9)
        self.assertAlmostEqual(transfer["d2h"][0], 800e-9)
        self.assertAlmostEqual(sample["samples"][0], 1e-6 + 1600e-9)
        self.assertLessEqual(sample["batch"], TransferredCalls.most)
        self.assertTrue(self.worker.verify({"case": 1})["verified"])

    def test_what_the_device_lacks_is_refused(self):
        for change, kind in (({"data": "transferred"}, "unsupported"),  # pinned memory
                             ({"dtype": "f16"}, "unsupported"), ({"compute_mode": "fast_tf32"}, "unsupported"),
                             ({"shape": {"n": 1 << 28}}, "memory"), ({"layout": "left"}, "unsupported"),
                             ({"op": "nonsense"}, "usage"), ({"layout": "round"}, "usage")):
            with self.assertRaises(RequestError) as refused:
                self.worker.prepare({**self.request, **change})
            self.assertEqual(refused.exception.kind, kind, change)

    def test_large_data_are_made_and_made_anew_on_the_device(self):
        self.gpu.array = self.gpu.fill = lambda *_: self.fail("the host made data")
        with mock.patch.object(Contents, "LEAST_ON_DEVICE", 100):
            self.worker.prepare({**self.request, "cache": "hot"})
            self.assertEqual([type(it) for it in self.gpu.made], [Uniform, Uniform, Constant])
            arrays = self.worker._open[1].copies[0]
            for array in arrays:
                array[...] = 7
            self.assertTrue(self.worker.verify({"case": 1})["verified"])
            # By their texts, because the poison of outputs is NaN, which equals nothing.
            self.assertEqual([repr(it) for it in self.gpu.made[:3]], [repr(it) for it in self.gpu.made[3:]])
            for which in (0, 1):
                np.testing.assert_array_equal(arrays[which], philox.uniform(1, which, 0, 100, "f32").astype(np.float32))

    def test_sensors_are_read_before_and_after_but_not_around_the_calibration(self):
        events = []

        def read():
            events.append("read")
            at = float(len(events))
            return nvml.Reading(1000.0 + at, 50.0, 10 * at, ("power cap",) if at == 1 else ("thermal slowdown",), at)

        self.worker.prepare(self.request)
        self.gpu.telemetry = read
        sampler = self.worker._open[1].sampler
        calibrate = sampler._find_batch
        sampler._find_batch = lambda: (events.append("calibrated"), calibrate())
        answer = self.worker.sample({"case": 1, "seconds": 0})
        self.assertEqual(events, ["calibrated", "read", "read"])
        self.assertEqual((answer["clock_mhz"], answer["temperature_c"]), (1003.0, 50.0))
        self.assertEqual(answer["throttle"], ["thermal slowdown"])
        self.assertIsNone(answer["energy_j"])  # too short

    def test_energy_is_that_of_the_samples_alone(self):
        readings = [nvml.Reading(energy_j=100.0, seconds=3.0, throttle=("power cap",)),
                    nvml.Reading(energy_j=1000.0, seconds=5.0)]
        self.worker.prepare(self.request)
        case = self.worker._open[1]
        case.sampler.calls.run = lambda count: Interval(count, 0.6)
        case.sampler.batch = 3  # calibrated before
        self.gpu.telemetry = iter(readings).__next__
        answer = self.worker.sample({"case": 1, "seconds": 1})
        self.assertEqual((answer["energy_j"], answer["power_w"], answer["throttle"]), (900.0, 450.0, ["power cap"]))
        self.gpu.telemetry = iter(readings).__next__
        self.assertIsNone(self.worker.sample({"case": 1, "seconds": 0.5})["energy_j"])
        case.sampler.batch = 0  # the call that finds the batch is so long that it is a sample
        self.gpu.telemetry = iter(readings).__next__
        answer = self.worker.sample({"case": 1, "seconds": 5})
        self.assertEqual((answer["energy_j"], answer["power_w"]), (None, None))

    def test_a_case_that_fails_leaves_no_memory_behind(self):
        self.gpu.array = lambda *_: (_ for _ in ()).throw(MemoryError("full"))
        with self.assertRaises(MemoryError):
            self.worker.prepare(self.request)
        self.assertEqual(self.gpu.trimmed, 1)


class Missing(unittest.TestCase):
    def test_a_peer_without_its_framework_tells_how_to_install_it(self):
        for peer in ("numpy", "torch", "jax", "cupy"):
            code = f"import runpy, sys; sys.modules[{peer!r}] = None; " \
                   f"runpy.run_module('prumo_peers.{peer}', run_name='__main__')"
            result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                    env={**os.environ, "XDG_CACHE_HOME": "/somewhere"})
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertEqual((result.stdout, len(result.stderr.splitlines())), ("", 1))
            self.assertIn(f"{peer} is not installed", result.stderr)
            self.assertRegex(result.stderr, "python3 -m venv /somewhere/prumo/python && .*pip install .*" + peer)

    def test_onednn_tells_how_to_build_it(self):
        result = subprocess.run([sys.executable, "-m", "prumo_peers.onednn"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout, len(result.stderr.splitlines())), (3, "", 1))
        self.assertIn("libdnnl-dev", result.stderr)

    def test_every_operation_is_one_that_numpy_has(self):
        # It has neither bf16 nor erf, and no layers of nets.
        images = {"convolution", "convolution_backward_data", "convolution_backward_weights", "dense", "max_pool",
                  "average_pool"}
        self.assertEqual(set(OPERATIONS), set(NumPy.calls) | {"cast_bf16", "gelu"} | images)


if __name__ == "__main__":
    unittest.main(verbosity=2)
