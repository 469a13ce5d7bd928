# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of CuPy: ``python3 -m prumo_peers.cupy``.

Timed by events around a captured graph of many calls, or around the calls themselves where they are long. What CuPy has
no function for is written as its users write it: sigmoid as an element-wise kernel, a sum of squares as a reduction
kernel, both kinds of softmax by steps.
"""

import functools
import sys

from prumo_peers.common import program

program.require("cupy", "numpy cupy-cuda13x", ("numpy", "cupy"))

import cupy  # noqa: E402
import cupyx  # noqa: E402
import numpy as np  # noqa: E402

from prumo_peers.common import array_functions, nvml  # noqa: E402
from prumo_peers.common.array_philox import ArrayLibrary  # noqa: E402
from prumo_peers.common.comparison import Result  # noqa: E402
from prumo_peers.common.framework import Device, Framework  # noqa: E402

_TYPES = {"f32": np.float32, "f64": np.float64}
_ARRAY_TYPES = {**_TYPES, "f16": np.float16, "i64": np.int64}  # f16 is what cast_f16 makes

_sigmoid = cupy.ElementwiseKernel("T x", "T y", "y = T(1) / (T(1) + exp(-x))", "prumo_peers_sigmoid")
_gelu_by_erf = cupy.ElementwiseKernel("T x", "T y", "y = T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440)))",
                                      "prumo_peers_gelu_by_erf")
_gelu_by_tanh = cupy.ElementwiseKernel(
    "T x", "T y", "y = T(0.5) * x * (T(1) + tanh(T(0.79788456080286535588) * x * (T(1) + T(0.044715) * x * x)))",
    "prumo_peers_gelu_by_tanh")
_axpby = cupy.ElementwiseKernel("T x, T y, T alpha, T beta", "T z", "z = alpha * x + beta * y", "prumo_peers_axpby")
_affine = cupy.ElementwiseKernel("T x, T factor, T summand", "T y", "y = factor * x + summand", "prumo_peers_affine")
_sum_of_squares = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "prumo_peers_sum_of_squares")


def _gelu(x, y, it):
    (_gelu_by_tanh if it["tanh"] else _gelu_by_erf)(x, y)


def _telemetry_of(index):
    """What NVIDIA's management library tells of a GPU."""
    runtime = cupy.cuda.runtime
    return None if runtime.is_hip else nvml.telemetry(runtime.deviceGetPCIBusId(index))


@functools.lru_cache(maxsize=None)
def _generator_of(device):
    return cupy.random.default_rng()


def _random_uniform(y, it):
    _generator_of(cupy.cuda.runtime.getDevice()).random(y.shape, y.dtype, out=y)
    _affine(y, y.dtype.type(it["high"] - it["low"]), y.dtype.type(it["low"]), y)


def _random_normal(y, it):
    _generator_of(cupy.cuda.runtime.getDevice()).standard_normal(y.shape, y.dtype, out=y)
    _affine(y, y.dtype.type(it["deviation"]), y.dtype.type(it["mean"]), y)


def _to_numpy(array):
    numbers = cupy.asnumpy(array)
    return numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers


class CuPyResult(Result):
    """The numbers of an array that stays on its device: entries come to the host as they are asked for."""

    def entries(self, which):
        return _to_numpy(self._flat[which if isinstance(which, slice) else cupy.asarray(which)])

    @staticmethod
    def _missing_of(part):
        return int((part < 0 if part.dtype == np.int64 else cupy.isnan(part)).sum())


class EventMarks:
    def __init__(self, count):
        self._events = [cupy.cuda.Event() for _ in range(count)]

    def mark(self, which):
        self._events[which].record()

    def seconds_between(self, first, last):
        return cupy.cuda.get_elapsed_time(self._events[first], self._events[last]) * 1e-3


