# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python peers share, tested with NumPy: ``python3 python_test.py docs/random.vectors.json``."""

import json
import math
import os
import subprocess
import sys
import types
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

from prumo_peers.common import philox, random_numbers, rounding, special
from prumo_peers.common.case import Case
from prumo_peers.common.comparison import chosen_indices, compare
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
        answer = compare(result, 100, lambda indices: (np.arange(1.0, 5)[indices], np.full(len(indices), 0.25)))
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


class FakeGpu(NumPy):
    """NumPy with the memory, events and graphs of a GPU whose clock is simulated: a call takes 1 us, a byte 1 ns on its
    way there and 2 ns on its way back."""

    def __init__(self):
        self.now, self.launches, self.calls_made, self.capturing, self.trimmed = 0.0, 0, [], None, 0

    def devices(self):
        return [Device("fake-gpu:0", "fake-gpu", "a GPU", transfers=True, cache_bytes=1000, host_memory=("pageable",))]

    def available_memory(self, device):
        return 1 << 30

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
        self.assertEqual(set(OPERATIONS), set(NumPy.calls) | {"cast_bf16", "gelu"})  # it has neither bf16 nor erf


if __name__ == "__main__":
    unittest.main(verbosity=2)
