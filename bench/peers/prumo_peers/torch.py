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

from prumo_peers.common import rounding  # noqa: E402
from prumo_peers.common.array_philox import ArrayLibrary  # noqa: E402
from prumo_peers.common.comparison import Result  # noqa: E402
from prumo_peers.common.framework import Framework  # noqa: E402
from prumo_peers.pytorch import devices, operations  # noqa: E402

_TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "f8_e4m3": getattr(torch, "float8_e4m3fn", None), "i64": torch.int64}


def _to_numpy(array):
    wide = array.dtype if array.dtype in (torch.float64, torch.int64) else torch.float32
    return array.cpu().to(wide).numpy()


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


class Torch(Framework):
    name = "torch"
    dtypes = rounding.DTYPES
    # On the host: the logarithm of the sum; a square root, of which a quotient is made; alpha x and beta.
    storage_roundings = {"log_softmax": 1, "rsqrt": 2, "axpby": 2, "convolution": 2,
                         "convolution_backward_data": 2, "convolution_backward_weights": 2, "dense": 2}
    calls = operations.CALLS

    def __init__(self):
        torch.set_grad_enabled(False)
        # Sums of 16-bit products stay in f32, as prumo's do.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self._kinds = {"cpu": devices.Host(), "cuda": devices.Cuda(), "mps": devices.Mps(), "xla": devices.Xla()}

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
            return operations.f8_gemm(*arrays, parameters, mode)
        call = super().bind(device, op, arrays, parameters, dtype, mode)
        if op in operations.RETURNING:
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