class CuPy(Framework):
    name = "cupy"
    compiles = True
    dtypes = tuple(_TYPES)
    calls = {
        **array_functions.calls_of(cupy, lambda x: x.max(axis=1, keepdims=True)),
        "sigmoid": lambda x, y, _: _sigmoid(x, y),
        "gelu": _gelu,
        "rsqrt": lambda x, y, _: cupyx.rsqrt(x, out=y),
        "axpby": lambda x, y, z, it: _axpby(x, y, x.dtype.type(it["alpha"]), x.dtype.type(it["beta"]), z),
        "random_uniform": _random_uniform,
        "random_normal": _random_normal,
        "sum_of_squares": lambda x, y, _: _sum_of_squares(x, y),
        "sum_of_squares_rows": lambda x, y, _: _sum_of_squares(x, y, axis=1),
        # The CuPy of CUDA 13 takes the out of min(), though not of max(), for a type.
        "min": lambda x, y, _: cupy.copyto(y, cupy.min(x)),
        "min_rows": lambda x, y, _: cupy.copyto(y, cupy.min(x, axis=1)),
        "gather_rows": lambda x, index, y, _: cupy.take(x, index, axis=0, out=y),
    }

    def __init__(self):
        # A stream of our own: the default one cannot be captured.
        self._streams = {}

    def devices(self):
        found = []
        for index in range(cupy.cuda.runtime.getDeviceCount()):
            facts = cupy.cuda.runtime.getDeviceProperties(index)
            found.append(Device(f"cupy:{index}", "cupy", facts["name"].decode(), index, transfers=True,
                                cache_bytes=facts["l2CacheSize"] or 64 << 20, host_memory=("pinned", "pageable"),
                                telemetry=_telemetry_of(index),
                                facts={"memory_bytes": facts["totalGlobalMem"], "cores": facts["multiProcessorCount"],
                                       "compute_capability": f"{facts['major']}.{facts['minor']}"}))
        return found

    def versions(self):
        return {"cupy": cupy.__version__, "cuda": str(cupy.cuda.runtime.runtimeGetVersion())}

    def enter(self, device, mode):
        cupy.cuda.Device(device.handle).use()
        if device.handle not in self._streams:
            self._streams[device.handle] = cupy.cuda.Stream(non_blocking=True)
        self._streams[device.handle].use()

    def fence(self, device):
        self._streams[device.handle].synchronize()

    def array(self, device, numbers, dtype):
        return cupy.asarray(numbers.astype(_ARRAY_TYPES[dtype], copy=False))

    def fill(self, device, arrays, which, numbers, dtype):
        # On the stream of the calls: a copy on the default one would not wait for them, nor they for it.
        arrays[which].set(numbers.astype(_ARRAY_TYPES[dtype], copy=False), stream=self._streams[device.handle])
        self.fence(device)

    def numbers(self, array):
        return _to_numpy(array)

    def make(self, device, contents, written=None):
        array = cupy.empty(contents.extents, _ARRAY_TYPES[contents.dtype]) if written is None else written
        contents.write(array.reshape(-1), ArrayLibrary(functools.partial(cupy.arange, dtype=np.int64),
                                                       lambda numbers, dtype: numbers.astype(_TYPES[dtype])))
        return array

    def result(self, array):
        return CuPyResult(array)

    def duplicate(self, array):
        return array.copy()

    def trim(self, device):
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()

    def available_memory(self, device):
        with cupy.cuda.Device(device.handle):
            return cupy.cuda.runtime.memGetInfo()[0]

    def marks(self, device, count):
        return EventMarks(count)

    def record(self, device, make_calls):
        stream = self._streams[device.handle]
        # What calls allocate for themselves must belong to the recording for as long as it is replayed, and be there
        # before: nothing can be allocated while calls are captured.
        pool = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc):
            make_calls()
            stream.synchronize()
            stream.begin_capture()
            try:
                make_calls()
                graph = stream.end_capture()
            except (cupy.cuda.runtime.CUDARuntimeError, NotImplementedError):
                # A call that waits, or that CuPy does not let be captured, as those of cuBLAS: all are launched one by one.
                self._abandon_capture(stream)
                return None

        def replay(memory=pool):
            graph.launch(stream)

        return replay

    @staticmethod
    def _abandon_capture(stream):
        try:
            stream.end_capture()
        except cupy.cuda.runtime.CUDARuntimeError:  # it says that the capture failed, which is known
            pass

    def host_buffer(self, array, pinned):
        if not pinned:
            return cupy.asnumpy(array)
        memory = cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
        buffer = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
        buffer[...] = cupy.asnumpy(array)
        return buffer

    def upload(self, device, arrays, which, buffer):
        arrays[which].set(buffer, stream=self._streams[device.handle])

    def download(self, arrays, which, buffer):
        arrays[which].get(out=buffer, stream=cupy.cuda.get_current_stream(), blocking=False)

    def kind_of(self, error):
        if isinstance(error, cupy.cuda.memory.OutOfMemoryError):
            return "memory"
        return "device" if isinstance(error, cupy.cuda.runtime.CUDARuntimeError) else super().kind_of(error)


if __name__ == "__main__":
    sys.exit(program.run(CuPy, "It measures prumo's operations in CuPy, on CUDA devices."))
