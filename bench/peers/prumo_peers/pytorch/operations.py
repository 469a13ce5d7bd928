# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How PyTorch calls each operation."""

import functools

import torch

from prumo_peers.common import rounding
from prumo_peers.common.protocol import RequestError


def _gemm(a, b, c, it):
    a, b = a.t() if it["trans_a"] else a, b.t() if it["trans_b"] else b
    if it["alpha"] == 1 and it["beta"] == 0:
        torch.mm(a, b, out=c)
    else:
        torch.addmm(c, a, b, alpha=it["alpha"], beta=it["beta"], out=c)


def f8_gemm(a, b, c, it, mode):
    """A call of the product that layers in f8 are made of; its scales of A and B are alpha and 1."""
    if it["beta"] or it["trans_a"] or not it["trans_b"]:
        raise RequestError("unsupported", "torch._scaled_mm multiplies f8_e4m3 by a transposed B only (trans_a=0, "
                                          "trans_b=1), and adds nothing (beta=0)")
    if a.shape[1] % 16 or b.shape[0] % 16:
        raise RequestError("unsupported", "torch._scaled_mm needs k and n to be multiples of 16 for f8_e4m3")
    scales = [torch.full((), value, dtype=torch.float32, device=a.device) for value in (it["alpha"], 1)]
    return functools.partial(torch._scaled_mm, a, b.t(), *scales, out_dtype=c.dtype,
                             use_fast_accum=mode == "fast_accumulation", out=c)


def _sum_of_squares(x, y, _):
    if x.dtype in (torch.float32, torch.float64):
        torch.linalg.vecdot(x, x, out=y)
    else:  # in f32, rounded once
        y.copy_(torch.sum(x.float().square_(), -1))


def _axpby(x, y, z, it):
    torch.mul(x, it["alpha"], out=z)
    z.add_(y, alpha=it["beta"])


_ACTIVATIONS = (lambda x: x, torch.relu, torch.sigmoid, torch.tanh, torch.nn.functional.gelu,
                functools.partial(torch.nn.functional.gelu, approximate="tanh"))


def _max_pool(x, _, it):
    return torch.nn.functional.max_pool2d(x, int(it["window"]), int(it["stride"]), int(it["padding"]),
                                          ceil_mode=bool(it["round_up"]))


def _average_pool(x, _, it):
    return torch.nn.functional.avg_pool2d(x, int(it["window"]), int(it["stride"]), int(it["padding"]),
                                          ceil_mode=bool(it["round_up"]), count_include_pad=False)


def _convolution(x, w, *rest):
    *bias, y, it = rest
    result = torch.nn.functional.conv2d(x, w, *bias, stride=int(it["stride"]), padding=int(it["padding"]))
    result = _ACTIVATIONS[int(it["activation"])](result)
    if not it["pooling"]:
        return result
    pool = _max_pool if it["pooling"] == 1 else _average_pool
    return pool(result, y, {**it, "stride": it["window"], "padding": 0})


def _convolution_gradient(dy, x, w, it, which):
    """One of the gradients; of the images x only the extents are read where theirs is asked for, and of w likewise."""
    if it.get("bias"):
        raise RequestError("unsupported", "the gradients of filters and bias would be arrays of their own")
    stride, padding = ([int(it[name])] * 2 for name in ("stride", "padding"))
    wanted = [at == which for at in range(3)]
    return torch.ops.aten.convolution_backward(dy, x, w, None, stride, padding, [1, 1], False, [0, 0], 1, wanted)[which]


def _dense(x, w, *rest):
    *bias, y, it = rest
    return _ACTIVATIONS[int(it["activation"])](torch.nn.functional.linear(x, w, *bias))


CALLS = {
    "add": lambda x, y, z, _: torch.add(x, y, out=z),
    "mul": lambda x, y, z, _: torch.mul(x, y, out=z),
    "scale": lambda x, y, it: torch.mul(x, it["alpha"], out=y),
    "sigmoid": lambda x, y, _: torch.sigmoid(x, out=y),
    "tanh": lambda x, y, _: torch.tanh(x, out=y),
    "relu": lambda x, y, _: torch.clamp_min(x, 0, out=y),
    "gelu": lambda x, y, it: torch.ops.aten.gelu.out(x, approximate="tanh" if it["tanh"] else "none", out=y),
    "exp": lambda x, y, _: torch.exp(x, out=y),
    "log": lambda x, y, _: torch.log(x, out=y),
    "sqrt": lambda x, y, _: torch.sqrt(x, out=y),
    "rsqrt": lambda x, y, _: torch.rsqrt(x, out=y),
    "axpby": _axpby,
    **dict.fromkeys((f"cast_{it}" for it in rounding.DTYPES), lambda x, y, _: y.copy_(x)),
    "random_uniform": lambda y, it: y.uniform_(it["low"], it["high"]),
    "random_normal": lambda y, it: y.normal_(it["mean"], it["deviation"]),
    "copy": lambda x, y, _: y.copy_(x),
    "fill": lambda y, it: y.fill_(it["value"]),
    "sum": lambda x, y, _: torch.sum(x, 0, out=y),
    "sum_rows": lambda x, y, _: torch.sum(x, 1, out=y),
    "sum_of_squares": _sum_of_squares,
    "sum_of_squares_rows": _sum_of_squares,
    "mean": lambda x, y, _: torch.mean(x, 0, out=y),
    "mean_rows": lambda x, y, _: torch.mean(x, 1, out=y),
    "max": lambda x, y, _: torch.amax(x, 0, out=y),
    "max_rows": lambda x, y, _: torch.amax(x, 1, out=y),
    "min": lambda x, y, _: torch.amin(x, 0, out=y),
    "min_rows": lambda x, y, _: torch.amin(x, 1, out=y),
    "argmax": lambda x, y, _: torch.argmax(x, 0, out=y),
    "argmax_rows": lambda x, y, _: torch.argmax(x, 1, out=y),
    "argmin": lambda x, y, _: torch.argmin(x, 0, out=y),
    "argmin_rows": lambda x, y, _: torch.argmin(x, 1, out=y),
    "softmax": lambda x, y, _: torch.softmax(x, 1, out=y),
    "log_softmax": lambda x, y, _: torch.log_softmax(x, 1, out=y),
    "transpose": lambda x, y, _: y.copy_(x.t()),
    "gather_rows": lambda x, index, y, _: torch.index_select(x, 0, index, out=y),
    "gemm": _gemm,
    "convolution": _convolution,
    "convolution_backward_data": lambda dy, w, dx, it: _convolution_gradient(dy, dx, w, it, 0),
    "convolution_backward_weights": lambda x, dy, dw, it: _convolution_gradient(dy, x, dw, it, 1),
    "dense": _dense,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
}
# PyTorch cannot write the result of these into an array that is there.
RETURNING = ("convolution", "convolution_backward_data", "convolution_backward_weights", "dense", "max_pool",
             "average_pool")
