# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of PyTorch: ``python3 -m prumo_peers.torch``.

On the host calls are done when they return. CUDA's are timed by events around a captured graph of many calls, or around
the calls themselves where they are long; Apple's by events; XLA's (a TPU) by the wall's clock, each call a step.
"""

import functools
import sys

from prumo_peers.common import program

program.require("torch", "numpy torch", ("numpy", "torch"))

import torch  # noqa: E402

from prumo_peers.common import machine, nvml, rounding  # noqa: E402
from prumo_peers.common.array_philox import ArrayLibrary  # noqa: E402
from prumo_peers.common.comparison import Result  # noqa: E402
from prumo_peers.common.framework import Device, Framework  # noqa: E402
from prumo_peers.common.protocol import RequestError  # noqa: E402

_TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "f8_e4m3": getattr(torch, "float8_e4m3fn", None), "i64": torch.int64}


def _to_numpy(array):
    wide = array.dtype if array.dtype in (torch.float64, torch.int64) else torch.float32
    return array.cpu().to(wide).numpy()


def _gemm(a, b, c, it):
    a, b = a.t() if it["trans_a"] else a, b.t() if it["trans_b"] else b
    if it["alpha"] == 1 and it["beta"] == 0:
        torch.mm(a, b, out=c)
    else:
        torch.addmm(c, a, b, alpha=it["alpha"], beta=it["beta"], out=c)


def _has_f8(facts):
    known = hasattr(torch, "_scaled_mm") and _TYPES["f8_e4m3"] is not None
    return known and torch.version.hip is None and (facts.major, facts.minor) >= (8, 9)


def _telemetry_of(facts):
    """What NVIDIA's management library tells of a GPU; None where PyTorch does not say which one it is."""
    if torch.version.hip is not None or not hasattr(facts, "pci_bus_id"):
        return None
    address = f"{getattr(facts, 'pci_domain_id', 0):08x}:{facts.pci_bus_id:02x}:{facts.pci_device_id:02x}.0"
    uuid = getattr(facts, "uuid", None)
    return nvml.telemetry(address, f"GPU-{uuid}" if uuid else None)


def _f8_gemm(a, b, c, it, mode):
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


class TorchResult(Result):
    """The numbers of an array that stays where it is: entries come to the host as they are asked for."""

    def __init__(self, array):
        self._flat = array.reshape(-1)

    def entries(self, which):
        if not isinstance(which, slice):
            which = torch.from_numpy(which).to(self._flat.device)
        return _to_numpy(self._flat[which])

    @staticmethod
    def _missing_of(part):
        return int((part < 0 if part.dtype == torch.int64 else torch.isnan(part)).sum())


class EventMarks:
    """Marks by events, which tell milliseconds."""

    def __init__(self, events):
        self._events = events

    def mark(self, which):
        self._events[which].record()

    def seconds_between(self, first, last):
        return self._events[first].elapsed_time(self._events[last]) * 1e-3


class Host:
    """What PyTorch's kinds of devices differ in; this is the host, where there is nothing to wait for."""

    makes_data = False  # on the host NumPy makes them faster, whose arrays stay in a core's cache

    def devices(self):
        yield Device("torch-cpu:0", "torch-cpu", machine.processor_name(), torch.device("cpu"), torch.get_num_threads())

    def enter(self, handle):
        pass

    def fence(self, handle):
        pass

    def trim(self):
        pass

    def available_memory(self, handle):
        return None

    def marks(self, count):
        return None

    def record(self, make_calls):
        return None


class Cuda(Host):
    makes_data = True

    def devices(self):
        modes = ("strict", "fast_tf32") if torch.version.hip is None else ("strict",)
        for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            facts = torch.cuda.get_device_properties(index)
            f8 = ("f8_e4m3",) if _has_f8(facts) else ()
            yield Device(f"torch-cuda:{index}", "torch-cuda", facts.name, torch.device("cuda", index), transfers=True,
                         cache_bytes=getattr(facts, "L2_cache_size", None) or 64 << 20, product_dtypes=f8,
                         modes=modes + ("fast_accumulation",) if f8 else modes,
                         host_memory=("pinned", "pageable"), telemetry=_telemetry_of(facts),
                         facts={"memory_bytes": facts.total_memory, "cores": facts.multi_processor_count,
                                "compute_capability": f"{facts.major}.{facts.minor}"})

    def enter(self, handle):
        torch.cuda.set_device(handle)

    def fence(self, handle):
        torch.cuda.synchronize(handle)

    def trim(self):
        torch.cuda.empty_cache()

    def available_memory(self, handle):
        return torch.cuda.mem_get_info(handle)[0]

    def marks(self, count):
        return EventMarks([torch.cuda.Event(enable_timing=True) for _ in range(count)])

    def record(self, make_calls):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            make_calls()
        return graph.replay


class Mps(Host):
    """Apple's GPUs. Never run: no such machine was at hand."""

    def devices(self):
        if torch.backends.mps.is_available():
            yield Device("torch-mps:0", "torch-mps", machine.processor_name(), torch.device("mps"), transfers=True,
                         cache_bytes=32 << 20, dtypes=("f32", "f16", "bf16"))

    def fence(self, handle):
        torch.mps.synchronize()

    def trim(self):
        torch.mps.empty_cache()

    def available_memory(self, handle):
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()

    def marks(self, count):
        return EventMarks([torch.mps.Event(enable_timing=True) for _ in range(count)])


