# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The answers of a peer, whatever its framework."""

import math
import os
import platform

from prumo_peers import __version__
from prumo_peers.common import machine, protocol, rounding
from prumo_peers.common.case import Case
from prumo_peers.common.operations import OPERATIONS
from prumo_peers.common.protocol import RequestError, usage

USUAL_BUDGET = 3e7
NO_DEVICE = "there is no device '{}' here; there is: {}"


class Worker:
    def __init__(self, framework):
        self._framework = framework
        self._devices = {it.id: it for it in framework.devices()}
        self._operations = {op: it for op, it in OPERATIONS.items() if op in framework.calls}
        self._open = {}
        self._last_id = 0
        self._sessions = framework.net_sessions(self._devices)

    @property
    def runs_nets(self):
        return self._sessions is not None

    def hello(self, request):
        framework = self._framework
        return {"worker": {"name": f"prumo_peers.{framework.name}", "version": __version__, "backend": framework.name,
                           "versions": {"python": platform.python_version(), **framework.versions()},
                           "build": {"id": machine.build_identity()}, "pid": os.getpid(),
                           "environment": machine.environment_variables(protocol.texts(request, "variables")),
                           "warnings": list(framework.warnings)},
                "devices": [_summary(it) for it in self._devices.values()],
                "cases": [self._describe(it) for it in self._operations.values()],
                **({"workloads": self._sessions.describe()} if self.runs_nets else {})}

    def device(self, request):
        protocol.flag(request, "clocks", True)  # there are none to measure
        device = self._find_device(request)
        available = self._framework.available_memory(device) if device.transfers else machine.available_memory()
        return {"device": {**_summary(device), "peaks": [],
                           "facts": {"cache_llc_bytes": self._framework.cache_bytes(device),
                                     "memory_available_bytes": available, **device.facts}}}

    def resolve(self, request):
        case = self._choose(request)
        asked = request.get("bytes_per_array")
        return {"shape": case.shape, "bytes_per_array": max(case.array_bytes) if asked is None else int(asked),
                "footprint_bytes": case.footprint, "parameters": case.values,
                "model": case.operation.model(case.shape, case.values, rounding.BYTES[case.dtype])}

    def prepare(self, request):
        device = self._find_device(request)
        case = self._choose(request)
        case.mode = protocol.text(request, "compute_mode", "strict")
        self._require_support(case, device)
        implementation = protocol.text(request, "implementation", self._framework.name)
        if implementation != self._framework.name:
            raise usage(f"there is no implementation '{implementation}'; there is: {self._framework.name}")
        transferred = protocol.one_of(request, "data", ("resident", "transferred")) == "transferred"
        wanted_memory = protocol.one_of(request, "host_memory", ("pinned", "pageable"))
        host_memory = wanted_memory if transferred else None
        cold = protocol.one_of(request, "cache", ("cold", "hot")) == "cold"
        single = protocol.one_of(request, "dispatch", ("recorded", "single")) == "single"
        if transferred and not device.transfers:
            raise RequestError("skipped", "a host device has no transfers")
        if transferred and host_memory not in device.host_memory:
            raise RequestError("unsupported", f"{self._framework.name} has no {host_memory} memory for {device.id}")
        cache_bytes = self._framework.cache_bytes(device)
        copies = machine.cold_copies(case.footprint, cache_bytes, case.touched) if cold else 1
        self._require_memory(case, device, copies)
        try:
            case.allocate(self._framework, device, copies, host_memory, single)
        except Exception:
            self._framework.trim(device)
            raise
        self._last_id += 1
        self._open[self._last_id] = case
        return {"case": self._last_id, "implementation": implementation, "copies": copies,
                "footprint_bytes": copies * case.footprint, "clock": case.clock, "dispatch": case.dispatch}

    def verify(self, request):
        budget = protocol.number(request, "budget", USUAL_BUDGET)
        if budget <= 0:
            raise usage(f"the field 'budget' should be above 0 and is {budget}")
        return self._find_open(request).verify(budget)

    def sample(self, request):
        seconds = protocol.number(request, "seconds")
        if not 0 <= seconds <= 3600:
            raise usage(f"the field 'seconds' should be between 0 and 3600 and is {seconds}")
        case = self._find_open(request)
        times, told = case.sample(seconds)
        transfer = None
        if case.transfer_bytes is not None:
            h2d_bytes, d2h_bytes = case.transfer_bytes
            transfer = {"h2d": times.h2d, "d2h": times.d2h, "h2d_bytes": h2d_bytes, "d2h_bytes": d2h_bytes}
        return {"samples": times.device or times.wall, "wall": times.wall, "batch": times.batch, "transfer": transfer,
                **told}

    def release(self, request):
        device = self._find_open(request).device
        del self._open[request["case"]]
        self._framework.trim(device)

    def open(self, request):
        return self._sessions.open(request, self._find_device(request))

    def check(self, request):
        return self._sessions.check(request)

    def time(self, request):
        return self._sessions.time(request)

    def evaluate(self, request):
        return self._sessions.evaluate(request)

    def advance(self, request):
        return self._sessions.advance(request)

    def save(self, request):
        return self._sessions.save(request)

    def load(self, request):
        return self._sessions.load(request)

    def close(self, request):
        return self._sessions.close(request)

    def kind_of(self, error):
        return self._framework.kind_of(error)

    def _describe(self, operation):
        modes = dict.fromkeys(mode for it in self._devices.values() for mode in it.modes)
        dtypes = dict.fromkeys(dtype for it in self._devices.values() for dtype in self._dtypes(it, operation))
        return {"op": operation.op, "kind": "op", "description": operation.description, "default": operation.default,
                "dtypes": list(dtypes), "layouts": ["right"], "axes": list(operation.axes),
                "parameters": list(operation.parameters), "implementations": [self._framework.name],
                "compute_modes": list(modes) if operation.op == "gemm" else ["strict"], "arrays": operation.inputs + 1}

    def _dtypes(self, device, operation):
        return (device.dtypes or self._framework.dtypes) + (device.product_dtypes if operation.op == "gemm" else ())

    def _find_device(self, request):
        device = protocol.text(request, "device")
        if device not in self._devices:
            raise usage(NO_DEVICE.format(device, ", ".join(self._devices)))
        return self._devices[device]

    def _find_open(self, request):
        case_id = protocol.whole_number(request, "case")
        if case_id not in self._open:
            raise usage(f"there is no case {case_id}: it was never prepared, or released")
        return self._open[case_id]

    def _require_support(self, case, device):
        name = self._framework.name
        if case.dtype not in self._dtypes(device, case.operation):
            raise RequestError("unsupported", f"{name} has no type {case.dtype} on {device.id}")
        modes = device.modes if case.operation.op == "gemm" else ("strict",)
        only = {"fast_tf32": ("f32",), "fast_accumulation": rounding.PRODUCT_DTYPES}.get(case.mode, (case.dtype,))
        if case.mode not in modes or case.dtype not in only:
            raise RequestError("unsupported", f"{name} has no compute mode '{case.mode}' of {case.operation.op} in "
                                              f"{case.dtype} on {device.id}")

    def _require_memory(self, case, device, copies):
        label, needed = f"{case.operation.op} {case.dtype}", copies * case.footprint
        if not device.transfers:
            machine.require_memory(label, needed)
            return
        available = self._framework.available_memory(device)
        if available is not None:
            machine.require_memory(f"{label} on {device.id}", needed, available)
        machine.require_memory(f"{label} on the host", case.footprint)

    def _choose(self, request):
        """Operation, type, shape and parameters of a request, complete."""
        name = self._framework.name
        op = protocol.text(request, "op")
        if op not in self._operations:
            raise usage(f"there is no operation '{op}'; there are: {', '.join(self._operations)}")
        operation = self._operations[op]
        dtype = protocol.text(request, "dtype")
        known = rounding.DTYPES + rounding.PRODUCT_DTYPES
        if dtype not in known:
            raise usage(f"there is no type '{dtype}'; there are: {', '.join(known)}")
        if all(dtype not in self._dtypes(it, operation) for it in self._devices.values()):
            raise RequestError("unsupported", f"{name} has no type {dtype} of {op}")
        layout = protocol.text(request, "layout", "right")
        if layout != "right":
            kind = "unsupported" if layout in ("left", "strided") else "usage"
            raise RequestError(kind, f"{name} has no layout {layout}")
        return Case(operation, dtype, _shape(operation, dtype, request), _values(operation, dtype, request),
                    protocol.whole_number(request, "seed", 0, 1))


