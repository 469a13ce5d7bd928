# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python peers share, tested with NumPy: ``python3 python_test.py docs/random.vectors.json``."""

import ctypes
import json
import math
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

from prumo_peers.common import array_philox, nvml, philox, random_numbers, rounding, special
from prumo_peers.common.case import Case
from prumo_peers.common.comparison import Result, chosen_indices, compare
from prumo_peers.common.contents import Constant, Contents, Indices, Uniform
from prumo_peers.common.device_calls import ResidentCalls, TransferredCalls
from prumo_peers.common.framework import Device
from prumo_peers.common.operations import OPERATIONS
from prumo_peers.common.products import cut_off
from prumo_peers.common.protocol import RequestError
from prumo_peers.common.sampling import Calls, Interval, Sampler
from prumo_peers.common.worker import Worker
from prumo_peers.numpy import NumPy

VECTORS = sys.argv.pop()


class Philox(unittest.TestCase):
    def setUp(self):
        with open(VECTORS, encoding="ascii") as stream:
            self.vectors = json.load(stream)

    def test_blocks(self):
        for it in self.vectors["blocks"]:
            counter = np.array([int(it["counter"], 16)], dtype=np.uint64)
            words = philox.blocks(int(it["seed"], 16), int(it["stream"], 16), counter)[:, 0]
            self.assertEqual([f"{word:08x}" for word in words], it["words"])

    def test_values(self):
        for it in self.vectors["values"]:
            value = philox.uniform(it["seed"], it["stream"], it["index"], 1, it["dtype"])[0]
            self.assertEqual(value, it["value"], it)

    def test_filling_equals_single_values(self):
        for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
            for count in (0, 1, 5, 70001):
                array = np.empty(count, kind)
                philox.fill(array, 9, 2, dtype)
                np.testing.assert_array_equal(array, philox.uniform_at(9, 2, np.arange(count), dtype))


NUMPY = array_philox.ArrayLibrary(lambda first, end: np.arange(first, end, dtype=np.int64),
                                  lambda numbers, dtype: numbers.astype(rounding.carrier(dtype)))


class MadeOnDevices(unittest.TestCase):
    """The generator for any library's arrays, with NumPy as the library, beside the one that NumPy has for itself."""

    def written(self, contents, kind):
        array = np.empty(contents.extents, kind)
        with mock.patch.object(array_philox, "BLOCKS_AT_ONCE", 100):  # several chunks
            contents.write(array.reshape(-1), NUMPY)
        return array

    def test_blocks_are_those_of_the_vectors(self):
        with open(VECTORS, encoding="ascii") as stream:
            vectors = json.load(stream)["blocks"]
        checked = 0
        for it in vectors:
            counter = int(it["counter"], 16)
            if counter < 1 << 63:
                words = array_philox.blocks(int(it["seed"], 16), int(it["stream"], 16), np.array([counter]))
                self.assertEqual([f"{int(word[0]):08x}" for word in words], it["words"])
                checked += 1
        self.assertGreaterEqual(checked, 2)

    def test_numbers_are_the_same_bits(self):
        for dtype in (*rounding.DTYPES, *rounding.PRODUCT_DTYPES):
            for count in (1, 2, 3, 5, 399, 400, 401, 4099):
                for seed, stream in ((1, 0), (9, 2), ((1 << 33) + 5, 1), ((1 << 64) - 1, (1 << 40) + 7)):
                    for positive in (False, True):
                        contents = Uniform((count,), dtype, seed, stream, positive)
                        made = self.written(contents, rounding.carrier(dtype))
                        self.assertEqual(made.tobytes(), contents.numbers().tobytes(), contents)

    def test_indices_are_the_same(self):
        for below in (0, 1, 2, 3, 700, (1 << 31) + 1, (1 << 46) + 12345, array_philox.MOST_INDICES):
            for count in (1, 4, 201, 999):
                contents = Indices((count,), "i64", (1 << 35) + 3, 1, below)
                np.testing.assert_array_equal(self.written(contents, np.int64), contents.numbers())
        self.assertFalse(Indices((1 << 30,), "i64", 1, 1, array_philox.MOST_INDICES + 1).fits_device)

    def test_matrices_and_constants(self):
        contents = Uniform((7, 301), "f64", 3, 1)
        np.testing.assert_array_equal(self.written(contents, np.float64), contents.numbers())
        for contents, kind in ((Constant((3, 5), "f32", math.nan), np.float32), (Constant((), "i64", -1), np.int64)):
            np.testing.assert_array_equal(self.written(contents, kind), contents.numbers())

    def test_small_arrays_are_made_on_the_host(self):
        self.assertFalse(Uniform((1000,), "f32", 1, 0).fits_device)
        self.assertTrue(Uniform((1 << 10, 1 << 10), "f32", 1, 0).fits_device)


