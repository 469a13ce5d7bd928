# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests of the protocol answered with NumPy on the host, device ``numpy:0``."""

import math
import os
import platform

import numpy as np

from prumo_peers import __version__, philox, protocol
from prumo_peers.numpy_operations import DTYPES, OPERATIONS
from prumo_peers.protocol import RequestError, Sampler, usage

DEVICE = "numpy:0"
USUAL_BUDGET = 3e7
STRETCH = 4096  # neighbouring entries that are checked together


class Case:
    """A choice of everything, with its arrays."""

    def __init__(self, operation, dtype, shape, values, seed):
        self.operation, self.dtype, self.shape, self.values, self.seed = operation, dtype, shape, values, seed
        self.type = DTYPES[dtype]
        self.roundoff = np.longdouble(np.finfo(self.type).eps) / 2
        self.arrays = operation.arrays(shape, values)
        self.footprint = sum(math.prod(extents) for extents, _ in self.arrays) * np.dtype(self.type).itemsize
        self.copies = []
        self.sampler = None

    def allocate(self, copies):
        for copy in range(copies):
            self.copies.append([np.empty(extents, self.type) for extents, _ in self.arrays])
            if copy == 0:
                self.fill_first()
            else:
                for target, source in zip(self.copies[copy], self.copies[0]):
                    np.copyto(target, source)
        # NumPy is done when a call returns: there is nothing to wait for.
        self.sampler = Sampler(self.run, lambda: None, copies)

    def fill_first(self):
        for which, (_, role) in enumerate(self.arrays):
            if role == "output":
                self.copies[0][which].fill(math.nan)
            else:
                philox.fill(self.copies[0][which], self.seed, which, self.dtype)

    def run(self, copy):
        self.operation.run(self.copies[copy], self.values)

    def entries(self, which, indices):
        """Elements of an input by index, from the generator."""
        return philox.uniform_at(self.seed, which, indices, self.dtype).astype(np.longdouble)

    def rounded_parameters(self):
        """The parameters as the computation sees them."""
        return {name: np.longdouble(self.type(value)) for name, value in self.values.items()}

    def verify(self, budget):
        self.fill_first()
        self.run(0)
        result = self.copies[0][-1].reshape(-1)
        count = result.size
        affordable = int(max(16, budget / self.operation.reference_cost(self.shape)))
        worst, checked = 0.0, 0
        for indices in chosen_indices(count, affordable):
            value, bound = self.operation.expected(self, indices)
            off = np.abs(result[indices].astype(np.longdouble) - value)
            with np.errstate(divide="ignore", invalid="ignore"):
                errors = np.where(off == 0, 0, off / bound)
            worst = max(worst, float(errors.max(initial=0)))
            checked += len(indices)
        missing = int(np.isnan(result).sum())
        verified = missing == 0 and worst <= 1
        message = f"{missing} entries are NaN or were not written" if missing else \
            "" if verified else f"the result is off by {worst} times its bound"
        return {"verified": verified, "error": None if missing or not math.isfinite(worst) else worst, "error_bound": 1.0,
                "checked": checked, "method": "all" if checked == count else "sampled", "message": message}