def _summary(device):
    return {"id": device.id, "backend": device.backend, "name": device.name, "threads": device.threads,
            "transfers": device.transfers}


def _shape(operation, dtype, request):
    given = protocol.extents(request)
    names = [it["name"] for it in operation.axes]
    for axis in given:
        if axis not in names:
            raise usage(f"there is no {operation.op} axis '{axis}'; there are: {', '.join(names)}")
    size = protocol.whole_number(request, "bytes_per_array", 1, None)
    if size is not None:
        fitting = operation.fitting(size // rounding.BYTES[dtype], given)
        if dtype in rounding.PRODUCT_DTYPES:  # units for them take lines of 16 bytes
            fitting = {axis: extent - extent % 16 if extent > 16 else extent for axis, extent in fitting.items()}
        shape = {**fitting, **given}
    else:
        shape = {**{it["name"]: it["default"] for it in operation.axes if "default" in it}, **given}
    for axis in names:
        if axis not in shape:
            raise usage(f"{operation.op}: axis {axis} is given neither by the shape nor by a size")
    if math.prod(max(it, 1) for it in shape.values()) >= 1 << 80:
        raise RequestError("memory", f"{operation.op} needs more memory than any machine has available")
    return {axis: shape[axis] for axis in names}


def _values(operation, dtype, request):
    values = operation.defaults(dtype)
    for name, value in protocol.numbers(request, "parameters").items():
        if name not in values:
            raise usage(f"there is no {operation.op} parameter '{name}'; there are: {', '.join(values) or 'none'}")
        values[name] = value
    return values