class RandomNumbers(unittest.TestCase):
    """The vectors were made by this code; the C++ tests hold prumo's operations against the same file."""

    def setUp(self):
        with open(VECTORS, encoding="ascii") as stream:
            self.vectors = json.load(stream)

    def test_uniform_numbers(self):
        for it in self.vectors["uniform_numbers"]:
            values = random_numbers.uniform(it["seed"], it["stream"], it["offset"], len(it["values"]), it["dtype"],
                                            it["low"], it["high"])
            self.assertEqual(list(values), it["values"])

    def test_normal_numbers(self):
        for it in self.vectors["normal_numbers"]:
            values = random_numbers.normal(it["seed"], it["stream"], it["offset"], len(it["values"]), it["dtype"],
                                           it["mean"], it["deviation"])
            np.testing.assert_allclose(values.astype(np.float64), it["values"], rtol=1e-15)

    def test_parts_are_those_of_the_whole(self):
        for dtype in rounding.DTYPES:
            whole = random_numbers.normal(3, 0, 0, 50, dtype, 0, 1)
            for first in range(9):
                np.testing.assert_array_equal(random_numbers.normal(3, 0, first, 20, dtype, 0, 1),
                                              whole[first:first + 20])

    def test_moments(self):
        numbers = random_numbers.normal(1, 0, 0, 200000, "f32", 0, 1)
        self.assertLess(abs(numbers.mean()), 5 / 200000**0.5)
        self.assertLess(abs(numbers.var() - 1), 5 * (2 / 200000)**0.5)
        self.assertTrue(((lambda it: (it >= -3) & (it < -1))(random_numbers.uniform(1, 0, 0, 9999, "f16", -3, -1))).all())


class Bounds(unittest.TestCase):
    def test_units_in_the_last_place(self):
        for dtype, kind in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16)):
            for value in (1.0, 0.75, 2.5e-3, 1000.0, 0.0):
                self.assertEqual(rounding.ulp(dtype, np.longdouble(kind(value))), np.longdouble(np.spacing(kind(value)))
                                 if value else np.longdouble(np.finfo(kind).tiny * np.finfo(kind).eps))
        self.assertEqual(rounding.ulp("bf16", np.longdouble(1)), 2.0**-7)

    def test_results_of_16_bits_may_be_rounded_once(self):
        exact = np.longdouble(1) + np.longdouble(2)**-20
        self.assertGreaterEqual(rounding.stored_bound("f16", exact, np.longdouble(0)), abs(exact - 1))
        self.assertEqual(rounding.stored_bound("f32", exact, np.longdouble(0.25)), 0.25)

    def test_the_error_function(self):
        for x in (-1, -0.3, 0, 2**-20, 0.5, 1):
            self.assertAlmostEqual(float(special.erf(x)), math.erf(x), delta=2**-53)

    def test_results_of_another_type_have_room_or_are_rounded_once(self):
        for dtype, target, value, bound in (("f16", "f32", 0.3, 0), ("f32", "f16", 0.75, 2.0**-12),
                                            ("f32", "f16", 2.0**-20, 2.0**-25), ("bf16", "f16", 0.5, 0),
                                            ("f64", "bf16", 0.5, 2.0**-9 + 2.0**-25)):
            choice = types.SimpleNamespace(dtype=dtype, entries=lambda *_, value=value: np.array([value], np.longdouble))
            self.assertEqual(OPERATIONS[f"cast_{target}"].expected(choice, np.array([0]))[1], bound, (dtype, target))

    def test_samples_hold_both_ends(self):
        for count, affordable in ((100000, 16), (100000, 5000), (1 << 20, 300000)):
            stretches = list(chosen_indices(count, affordable))
            self.assertEqual((stretches[0][0], stretches[-1][-1]), (0, count - 1))

    def test_the_worst_entry_is_named(self):
        result = np.array([1.0, 2.0, 3.5, 4.0])
        answer = compare(Result(result), 100, lambda indices: (np.arange(1.0, 5)[indices], np.full(len(indices), 0.25)))
        self.assertEqual((answer["verified"], answer["error"], answer["method"]), (False, 2.0, "all"))
        self.assertIn("entry 2 is 3.5, expected 3.0", answer["message"])


