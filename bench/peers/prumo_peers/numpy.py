# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of NumPy: ``python3 -m prumo_peers.numpy``.

NumPy is done when a call returns; the wall's clock times it.
"""

import sys

from prumo_peers.common import program

program.require("numpy", "numpy", ("numpy",))

import numpy as np  # noqa: E402

from prumo_peers.common import array_functions, machine  # noqa: E402
from prumo_peers.common.framework import Device, Framework  # noqa: E402


def _sigmoid(x, y, _):
    np.negative(x, out=y)
    np.exp(y, out=y)
    np.add(y, y.dtype.type(1), out=y)
    np.reciprocal(y, out=y)


def _rsqrt(x, y, _):
    np.sqrt(x, out=y)
    np.reciprocal(y, out=y)


def _axpby(x, y, z, it):
    np.multiply(x, x.dtype.type(it["alpha"]), out=z)
    np.add(z, x.dtype.type(it["beta"]) * y, out=z)


_generator = np.random.default_rng()


def _random_uniform(y, it):
    _generator.random(out=y, dtype=y.dtype)
    np.multiply(y, y.dtype.type(it["high"] - it["low"]), out=y)
    np.add(y, y.dtype.type(it["low"]), out=y)


def _random_normal(y, it):
    _generator.standard_normal(out=y, dtype=y.dtype)
    np.multiply(y, y.dtype.type(it["deviation"]), out=y)
    np.add(y, y.dtype.type(it["mean"]), out=y)


class NumPy(Framework):
    name = "numpy"
    warnings = ("NumPy runs all but gemm on one core",)
    calls = {
        **array_functions.calls_of(np, lambda x: x.max(axis=1, keepdims=True, initial=-np.inf)),
        "sigmoid": _sigmoid,
        "rsqrt": _rsqrt,
        "axpby": _axpby,
        "random_uniform": _random_uniform,
        "random_normal": _random_normal,
        "sum_of_squares": lambda x, y, _: np.einsum("i,i->", x, x, out=y),
        "sum_of_squares_rows": lambda x, y, _: np.einsum("ij,ij->i", x, x, out=y),
        "min": lambda x, y, _: np.min(x, out=y),
        "min_rows": lambda x, y, _: np.min(x, axis=1, out=y),
        "gather_rows": lambda x, index, y, _: np.take(x, index, axis=0, out=y, mode="clip"),  # "raise" copies twice
    }

    def array(self, device, numbers, dtype):
        return numbers.astype(np.float16) if dtype == "f16" else numbers

    def numbers(self, array):
        return array.astype(np.float32) if array.dtype == np.float16 else array

    def devices(self):
        return [Device("numpy:0", "numpy", machine.processor_name())]

    def versions(self):
        blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
        return {"numpy": np.__version__, "blas": f"{blas.get('name')} {blas.get('version')}"}


if __name__ == "__main__":
    sys.exit(program.run(NumPy, "It measures prumo's operations in NumPy."))
