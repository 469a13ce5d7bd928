# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers that Python peers fill arrays with and compare results with: ``python3 numbers_test.py
docs/random.vectors.json``."""

import json
import math
import sys
import types
import unittest
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

from prumo_peers.common import array_philox, philox, random_numbers, rounding, special
from prumo_peers.common.case import Case
from prumo_peers.common.comparison import Result, chosen_indices, compare
from prumo_peers.common.contents import Constant, Indices, Uniform
from prumo_peers.common.operations import OPERATIONS
from prumo_peers.common.products import cut_off
from prumo_peers.nets import training_numbers

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


    def test_pieces_by_all_cores_are_in_order(self):
        for count in (0, 1, 1000, 3 * 65536 + 17):
            with mock.patch("prumo_peers.common.machine.processors", lambda: 3):
                pieces = philox.map_pieces(lambda first, part: (first, part), 9, 2, 5, count, "f32")
            self.assertEqual([first for first, _ in pieces], list(range(0, count, 65536)))
            whole = np.concatenate([part for _, part in pieces] or [np.empty(0)])
            np.testing.assert_array_equal(whole, philox.uniform(9, 2, 5, count, "f32"))


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


class TrainingNumbers(unittest.TestCase):
    """The vectors were made by this code; the C++ tests hold prumo's orders against the same file."""

    def test_orders_of_images(self):
        with open(VECTORS, encoding="ascii") as stream:
            vectors = json.load(stream)["image_orders"]
        for it in vectors:
            order = training_numbers.image_order(int(it["seed"], 16), it["epoch"], it["count"])
            self.assertEqual(order[:8].tolist(), it["images"])
            np.testing.assert_array_equal(np.sort(order), np.arange(it["count"]))

    def test_every_image_comes_to_every_place_equally_often(self):
        epochs, count = 4000, 10
        times = np.zeros((count, count))
        for epoch in range(epochs):
            times[np.arange(count), training_numbers.image_order(1, epoch, count)] += 1
        freedom = (count - 1)**2  # of chi squared, whose variance is twice that
        chi_squared = ((times - epochs / count)**2).sum() / (epochs / count)
        self.assertLess(abs(chi_squared - freedom), 4 * (2 * freedom)**0.5)

    def test_initial_weights(self):
        made = training_numbers.initial_weights([(25, (150, 6)), (216, (2160, 10))], "softmax", 3)
        self.assertEqual(made.shape, (2326,))
        self.assertLessEqual(np.abs(made[:156]).max(), 0.2)
        self.assertEqual(made[156], 1 / np.sqrt(216) * philox.uniform(3, 2, 0, 1, "f64")[0])
        original = training_numbers.initial_weights([(25, (150, 6))], "original", 3)
        self.assertEqual(original[150], philox.uniform(3, 1, 0, 1, "f64")[0] / 2)


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

    def test_many_roundings_have_a_bound(self):
        counts = (1, 1000, 10**6, 2**24, 31143277)
        bounds = [rounding.gamma("f32", count) for count in counts]
        self.assertEqual(bounds, sorted(bounds))
        self.assertTrue(np.isfinite(bounds).all())
        unit = rounding.unit_roundoff("f32")
        for count, bound in zip(counts[:3], bounds):
            self.assertLessEqual((1 + unit)**count - 1, bound)
            self.assertLessEqual(bound, count * unit / (1 - count * unit))

    def test_the_error_function(self):
        for x in (-30, -4, -1, -0.3, 0, 2**-20, 0.5, 1, 2.5, 6):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
