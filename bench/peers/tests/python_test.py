# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the Python peers: ``python3 python_test.py docs/random.vectors.json``."""

import json
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

from prumo_peers import philox, protocol
from prumo_peers.numpy_adaptor import Case, chosen_indices
from prumo_peers.numpy_operations import OPERATIONS

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


class Verification(unittest.TestCase):
    def case(self, op, **changes):
        case = Case(OPERATIONS[op], "f32", {"n": 1000}, {}, 1)
        case.allocate(1)
        for name, value in changes.items():
            setattr(case, name, value)
        return case

    def test_finds_a_wrong_entry(self):
        case = self.case("copy")
        case.run = lambda _: case.copies[0][1].__setitem__(slice(None), case.copies[0][0] * np.float32(1.000001))
        self.assertFalse(case.verify(1e9)["verified"])

    def test_finds_an_entry_that_was_not_written(self):
        case = self.case("copy")
        case.run = lambda _: np.copyto(case.copies[0][1][1:], case.copies[0][0][1:])
        result = case.verify(1e9)
        self.assertEqual((result["verified"], result["error"]), (False, None))

    def test_samples_hold_both_ends(self):
        for count, affordable in ((100000, 16), (100000, 5000), (1 << 20, 300000)):
            stretches = list(chosen_indices(count, affordable))
            self.assertEqual((stretches[0][0], stretches[-1][-1]), (0, count - 1))

    def test_products_of_all_transposes(self):
        for trans_a in (0, 1):
            for trans_b in (0, 1):
                for beta in (0, 1, -0.5):
                    values = {"alpha": 1.5, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
                    case = Case(OPERATIONS["gemm"], "f32", {"m": 9, "n": 7, "k": 11}, values, 1)
                    case.allocate(1)
                    result = case.verify(1e9)
                    self.assertTrue(result["verified"], (values, result))


class Sampling(unittest.TestCase):
    def test_rotates_and_batches(self):
        copies = []
        sampler = protocol.Sampler(copies.append, lambda: None, 3)
        times, batch = sampler.sample(0.005)
        self.assertGreater(batch, 10)
        self.assertGreaterEqual(len(times), 1)
        self.assertEqual(copies[:7], [0, 1, 2, 0, 1, 2, 0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