class Xla(Host):
    """TPUs and whatever else torch_xla reaches. Never run: no such machine was at hand."""

    def __init__(self):
        try:
            import torch_xla
            import torch_xla.core.xla_model
        except ImportError:
            torch_xla = None
        self.library = torch_xla

    def devices(self):
        if self.library is not None:
            yield Device("torch-xla:0", "torch-xla", self.library.core.xla_model.xla_device_hw(self.library.device()),
                         self.library.device(), transfers=True, cache_bytes=128 << 20)

    def fence(self, handle):
        self.library.sync()
        self.library.core.xla_model.wait_device_ops()

    def end_call(self):
        """Cuts the lazy graph: calls left in one graph that write the same array would all but the last be dropped."""
        self.library.sync()


class Torch(Framework):
    name = "torch"
    dtypes = rounding.DTYPES
    # On the host: the logarithm of the sum; a square root, of which a quotient is made; alpha x and beta.
    storage_roundings = {"log_softmax": 1, "rsqrt": 2, "axpby": 2, "convolution": 2,
                         "convolution_backward_data": 2, "convolution_backward_weights": 2, "dense": 2}
    calls = {
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
    returning = ("convolution", "convolution_backward_data", "convolution_backward_weights", "dense", "max_pool",
                 "average_pool")

    def __init__(self):
        torch.set_grad_enabled(False)
        # Sums of 16-bit products stay in f32, as prumo's do.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self._kinds = {"cpu": Host(), "cuda": Cuda(), "mps": Mps(), "xla": Xla()}

    def _kind(self, device):
        return self._kinds[device.handle.type]

    def devices(self):
        return [device for kind in self._kinds.values() for device in kind.devices()]

    def net_sessions(self, devices):
        from prumo_peers.nets.sessions import Sessions
        return Sessions(self, devices)

    @property
    def net_implementations(self):
        from prumo_peers.nets.torch_session import IMPLEMENTATIONS
        return IMPLEMENTATIONS

    @staticmethod
    def net_modes(device):
        return tuple(it for it in device.modes if it in ("strict", "fast_tf32"))

    def open_net(self, device, choice):
        from prumo_peers.nets.torch_session import TorchSession
        return TorchSession(self, device, choice)

    def training_implementations(self, device):
        from prumo_peers.nets.torch_training import implementations_on
        return implementations_on(device)

    def open_training(self, device, choice):
        from prumo_peers.nets.torch_training import TorchTraining
        return TorchTraining(self, device, choice)

    def versions(self):
        versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip}
        if torch.version.cuda and torch.cuda.is_available():
            versions["cudnn"] = str(torch.backends.cudnn.version())
        return {name: version for name, version in versions.items() if version}

    def array(self, device, numbers, dtype):
        return torch.from_numpy(numbers).to(device.handle, _TYPES[dtype])

    def fill(self, device, arrays, which, numbers, dtype):
        arrays[which].copy_(torch.from_numpy(numbers))

    def numbers(self, array):
        return _to_numpy(array)

    def make(self, device, contents, written=None):
        if not self._kind(device).makes_data:
            return None
        array = written
        if array is None:
            array = torch.empty(contents.extents, dtype=_TYPES[contents.dtype], device=device.handle)
        contents.write(array.view(-1), ArrayLibrary(functools.partial(torch.arange, device=device.handle),
                                                    lambda numbers, dtype: numbers.to(_TYPES[dtype])))
        return array

    def result(self, array):
        return TorchResult(array)

    def duplicate(self, array):
        return array.clone()

    def bind(self, device, op, arrays, parameters, dtype, mode):
        if dtype == "f8_e4m3":
            return _f8_gemm(*arrays, parameters, mode)
        call = super().bind(device, op, arrays, parameters, dtype, mode)
        if op in self.returning:
            def call():
                arrays[-1] = self.calls[op](*arrays, parameters)
        if device.handle.type != "xla":
            return call
        return lambda: (call(), self._kinds["xla"].end_call())

    def enter(self, device, mode):
        torch.set_float32_matmul_precision("high" if mode == "fast_tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = mode == "fast_tf32"  # of convolutions, and on by default
        torch.backends.cudnn.benchmark = False  # but for nets
        self._kind(device).enter(device.handle)

    def fence(self, device):
        self._kind(device).fence(device.handle)

    def trim(self, device):
        self._kind(device).trim()

    def available_memory(self, device):
        return self._kind(device).available_memory(device.handle)

    def marks(self, device, count):
        return self._kind(device).marks(count)

    def record(self, device, make_calls):
        return self._kind(device).record(make_calls)

    def host_buffer(self, array, pinned):
        contents = array.cpu()
        return contents.pin_memory() if pinned else contents

    def upload(self, device, arrays, which, buffer):
        arrays[which].copy_(buffer, non_blocking=True)

    def download(self, arrays, which, buffer):
        buffer.copy_(arrays[which], non_blocking=True)

    def kind_of(self, error):
        if isinstance(error, torch.cuda.OutOfMemoryError):
            return "memory"
        return "device" if "CUDA error" in str(error) else super().kind_of(error)


if __name__ == "__main__":
    sys.exit(program.run(Torch, "It measures prumo's operations in PyTorch, on the host, CUDA, MPS and XLA devices."))
