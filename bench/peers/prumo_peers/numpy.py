# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of NumPy: ``python3 -m prumo_peers.numpy``.

NumPy is done when a call returns; the wall's clock times it.
"""

import sys

from prumo_peers.common import program

program.require("numpy", "numpy", ("numpy",))

import numpy as np  # noqa: E402

from prumo_peers.common import machine  # noqa: E402
from prumo_peers.common.framework import Device, Framework  # noqa: E402


def _sigmoid(x, y, _):
    np.negative(x, out=y)
    np.exp(y, out=y)
    np.add(y, y.dtype.type(1), out=y)
    np.reciprocal(y, out=y)


def _relu(x, y, _):
    np.maximum(x, x.dtype.type(0), out=y)


def _rsqrt(x, y, _):
    np.sqrt(x, out=y)
    np.reciprocal(y, out=y)


def _axpby(x, y, z, it):
    np.multiply(x, x.dtype.type(it["alpha"]), out=z)
    np.add(z, x.dtype.type(it["beta"]) * y, out=z)


def _cast(x, y, _):
    np.copyto(y, x, casting="same_kind")


_generator = np.random.default_rng()


def _random_uniform(y, it):
    _generator.random(out=y, dtype=y.dtype)
    np.multiply(y, y.dtype.type(it["high"] - it["low"]), out=y)
    np.add(y, y.dtype.type(it["low"]), out=y)


def _random_normal(y, it):
    _generator.standard_normal(out=y, dtype=y.dtype)
    np.multiply(y, y.dtype.type(it["deviation"]), out=y)
    np.add(y, y.dtype.type(it["mean"]), out=y)


def _softmax(x, y, _):
    np.subtract(x, x.max(axis=1, keepdims=True, initial=-np.inf), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(axis=1, keepdims=True), out=y)


def _log_softmax(x, y, _):
    np.subtract(x, x.max(axis=1, keepdims=True, initial=-np.inf), out=y)
    np.subtract(y, np.log(np.exp(y).sum(axis=1, keepdims=True)), out=y)


def _gemm(a, b, c, it):
    a, b = a.T if it["trans_a"] else a, b.T if it["trans_b"] else b
    alpha, beta = c.dtype.type(it["alpha"]), c.dtype.type(it["beta"])
    product = np.matmul(a, b, out=None if beta else c)
    if alpha != 1:
        np.multiply(product, alpha, out=product)
    if beta:
        np.multiply(c, beta, out=c)
        np.add(c, product, out=c)


class NumPy(Framework):
    name = "numpy"
    warnings = ("NumPy runs all but gemm on one core",)
    calls = {
        "add": lambda x, y, z, _: np.add(x, y, out=z),
        "mul": lambda x, y, z, _: np.multiply(x, y, out=z),
        "scale": lambda x, y, it: np.multiply(x, x.dtype.type(it["alpha"]), out=y),
        "sigmoid": _sigmoid,
        "tanh": lambda x, y, _: np.tanh(x, out=y),
        "relu": _relu,
        "exp": lambda x, y, _: np.exp(x, out=y),
        "log": lambda x, y, _: np.log(x, out=y),
        "sqrt": lambda x, y, _: np.sqrt(x, out=y),
        "rsqrt": _rsqrt,
        "axpby": _axpby,
        "cast_f32": _cast,
        "cast_f64": _cast,
        "cast_f16": _cast,
        "random_uniform": _random_uniform,
        "random_normal": _random_normal,
        "copy": lambda x, y, _: np.copyto(y, x),
        "fill": lambda y, it: y.fill(it["value"]),
        "sum": lambda x, y, _: np.sum(x, out=y),
        "sum_rows": lambda x, y, _: np.sum(x, axis=1, out=y),
        "sum_of_squares": lambda x, y, _: np.einsum("i,i->", x, x, out=y),
        "sum_of_squares_rows": lambda x, y, _: np.einsum("ij,ij->i", x, x, out=y),
        "mean": lambda x, y, _: np.mean(x, out=y),
        "mean_rows": lambda x, y, _: np.mean(x, axis=1, out=y),
        "max": lambda x, y, _: np.max(x, out=y),
        "max_rows": lambda x, y, _: np.max(x, axis=1, out=y),
        "min": lambda x, y, _: np.min(x, out=y),
        "min_rows": lambda x, y, _: np.min(x, axis=1, out=y),
        "argmax": lambda x, y, _: np.argmax(x, out=y),
        "argmax_rows": lambda x, y, _: np.argmax(x, axis=1, out=y),
        "argmin": lambda x, y, _: np.argmin(x, out=y),
        "argmin_rows": lambda x, y, _: np.argmin(x, axis=1, out=y),
        "softmax": _softmax,
        "log_softmax": _log_softmax,
        "transpose": lambda x, y, _: np.copyto(y, x.T),
        "gather_rows": lambda x, index, y, _: np.take(x, index, axis=0, out=y, mode="clip"),  # "raise" copies twice
        "gemm": _gemm,
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
