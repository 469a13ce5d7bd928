# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of JAX: ``python3 -m prumo_peers.jax``.

Functions are compiled and return new arrays: making those is part of what is measured. No argument is donated. All is
timed by the wall's clock up to block_until_ready.
"""

import dataclasses
import functools
import os
import sys

from prumo_peers.common import program

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other workers need memory of the GPU, too
program.require("jax", "numpy jax", ("numpy", "jax"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from prumo_peers.common import machine, rounding  # noqa: E402
from prumo_peers.common.array_philox import ArrayLibrary  # noqa: E402
from prumo_peers.common.comparison import Result  # noqa: E402
from prumo_peers.common.contents import Constant  # noqa: E402
from prumo_peers.common.framework import Device, Framework  # noqa: E402
from prumo_peers.common.images import places  # noqa: E402
from prumo_peers.common.protocol import RequestError  # noqa: E402

_TYPES = {"f32": jnp.float32, "f64": jnp.float64, "f16": jnp.float16, "bf16": jnp.bfloat16,
          "i64": jnp.int64}
_ALL_BITS = (1 << 64) - 1


def _wide(array):
    """16-bit types are computed in f32 and rounded once, as prumo does; the compiler fuses the conversions."""
    return array if array.dtype == jnp.float64 else array.astype(jnp.float32)


def _gemm(a, b, c, it):
    a, b = a.T if it["trans_a"] else a, b.T if it["trans_b"] else b
    accumulator = jnp.float64 if a.dtype == jnp.float64 else jnp.float32
    product = jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST, preferred_element_type=accumulator)
    if it["alpha"] != 1:
        product = accumulator(it["alpha"]) * product
    return product if it["beta"] == 0 else product + accumulator(it["beta"]) * _wide(c)


def _scale(x, y, it):
    x = _wide(x)
    return x.dtype.type(it["alpha"]) * x


def _axpby(x, y, z, it):
    x, y = _wide(x), _wide(y)
    return x.dtype.type(it["alpha"]) * x + y.dtype.type(it["beta"]) * y


def _windows(x, it):
    """The windows of a pooling, their strides, and the padding of each side, which reaches beyond where a window does."""
    window, stride, padding = (int(it[name]) for name in ("window", "stride", "padding"))
    sides = [(padding, (places(extent, window, stride, padding, it["round_up"]) - 1) * stride + window - extent - padding)
             for extent in x.shape[2:]]
    return (1, 1, window, window), (1, 1, stride, stride), [(0, 0), (0, 0), *sides]


def _max_pool(x, y, it):
    return jax.lax.reduce_window(x, x.dtype.type(-jnp.inf), jax.lax.max, *_windows(x, it))


def _average_pool(x, y, it):
    x = _wide(x)
    zero = x.dtype.type(0)
    windows = _windows(x, it)
    return (jax.lax.reduce_window(x, zero, jax.lax.add, *windows) /
            jax.lax.reduce_window(jnp.ones_like(x[:1, :1]), zero, jax.lax.add, *windows))


_ACTIVATIONS = (lambda x: x, jax.nn.relu, jax.nn.sigmoid, jnp.tanh, functools.partial(jax.nn.gelu, approximate=False),
                jax.nn.gelu)


def _convolved(x, w, it):
    stride, padding = int(it["stride"]), int(it["padding"])
    return jax.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2,
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"),
                                        precision=jax.lax.Precision.HIGHEST)


def _convolution(x, w, *rest):
    *bias, y, it = rest
    result = _convolved(_wide(x), _wide(w), it)
    if bias:
        result = result + _wide(bias[0])[:, None, None]
    result = _ACTIVATIONS[int(it["activation"])](result)
    if not it["pooling"]:
        return result
    pool = _max_pool if it["pooling"] == 1 else _average_pool
    return pool(result, y, {**it, "stride": it["window"], "padding": 0})


def _convolution_backward_data(dy, w, dx, it):
    x = jnp.zeros(dx.shape, _wide(dx).dtype)
    return jax.vjp(lambda x: _convolved(x, _wide(w), it), x)[1](_wide(dy))[0]


def _convolution_backward_weights(x, dy, dw, it):
    if it["bias"]:
        raise RequestError("unsupported", "the gradients of filters and bias would be arrays of their own")
    w = jnp.zeros(dw.shape, _wide(dw).dtype)
    return jax.vjp(lambda w: _convolved(_wide(x), w, it), w)[1](_wide(dy))[0]


def _dense(x, w, *rest):
    *bias, y, it = rest
    accumulator = jnp.float64 if x.dtype == jnp.float64 else jnp.float32
    result = jnp.matmul(x, w.T, precision=jax.lax.Precision.HIGHEST, preferred_element_type=accumulator)
    if bias:
        result = result + _wide(bias[0])
    return _ACTIVATIONS[int(it["activation"])](result)


def _random_uniform(key, y, it):
    return jax.random.uniform(key, y.shape, y.dtype, it["low"], it["high"])


def _random_normal(key, y, it):
    number = y.dtype.type
    return number(it["mean"]) + number(it["deviation"]) * jax.random.normal(key, y.shape, y.dtype)


_LIBRARY = ArrayLibrary(lambda first, end: jnp.arange(first, end, dtype=jnp.int64),
                        lambda numbers, dtype: numbers.astype(_TYPES[dtype]))


@functools.lru_cache(maxsize=None)
def _maker(contents, handle):
    """A function of a seed and a stream that makes such contents on a device. It is compiled once for all streams."""
    def make(seed, stream):
        generated = dataclasses.replace(contents, seed=seed, stream=stream)
        count = -(-generated.size // generated.lanes)
        lanes = generated.of_blocks(_LIBRARY.arange(0, count), _LIBRARY)
        flat = jnp.stack(lanes, axis=-1).reshape(-1)[:generated.size]
        return flat.reshape(generated.extents).astype(_TYPES[generated.dtype])

    return jax.jit(make, out_shardings=jax.sharding.SingleDeviceSharding(handle))


@functools.partial(jax.jit, static_argnums=2)
def _slice(array, first, count):
    return jax.lax.dynamic_slice_in_dim(array, first, count)


@jax.jit
def _count_missing(array):
    missing = array < 0 if array.dtype == jnp.int64 else jnp.isnan(array)
    return missing.sum()


class JaxResult(Result):
    """The numbers of an array that stays on its device: entries come to the host as they are asked for."""

    def entries(self, which):
        if isinstance(which, slice):
            first, end, _ = which.indices(self.size)
            return _to_numpy(_slice(self._flat, first, end - first))
        return _to_numpy(jnp.take(self._flat, which))

    def missing(self):
        return int(_count_missing(self._flat))


def _to_numpy(array):
    return np.asarray(array).astype(array.dtype if array.dtype in (jnp.float64, jnp.int64) else np.float32)


class Jax(Framework):
    name = "jax"
    compiles = True
    dtypes = rounding.DTYPES
    # Functions of all arrays that return the result; what the output held is read by gemm alone.
    calls = {
        "add": lambda x, y, z, _: _wide(x) + _wide(y),
        "mul": lambda x, y, z, _: _wide(x) * _wide(y),
        "scale": _scale,
        "sigmoid": lambda x, y, _: jax.nn.sigmoid(_wide(x)),
        "tanh": lambda x, y, _: jnp.tanh(_wide(x)),
        "relu": lambda x, y, _: jax.nn.relu(x),
        "gelu": lambda x, y, it: jax.nn.gelu(_wide(x), approximate=bool(it["tanh"])),
        "exp": lambda x, y, _: jnp.exp(_wide(x)),
        "log": lambda x, y, _: jnp.log(_wide(x)),
        "sqrt": lambda x, y, _: jnp.sqrt(_wide(x)),
        "rsqrt": lambda x, y, _: jax.lax.rsqrt(_wide(x)),
        "axpby": _axpby,
        **dict.fromkeys((f"cast_{it}" for it in rounding.DTYPES), lambda x, y, _: x),  # to the type of y, as all are
        "random_uniform": _random_uniform,
        "random_normal": _random_normal,
        "copy": lambda x, y, _: jnp.copy(x),
        "fill": lambda y, it: jnp.full(y.shape, it["value"], y.dtype),
        "sum": lambda x, y, _: jnp.sum(_wide(x)),
        "sum_rows": lambda x, y, _: jnp.sum(_wide(x), axis=1),
        "sum_of_squares": lambda x, y, _: jnp.sum(jnp.square(_wide(x))),
        "sum_of_squares_rows": lambda x, y, _: jnp.sum(jnp.square(_wide(x)), axis=1),
        "mean": lambda x, y, _: jnp.mean(_wide(x)),
        "mean_rows": lambda x, y, _: jnp.mean(_wide(x), axis=1),
        "max": lambda x, y, _: jnp.max(x),
        "max_rows": lambda x, y, _: jnp.max(x, axis=1),
        "min": lambda x, y, _: jnp.min(x),
        "min_rows": lambda x, y, _: jnp.min(x, axis=1),
        "argmax": lambda x, y, _: jnp.argmax(x),
        "argmax_rows": lambda x, y, _: jnp.argmax(x, axis=1),
        "argmin": lambda x, y, _: jnp.argmin(x),
        "argmin_rows": lambda x, y, _: jnp.argmin(x, axis=1),
        "softmax": lambda x, y, _: jax.nn.softmax(_wide(x), axis=1),
        "log_softmax": lambda x, y, _: jax.nn.log_softmax(_wide(x), axis=1),
        "transpose": lambda x, y, _: x.T,
        "gather_rows": lambda x, index, y, _: jnp.take(x, index, axis=0, mode="clip"),
        "gemm": _gemm,
        "convolution": _convolution,
        "convolution_backward_data": _convolution_backward_data,
        "convolution_backward_weights": _convolution_backward_weights,
        "dense": _dense,
        "max_pool": _max_pool,
        "average_pool": _average_pool,
    }

    def __init__(self):
        jax.config.update("jax_enable_x64", True)
        # On the host calls may run beside one another otherwise, and waiting for the last would not be for all.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        self._pending = []

    def devices(self):
        found = []
        for platform in ("cpu", "gpu", "tpu"):
            try:
                handles = jax.local_devices(backend=platform)
            except RuntimeError:  # there is none
                continue
            for handle in handles[:1] if platform == "cpu" else handles:
                found.append(self._describe(platform, handle))
        return found

    @staticmethod
    def _describe(platform, handle):
        backend = f"jax-{platform}"
        if platform == "cpu":
            return Device("jax-cpu:0", backend, machine.processor_name(), handle, machine.processors())
        # JAX does not tell the size of caches: this is more than any device has.
        return Device(f"{backend}:{handle.local_hardware_id or 0}", backend, handle.device_kind, handle, transfers=True,
                      cache_bytes=256 << 20)

    def net_sessions(self, devices):
        from prumo_peers.nets.sessions import Sessions
        return Sessions(self, devices)

    @property
    def net_implementations(self):
        from prumo_peers.nets.jax_session import IMPLEMENTATIONS
        return IMPLEMENTATIONS

    @staticmethod
    def net_modes(device):
        return ("strict",)

    def open_net(self, device, choice):
        from prumo_peers.nets.jax_session import JaxSession
        return JaxSession(self, device, choice)

    def training_implementations(self, device):
        from prumo_peers.nets.jax_training import implementations_on
        return implementations_on(device)

    def open_training(self, device, choice):
        from prumo_peers.nets.jax_training import JaxTraining
        return JaxTraining(self, device, choice)

    def wait_for(self, array):
        """The next fence waits for this array, and with it for all calls before."""
        self._pending = [array]

    def versions(self):
        return {"jax": jax.__version__, "jaxlib": jax.lib.__version__}

    def array(self, device, numbers, dtype):
        return jax.device_put(numbers.astype(_TYPES[dtype]), device.handle)

    def fill(self, device, arrays, which, numbers, dtype):
        arrays[which] = self.array(device, numbers, dtype)

    def numbers(self, array):
        return _to_numpy(array)

    makes_data_on_hosts = False  # there NumPy makes them faster, whose arrays stay in a core's cache

    def make(self, device, contents, written=None):
        if not (device.transfers or self.makes_data_on_hosts):
            return None
        if isinstance(contents, Constant):
            return jnp.full(contents.extents, contents.value, _TYPES[contents.dtype], device=device.handle)
        numbers = (np.array(it & _ALL_BITS, np.uint64).astype(np.int64) for it in (contents.seed, contents.stream))
        return _maker(dataclasses.replace(contents, seed=0, stream=0), device.handle)(*numbers)

    def result(self, array):
        return JaxResult(array)

    def duplicate(self, array):
        return jnp.copy(array)

    def bind(self, device, op, arrays, parameters, dtype, mode):
        function = self._compiled(device, op, tuple(parameters.items()))
        # An argument: the numbers of a key that is known would be made once, by the compiler.
        key = (jax.device_put(jax.random.key(1), device.handle),) if op.startswith("random_") else ()

        def call():
            arrays[-1] = function(*key, *arrays)
            self._pending = arrays[-1:]

        return call

    @functools.lru_cache(maxsize=None)
    def _compiled(self, device, op, parameters):
        """One function for all copies of a case, so that it is compiled once."""
        def function(*arrays):
            return self.calls[op](*arrays, dict(parameters)).astype(arrays[-1].dtype)

        return jax.jit(function, out_shardings=jax.sharding.SingleDeviceSharding(device.handle))

    def fence(self, device):
        jax.block_until_ready(self._pending)

    def trim(self, device):
        self._pending = []

    def available_memory(self, device):
        told = device.handle.memory_stats() or {}
        return told["bytes_limit"] - told["bytes_in_use"] if "bytes_limit" in told else None

    def host_buffer(self, array, pinned):
        return np.array(array)

    def upload(self, device, arrays, which, buffer):
        arrays[which] = jax.device_put(buffer, device.handle)
        self._pending.append(arrays[which])

    def download(self, arrays, which, buffer):
        np.copyto(buffer, np.asarray(arrays[which]))

    def kind_of(self, error):
        return "memory" if "RESOURCE_EXHAUSTED" in str(error) else super().kind_of(error)


if __name__ == "__main__":
    sys.exit(program.run(Jax, "It measures prumo's operations in JAX, on the host, GPUs and TPUs."))
