# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One framework's adaptor on each of its devices here: ``python3 adaptor_test.py torch``.

Exits with 77 where the framework is not installed; its own line tells how to install it.
"""

import dataclasses
import importlib
import itertools
import operator
import sys
import unittest
from unittest import mock

NAME = sys.argv.pop()
try:
    module = importlib.import_module(f"prumo_peers.{NAME}")
except SystemExit as missing:
    if missing.code != 3:
        raise
    sys.exit(77)

import numpy as np  # noqa: E402

from prumo_peers.common import array_philox, philox, rounding  # noqa: E402
from prumo_peers.common.case import Case  # noqa: E402
from prumo_peers.common.contents import Contents, Uniform  # noqa: E402
from prumo_peers.common.framework import Framework  # noqa: E402
from prumo_peers.common.operations import OPERATIONS  # noqa: E402
from prumo_peers.common.protocol import RequestError  # noqa: E402
from prumo_peers.common.random_operations import RandomNumbers  # noqa: E402

FRAMEWORK = next(it for it in vars(module).values()
                 if isinstance(it, type) and issubclass(it, Framework) and it is not Framework)()
has_products = unittest.skipUnless("gemm" in FRAMEWORK.calls, "the framework has no gemm")
SHAPES = ({"n": 1}, {"n": 1000}, {"rows": 3, "columns": 1}, {"rows": 7, "columns": 1500}, {"m": 9, "n": 7, "k": 11},
          {"m": 1, "n": 1, "k": 300}, {"rows": 9, "columns": 50, "table": 4}, {"rows": 3, "columns": 1, "table": 700},
          {"images": 2, "channels": 3, "height": 9, "width": 8},
          {"images": 2, "in_channels": 3, "height": 9, "width": 8, "out_channels": 5, "filter_rows": 3, "filter_columns": 2})


def choices():
    """Every device, type, operation and shape, with the parameters that users get unless they ask for others."""
    for device in FRAMEWORK.devices():
        for dtype, op in itertools.product(device.dtypes or FRAMEWORK.dtypes, FRAMEWORK.calls):
            axes = {it["name"] for it in OPERATIONS[op].axes}
            for shape in SHAPES:
                if set(shape) == axes:
                    yield device, dtype, OPERATIONS[op], shape


def defaults_of(operation):
    return {it["name"]: it["default"] for it in operation.parameters}


def case_of(device, dtype, operation, shape, copies=1, mode="strict", **values):
    case = Case(operation, dtype, shape, {**defaults_of(operation), **values}, 5, mode)
    case.allocate(FRAMEWORK, device, copies)
    return case


class Adaptor(unittest.TestCase):
    def setUp(self):
        # The host stands in where there is no GPU.
        makers = {"torch": ("devices.Host", "makes_data"), "jax": ("Jax", "makes_data_on_hosts")}
        if NAME in makers:
            kind, flag = makers[NAME]
            patch = mock.patch.object(operator.attrgetter(kind)(module), flag, True)
            patch.start()
            self.addCleanup(patch.stop)

    def tearDown(self):
        vars(FRAMEWORK).pop("bind", None)

    def plant(self, change):
        """Lets every call be followed by a change of its result, given and returned as NumPy's numbers."""
        right = type(FRAMEWORK).bind

        def bind(device, op, arrays, parameters, dtype, mode):
            call = right(FRAMEWORK, device, op, arrays, parameters, dtype, mode)

            def wrong():
                call()
                numbers = np.array(FRAMEWORK.numbers(arrays[-1]))
                written = "i64" if numbers.dtype == np.int64 else OPERATIONS[op].target or dtype
                # Into the array itself: the next call may write there again.
                FRAMEWORK.fill(device, arrays, len(arrays) - 1, change(numbers), written)

            return wrong

        FRAMEWORK.bind = bind

    def test_every_operation_type_and_shape(self):
        for device, dtype, operation, shape in choices():
            with self.subTest(device=device.id, dtype=dtype, op=operation.op, shape=shape):
                answer = case_of(device, dtype, operation, shape).verify(1e9)
                method = "moments" if isinstance(operation, RandomNumbers) else "all"
                self.assertEqual((answer["verified"], answer["method"]), (True, method), answer)

    def test_other_parameters(self):
        others = {"gelu": ({"tanh": 1}, {"tanh": 0}), "axpby": ({"alpha": -1.3, "beta": 0.7}, {"alpha": 0, "beta": 1}),
                  "scale": ({"alpha": -0.3},), "random_uniform": ({"low": 0, "high": 1}, {"low": 5, "high": 5.5}),
                  "random_normal": ({"mean": 0, "deviation": 1}, {"mean": -3, "deviation": 0.25})}
        for device in FRAMEWORK.devices():
            for dtype, (op, choices_of_op) in itertools.product(device.dtypes or FRAMEWORK.dtypes, others.items()):
                for values in choices_of_op if op in FRAMEWORK.calls else ():
                    with self.subTest(device=device.id, dtype=dtype, op=op, **values):
                        answer = case_of(device, dtype, OPERATIONS[op], {"n": 20000}, **values).verify(1e9)
                        self.assertTrue(answer["verified"], answer)

    @unittest.skipUnless("convolution" in FRAMEWORK.calls, "the framework has no images")
    def test_other_parameters_of_images(self):
        images = {"images": 2, "channels": 3, "height": 9, "width": 8}
        filters = {"in_channels": 3, "out_channels": 5, "filter_rows": 3, "filter_columns": 2}
        convolved = {it: value for it, value in {**images, **filters}.items() if it != "channels"}
        gradients = ("convolution_backward_data", "convolution_backward_weights")
        shapes = {"convolution": convolved, **dict.fromkeys(gradients, convolved),
                  "dense": {"images": 7, "inputs": 33, "features": 5}, "max_pool": images, "average_pool": images}
        pooled = ({"window": 3, "padding": 1}, {"stride": 1}, {"window": 3, "stride": 2, "round_up": 1},
                  {"window": 2, "stride": 3, "padding": 1, "round_up": 1})
        others = {"dense": ({"bias": 0}, *({"activation": it} for it in range(6))), "max_pool": pooled, "average_pool": pooled,
                  **dict.fromkeys(gradients, ({"stride": 2, "padding": 1}, {"padding": 1}, {"stride": 3})),
                  "convolution": ({"stride": 2, "padding": 1}, {"bias": 1, "activation": 2},
                                  *({"activation": it} for it in (1, 3, 4, 5)),
                                  {"bias": 1, "activation": 1, "pooling": 1}, {"pooling": 2, "window": 3, "round_up": 1})}
        for device in FRAMEWORK.devices():
            for dtype, (op, choices_of_op) in itertools.product(device.dtypes or FRAMEWORK.dtypes, others.items()):
                for values in choices_of_op:
                    with self.subTest(device=device.id, dtype=dtype, op=op, **values):
                        answer = case_of(device, dtype, OPERATIONS[op], shapes[op], **values).verify(1e9)
                        self.assertTrue(answer["verified"], answer)

    def test_random_numbers_with_other_moments_are_found(self):
        for change in (lambda it: it + 0.5, lambda it: it * 1.25):
            self.plant(lambda numbers, change=change: change(numbers).astype(numbers.dtype))
            for device in FRAMEWORK.devices():
                for dtype, op in itertools.product(device.dtypes or FRAMEWORK.dtypes, FRAMEWORK.calls):
                    if isinstance(OPERATIONS[op], RandomNumbers):
                        self.assertFalse(case_of(device, dtype, OPERATIONS[op], {"n": 20000}).verify(1e9)["verified"])

    def test_data_are_those_of_the_generator(self):
        for device in FRAMEWORK.devices():
            for dtype in device.dtypes or FRAMEWORK.dtypes:
                case = case_of(device, dtype, OPERATIONS["add"], {"n": 4099}, copies=2)
                for arrays, which in itertools.product(case.copies, (0, 1)):
                    generated = philox.uniform(5, which, 0, 4099, dtype).astype(rounding.carrier(dtype))
                    np.testing.assert_array_equal(FRAMEWORK.numbers(arrays[which]), generated)

    def test_data_made_on_a_device_are_those_of_the_host(self):
        shapes = {"add": {"n": 4099}, "log": {"n": 4099}, "gather_rows": {"rows": 501, "columns": 3, "table": 700}}
        for device in FRAMEWORK.devices():
            for dtype, op in itertools.product(device.dtypes or FRAMEWORK.dtypes, shapes):
                if op not in FRAMEWORK.calls:
                    continue
                case = Case(OPERATIONS[op], dtype, shapes[op], defaults_of(OPERATIONS[op]), 5)
                with mock.patch.object(Contents, "LEAST_ON_DEVICE", 1), \
                        mock.patch.object(array_philox, "BLOCKS_AT_ONCE", 300):
                    case.allocate(FRAMEWORK, device, 1)
                    for which in range(len(case.arrays)):
                        contents = case.contents(which)
                        made = FRAMEWORK.make(device, contents)
                        if made is None:
                            self.assertEqual(NAME, "numpy")
                            continue
                        np.testing.assert_array_equal(FRAMEWORK.numbers(made), contents.numbers())
                    self.assertTrue(case.verify(1e9)["verified"])

    @unittest.skipUnless(NAME == "torch", "the framework has no f8_e4m3")
    def test_f8_is_made_on_devices(self):
        for device in FRAMEWORK.devices():
            contents = Uniform((4099,), "f8_e4m3", 5, 1)
            made = FRAMEWORK.make(device, contents)
            if made is not None:
                np.testing.assert_array_equal(FRAMEWORK.numbers(made), contents.numbers())

    def test_few_entries_are_those_of_the_whole(self):
        for device in FRAMEWORK.devices():
            contents = Uniform((7, 301), "f32", 5, 1)
            array = FRAMEWORK.array(device, contents.numbers(), "f32")
            result, flat = FRAMEWORK.result(array), contents.numbers().reshape(-1)
            some = np.array([0, 5, 300, 301, 2106])
            np.testing.assert_array_equal(result.entries(some), flat[some])
            np.testing.assert_array_equal(result.entries(slice(2000, 9999)), flat[2000:])
            self.assertEqual((result.size, result.missing()), (2107, 0))
            arrays = [array]
            spoilt = np.where(flat < 0, np.float32(np.nan), flat).reshape(7, 301)
            FRAMEWORK.fill(device, arrays, 0, spoilt, "f32")
            self.assertEqual(FRAMEWORK.result(arrays[0]).missing(), int((flat < 0).sum()))

    def test_a_wrong_entry_is_found(self):
        def spoil(numbers):
            last = numbers.reshape(-1)[-1:]
            last[...] = last + 1 if numbers.dtype == np.int64 else np.where(last != 0, last * 1.02, 0.02)
            return numbers

        def spoil_gradient(numbers):
            numbers.reshape(-1)[-1] += np.abs(numbers).max() * 0.1
            return numbers

        for device, dtype, operation, shape in choices():
            if isinstance(operation, RandomNumbers):
                continue
            # A framework may round the sums of each image to 16 bits. Then the error grows with the terms of a gradient, and not
            # with the sum of them, which may be small.
            is_rounded_often = dtype in ("f16", "bf16") and operation.op.startswith("convolution_backward")
            self.plant(spoil_gradient if is_rounded_often else spoil)
            with self.subTest(device=device.id, dtype=dtype, op=operation.op, shape=shape):
                self.assertFalse(case_of(device, dtype, operation, shape).verify(1e9)["verified"])

    def test_an_entry_that_was_not_written_is_found(self):
        def spoil(numbers):
            numbers.reshape(-1)[0] = -1 if numbers.dtype == np.int64 else np.nan
            return numbers

        self.plant(spoil)
        for device, dtype, operation, shape in choices():
            answer = case_of(device, dtype, operation, shape).verify(1e9)
            self.assertEqual((answer["verified"], answer["error"]), (False, None))

    @has_products
    def test_products_of_f8(self):
        gemm, shapes = OPERATIONS["gemm"], ({"m": 64, "n": 48, "k": 128}, {"m": 33, "n": 32, "k": 1024})
        for device in FRAMEWORK.devices():
            for dtype, shape, alpha in itertools.product(device.product_dtypes, shapes, (1, -1.5)):
                for mode in ("strict", "fast_accumulation"):
                    with self.subTest(device=device.id, dtype=dtype, mode=mode, alpha=alpha, **shape):
                        values = {**gemm.defaults(dtype), "alpha": alpha}
                        self.assertTrue(case_of(device, dtype, gemm, shape, mode=mode, **values).verify(1e9)["verified"])
                with self.assertRaises(RequestError):
                    case_of(device, dtype, gemm, shape, trans_b=0)

    @has_products
    def test_products_with_factors_and_of_all_transposes(self):
        for device in FRAMEWORK.devices():
            for trans_a, trans_b, alpha, beta in itertools.product((0, 1), (0, 1), (1, -1.5), (0, 1, -0.5)):
                for dtype in device.dtypes or FRAMEWORK.dtypes:
                    values = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
                    with self.subTest(device=device.id, dtype=dtype, **values):
                        case = case_of(device, dtype, OPERATIONS["gemm"], {"m": 9, "n": 7, "k": 11}, **values)
                        answer = case.verify(1e9)
                        self.assertTrue(answer["verified"], answer)

    @has_products
    def test_every_compute_mode(self):
        for device in FRAMEWORK.devices():
            for mode in device.modes:
                case = case_of(device, "f32", OPERATIONS["gemm"], {"m": 200, "n": 90, "k": 300}, mode=mode)
                answer = case.verify(1e8)
                self.assertTrue(answer["verified"], (mode, answer))

    def test_samples_of_resident_and_transferred_data(self):
        for device in FRAMEWORK.devices():
            for host_memory in (None, *(device.host_memory if device.transfers else ())):
                case = Case(OPERATIONS["add"], "f32", {"n": 5000}, {})
                case.allocate(FRAMEWORK, device, 3, host_memory)
                times, _ = case.sample(0.003)
                self.assertTrue(times.wall and all(0 < it < 1 for it in times.wall + times.device))
                self.assertEqual(len(times.h2d), len(times.wall) if host_memory else 0)
                self.assertTrue(case.verify(1e9)["verified"])

    @unittest.skipIf(type(FRAMEWORK).host_buffer is Framework.host_buffer, "the framework has no devices with transfers")
    def test_inputs_go_there_and_results_come_back(self):
        for device in FRAMEWORK.devices():
            # The host stands in where there is no other device: the copies are made all the same.
            reached = device if device.transfers else dataclasses.replace(device, host_memory=("pageable",))
            for host_memory in reached.host_memory:
                case = Case(OPERATIONS["add"], "f32", {"n": 5000}, {})
                case.allocate(FRAMEWORK, reached, 2, host_memory)
                case.buffers[0][:10] = 3
                times, _ = case.sample(0)
                self.assertTrue(times.h2d[0] > 0 and times.d2h[0] > 0)
                x, y, z = (np.asarray(it) for it in case.buffers)
                np.testing.assert_array_equal(x[:10], np.float32(3))
                np.testing.assert_array_equal(z, x + y)


if __name__ == "__main__":
    unittest.main()