class F8(unittest.TestCase):
    shape, gemm = {"m": 2, "n": 3, "k": 1024}, OPERATIONS["gemm"]

    def case(self, mode="strict", **values):
        return Case(self.gemm, "f8_e4m3", self.shape, {**self.gemm.defaults("f8_e4m3"), **values}, mode=mode)

    def test_products_are_of_bf16_and_b_is_transposed(self):
        case = self.case(beta=1)
        self.assertEqual([case.dtype_of(it) for it in range(3)], ["f8_e4m3", "f8_e4m3", "bf16"])
        self.assertEqual(case.arrays[1][0], (3, 1024))
        self.assertEqual(case.array_bytes, [2 * 1024, 3 * 1024, 2 * 2 * 3])
        self.assertEqual(self.gemm.model(self.shape, self.case().values, 1)["bytes"], 5 * 1024 + 2 * 6)
        self.assertEqual(self.gemm.defaults("f16")["trans_b"], 0)

    def test_sums_of_few_products_lose_nothing(self):
        indices = np.arange(6)
        value, strict = self.gemm.expected(self.case(), indices)
        _, fast = self.gemm.expected(self.case("fast_accumulation"), indices)
        self.assertTrue((strict < rounding.ulp("bf16", np.abs(value) + 0.02) / 2 + 0.02).all())
        self.assertTrue((fast >= strict).all())

    def test_long_sums_lose_bits(self):
        self.assertEqual(cut_off(np.full(64, 0.25), 128), 0)
        # From 32 on the grid is twice that of the products, from 64 on four times.
        self.assertEqual(cut_off(np.full(128, 0.5), 96), 2 * 34 * 2.0**-8)
        self.assertEqual(cut_off(np.full(128, 0.5), 128), 2 * 34 * 2.0**-8 + 34 * 3 * 2.0**-8)


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


class FakeGpu(NumPy):
    """NumPy with the memory, events and graphs of a GPU whose clock is simulated: a call takes 1 us, a byte 1 ns on its
    way there and 2 ns on its way back."""

    def __init__(self):
        self.now, self.launches, self.calls_made, self.capturing, self.trimmed = 0.0, 0, [], None, 0
        self.made, self.telemetry = [], None

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

    def test_few_long_calls_are_not_recorded(self):
        made = []
        calls = ResidentCalls([lambda: made.append(1)], lambda: None, self.gpu.marks(None, 2),
                              lambda _: self.fail("9 calls are too few to record"))
        self.assertEqual((calls.run(9).calls, len(made)), (9, 9))

    def test_where_nothing_can_be_recorded_calls_are_made(self):
        made = []
        calls = ResidentCalls([lambda: made.append(1)], lambda: None, self.gpu.marks(None, 2), lambda _: None)
        self.assertEqual((calls.run(100).calls, len(made)), (100, 100))

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
            self.worker.prepare(self.request)
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
        calibrate = sampler._calibrate
        sampler._calibrate = lambda times: (events.append("calibrated"), calibrate(times))
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
        case.sampler._calls.run = lambda count: Interval(count, 0.6)
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