def chosen_indices(count, affordable):
    """Stretches of indices: all, or evenly spread ones with the first and the last among them."""
    if affordable >= count:
        for first in range(0, count, STRETCH):
            yield np.arange(first, min(count, first + STRETCH))
        return
    length = min(STRETCH, max(1, affordable // 16))
    stretches = max(2, affordable // length)
    for which in range(stretches):
        first = which * (count - length) // (stretches - 1)
        yield np.arange(first, first + length)


class NumpyAdaptor:
    def __init__(self):
        self._open = {}
        self._last_id = 0

    def hello(self, request):
        blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
        return {
            "worker": {"name": "prumo_peers.numpy", "version": __version__, "backend": "numpy",
                       "versions": {"python": platform.python_version(), "numpy": np.__version__,
                                    "blas": f"{blas.get('name')} {blas.get('version')}"},
                       "build": {}, "pid": os.getpid(), "environment": protocol.environment_that_matters(),
                       "warnings": ["NumPy runs all but gemm on one core"]},
            "devices": [self._summary()],
            "cases": [self._describe(it) for it in OPERATIONS.values()]}

    def device(self, request):
        self._require_device(request)
        return {"device": {**self._summary(), "peaks": [],
                           "facts": {"cache_llc_bytes": protocol.last_level_cache_bytes(),
                                     "memory_available_bytes": protocol.available_memory()}}}

    def resolve(self, request):
        case = self._choose(request)
        size = np.dtype(case.type).itemsize
        asked = request.get("bytes_per_array")
        largest = max(math.prod(extents) for extents, _ in case.arrays) * size
        return {"shape": case.shape, "bytes_per_array": largest if asked is None else int(asked),
                "footprint_bytes": case.footprint, "parameters": case.values,
                "model": case.operation.model(case.shape, case.values, size)}

    def prepare(self, request):
        self._require_device(request)
        mode = protocol.text(request, "compute_mode", "strict")
        if mode != "strict":
            raise RequestError("unsupported", f"NumPy has no compute mode '{mode}'")
        implementation = protocol.text(request, "implementation", "numpy")
        if implementation != "numpy":
            raise usage(f"there is no implementation '{implementation}'; there is: numpy")
        data = protocol.one_of(request, "data", ("resident", "transferred"))
        cache = protocol.one_of(request, "cache", ("cold", "hot"))
        case = self._choose(request)
        if data == "transferred":
            raise RequestError("skipped", "a host device has no transfers")
        copies = protocol.cold_copies(case.footprint) if cache == "cold" else 1
        protocol.require_memory(f"{case.operation.op} {case.dtype}", copies * case.footprint)
        case.allocate(copies)
        self._last_id += 1
        self._open[self._last_id] = case
        return {"case": self._last_id, "implementation": "numpy", "copies": copies,
                "footprint_bytes": copies * case.footprint, "clock": "wall"}

    def verify(self, request):
        return self._find_open(request).verify(protocol.number(request, "budget", USUAL_BUDGET))

    def sample(self, request):
        seconds = protocol.number(request, "seconds")
        if not 0 <= seconds <= 3600:
            raise usage(f"the field 'seconds' should be between 0 and 3600 and is {seconds}")
        times, batch = self._find_open(request).sampler.sample(seconds)
        return {"samples": times, "wall": times, "batch": batch, "transfer": None, "clock_mhz": None, "energy_j": None,
                "temperature_c": None, "throttle": []}

    def release(self, request):
        self._find_open(request)
        del self._open[request["case"]]

    @staticmethod
    def _summary():
        return {"id": DEVICE, "backend": "numpy", "name": protocol.processor_name(), "threads": None,
                "transfers": False}

    @staticmethod
    def _describe(operation):
        return {"op": operation.op, "kind": "op", "description": operation.description,
                "default": operation.op not in ("copy", "fill"),
                "dtypes": list(DTYPES), "layouts": ["right"], "axes": list(operation.axes),
                "parameters": list(operation.parameters), "implementations": ["numpy"], "compute_modes": ["strict"],
                "arrays": operation.inputs + 1}

    @staticmethod
    def _require_device(request):
        device = protocol.text(request, "device")
        if device != DEVICE:
            raise usage(f"there is no device '{device}' here; there is: {DEVICE}")

    def _find_open(self, request):
        case_id = protocol.whole_number(request, "case")
        if case_id not in self._open:
            raise usage(f"there is no case {case_id}: it was never prepared, or released")
        return self._open[case_id]

    @staticmethod
    def _choose(request):
        """Operation, type, shape and parameters of a request, complete."""
        op = protocol.text(request, "op")
        if op not in OPERATIONS:
            raise usage(f"there is no operation '{op}'; there are: {', '.join(OPERATIONS)}")
        operation = OPERATIONS[op]
        dtype = protocol.text(request, "dtype")
        if dtype not in DTYPES:
            raise RequestError("unsupported" if dtype in ("f16", "bf16") else "usage", f"NumPy's worker has no type {dtype}")
        layout = protocol.text(request, "layout", "right")
        if layout != "right":
            raise RequestError("unsupported" if layout in ("left", "strided") else "usage",
                               f"NumPy's worker has no layout {layout}")
        given = protocol.extents(request)
        names = [it["name"] for it in operation.axes]
        for axis in given:
            if axis not in names:
                raise usage(f"there is no {op} axis '{axis}'; there are: {', '.join(names)}")
        size = protocol.whole_number(request, "bytes_per_array", 1, None)
        defaults = {it["name"]: it["default"] for it in operation.axes if "default" in it}
        missing = [axis for axis in names if axis not in given and axis not in defaults]
        if size is None and missing:
            raise usage(f"{op}: axis {missing[0]} is not given and neither is a size")
        elements = (size or 0) // np.dtype(DTYPES[dtype]).itemsize
        shape = {**defaults, **given} if size is None else {**operation.fitting(elements), **given}
        if size is not None and "rows" in names and "rows" not in given:
            shape["rows"] = max(1, elements // max(1, shape["columns"]))
        values = {it["name"]: it["default"] for it in operation.parameters}
        for name, value in protocol.numbers(request, "parameters").items():
            if name not in values:
                raise usage(f"there is no {op} parameter '{name}'; there are: {', '.join(values) or 'none'}")
            values[name] = value
        shape = {axis: shape[axis] for axis in names}
        seed = protocol.whole_number(request, "seed", 0, 1)
        return Case(operation, dtype, shape, values, seed)
