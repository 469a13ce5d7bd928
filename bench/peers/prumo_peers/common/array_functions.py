# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of frameworks whose functions are NumPy's: NumPy itself and CuPy."""


def calls_of(xp, maximum_of_rows):
    """Functions by operation. ``maximum_of_rows`` takes a matrix and keeps its axis, which an empty one has, too."""

    def softmax(x, y, _):
        xp.subtract(x, maximum_of_rows(x), out=y)
        xp.exp(y, out=y)
        xp.divide(y, y.sum(axis=1, keepdims=True), out=y)

    def log_softmax(x, y, _):
        xp.subtract(x, maximum_of_rows(x), out=y)
        xp.subtract(y, xp.log(xp.exp(y).sum(axis=1, keepdims=True)), out=y)

    def gemm(a, b, c, it):
        a, b = a.T if it["trans_a"] else a, b.T if it["trans_b"] else b
        alpha, beta = c.dtype.type(it["alpha"]), c.dtype.type(it["beta"])
        product = xp.matmul(a, b, out=None if beta else c)
        if alpha != 1:
            xp.multiply(product, alpha, out=product)
        if beta:
            xp.multiply(c, beta, out=c)
            xp.add(c, product, out=c)

    return {
        "add": lambda x, y, z, _: xp.add(x, y, out=z),
        "mul": lambda x, y, z, _: xp.multiply(x, y, out=z),
        "scale": lambda x, y, it: xp.multiply(x, x.dtype.type(it["alpha"]), out=y),
        "tanh": lambda x, y, _: xp.tanh(x, out=y),
        "relu": lambda x, y, _: xp.maximum(x, x.dtype.type(0), out=y),
        "exp": lambda x, y, _: xp.exp(x, out=y),
        "log": lambda x, y, _: xp.log(x, out=y),
        "sqrt": lambda x, y, _: xp.sqrt(x, out=y),
        **dict.fromkeys(("cast_f32", "cast_f64", "cast_f16"), lambda x, y, _: xp.copyto(y, x, casting="same_kind")),
        "copy": lambda x, y, _: xp.copyto(y, x),
        "fill": lambda y, it: y.fill(it["value"]),
        "sum": lambda x, y, _: xp.sum(x, out=y),
        "sum_rows": lambda x, y, _: xp.sum(x, axis=1, out=y),
        "mean": lambda x, y, _: xp.mean(x, out=y),
        "mean_rows": lambda x, y, _: xp.mean(x, axis=1, out=y),
        "max": lambda x, y, _: xp.max(x, out=y),
        "max_rows": lambda x, y, _: xp.max(x, axis=1, out=y),
        "argmax": lambda x, y, _: xp.argmax(x, out=y),
        "argmax_rows": lambda x, y, _: xp.argmax(x, axis=1, out=y),
        "argmin": lambda x, y, _: xp.argmin(x, out=y),
        "argmin_rows": lambda x, y, _: xp.argmin(x, axis=1, out=y),
        "softmax": softmax,
        "log_softmax": log_softmax,
        "transpose": lambda x, y, _: xp.copyto(y, x.T),
        "gemm": gemm,
    }