class FakeNvml:
    """The functions of NVML by C's calling convention; a test sets what they answer, and removes some."""

    PCI, UUID = b"00000000:19:00.0", b"GPU-1234"

    def __init__(self):
        self.status, self.millijoules, self.reasons = 0, 5000, 0x4
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        number, large = ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_ulonglong)
        self.give("nvmlInit_v2", lambda: 0)
        for name, known in (("nvmlDeviceGetHandleByPciBusId_v2", self.PCI), ("nvmlDeviceGetHandleByUUID", self.UUID)):
            self.give(name, lambda text, handle, known=known: self.handle_of(text, handle, known),
                      ctypes.c_char_p, ctypes.POINTER(pointer))
        self.give("nvmlDeviceGetClockInfo", lambda _, which, it: self.set(it, {1: 1980, 2: 3201}[which]),
                  pointer, integer, number)
        self.give("nvmlDeviceGetTemperature", lambda _, which, it: self.set(it, 41), pointer, integer, number)
        self.give("nvmlDeviceGetTotalEnergyConsumption", lambda _, it: self.set(it, self.millijoules), pointer, large)
        for name in ("Event", "Throttle"):
            self.give(f"nvmlDeviceGetCurrentClocks{name}Reasons", lambda _, it: self.set(it, self.reasons),
                      pointer, large)

    def give(self, name, function, *kinds):
        setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(function))

    def set(self, target, value):
        if self.status == 0:
            target[0] = value
        return self.status

    @staticmethod
    def handle_of(text, handle, known):
        handle[0] = 0x7FFF12345678  # wider than an int
        return 0 if text == known else 6


class Sensors(unittest.TestCase):
    def setUp(self):
        self.fake = FakeNvml()

    def reading(self, pci=FakeNvml.PCI.decode(), uuid=None):
        return nvml.telemetry(pci, uuid, nvml.Library(self.fake))()

    def test_all_is_told(self):
        self.fake.millijoules = 123456789012
        reading = self.reading()
        self.assertEqual((reading.clock_mhz, reading.temperature_c, reading.throttle), (1980.0, 41.0, ("power cap",)))
        self.assertAlmostEqual(reading.energy_j, 123456789.012, places=5)
        self.assertGreater(reading.seconds, 0)

    def test_the_uuid_finds_what_the_address_does_not(self):
        self.assertEqual(self.reading("00000000:00:00.0", FakeNvml.UUID.decode()).clock_mhz, 1980)
        self.assertIsNone(nvml.telemetry("00000000:00:00.0", "GPU-5", nvml.Library(self.fake)))
        self.assertIsNone(nvml.telemetry(None, None, nvml.Library(self.fake)))

    def test_what_is_missing_or_fails_is_not_told(self):
        read = nvml.telemetry(FakeNvml.PCI.decode(), None, nvml.Library(self.fake))
        self.fake.status = 3  # not supported
        self.assertEqual(read(), nvml.Reading(seconds=mock.ANY))
        self.fake.status = 0
        del self.fake.nvmlDeviceGetTotalEnergyConsumption
        self.assertEqual((read().energy_j, read().clock_mhz), (None, 1980))
        self.fake.give("nvmlInit_v2", lambda: 9)
        self.assertIsNone(nvml.telemetry(FakeNvml.PCI.decode(), None, nvml.Library(self.fake)))

    def test_names_of_other_drivers(self):
        del self.fake.nvmlDeviceGetCurrentClocksEventReasons
        del self.fake.nvmlDeviceGetTemperature

        def temperature(_, asked):
            version, _, celsius = (ctypes.c_int.from_address(asked + 4 * it) for it in range(3))
            celsius.value = 42
            return 0 if version.value == 12 | 1 << 24 else 25

        self.fake.give("nvmlDeviceGetTemperatureV", temperature, ctypes.c_void_p, ctypes.c_void_p)
        self.assertEqual((self.reading().temperature_c, self.reading().throttle), (42.0, ("power cap",)))

    def test_reasons_have_the_names_that_prumo_gives_them(self):
        for bits, names in ((0, ()), (0x3, ()), (0x24, ("power cap", "thermal slowdown")),
                            (0x8, ("hardware slowdown",)), (0x48, ("hardware thermal slowdown",)), (0x88, ("power brake",)), (0x10, ("sync boost",)),
                            (0x100, ("display clock setting",)), (1 << 40, ("unnamed reason 40",))):
            self.assertEqual(nvml.throttle_names(bits), names)

    def test_a_machine_without_the_library_tells_nothing(self):
        nvml._installed.cache_clear()
        with mock.patch("ctypes.CDLL", side_effect=OSError("no such file")):
            self.assertIsNone(nvml.telemetry("0000:19:00.0"))
        nvml._installed.cache_clear()


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
        self.assertEqual(set(OPERATIONS), set(NumPy.calls) | {"cast_bf16", "gelu"})  # it has neither bf16 nor erf


if __name__ == "__main__":
    unittest.main(verbosity=2)
