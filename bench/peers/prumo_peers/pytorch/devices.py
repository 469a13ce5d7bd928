# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch's kinds of devices differ in: the host, CUDA's and HIP's GPUs, Apple's, and what XLA reaches."""

import torch

from prumo_peers.common import machine, nvml
from prumo_peers.common.framework import Device


def _has_f8(facts):
    known = hasattr(torch, "_scaled_mm") and hasattr(torch, "float8_e4m3fn")
    return known and torch.version.hip is None and (facts.major, facts.minor) >= (8, 9)


def _telemetry_of(facts):
    """What NVIDIA's management library tells of a GPU; None where PyTorch does not say which one it is."""
    if torch.version.hip is not None or not hasattr(facts, "pci_bus_id"):
        return None
    address = f"{getattr(facts, 'pci_domain_id', 0):08x}:{facts.pci_bus_id:02x}:{facts.pci_device_id:02x}.0"
    uuid = getattr(facts, "uuid", None)
    return nvml.telemetry(address, f"GPU-{uuid}" if uuid else None)


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
