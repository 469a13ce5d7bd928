# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sensors of NVIDIA's GPUs, read by their management library (NVML) as machine/cuda/portable/nvml.cpp reads them
for prumo's own worker. Where the library or a value is missing, nothing is told."""

import ctypes
import dataclasses
import functools
import time

_CLOCK_SM = 1
_TEMPERATURE_CHIP = 0
# The counter of energy advances every 20 to 100 ms: shorter samples have too few steps of it.
LEAST_ENERGY_SECONDS = 1.0

# The bits of nvmlClocksEventReasons. An idle GPU and clocks that somebody set (0x1 and 0x2) are no throttling.
_NO_THROTTLING = 0x1 | 0x2
_HARDWARE_SLOWDOWN = 0x8
_HARDWARE_THERMAL_SLOWDOWN = 0x40
_POWER_BRAKE = 0x80
_REASONS = {0x4: "power cap", _HARDWARE_SLOWDOWN: "hardware slowdown", 0x10: "sync boost", 0x20: "thermal slowdown",
            _HARDWARE_THERMAL_SLOWDOWN: "hardware thermal slowdown", _POWER_BRAKE: "power brake",
            0x100: "display clock setting"}


@dataclasses.dataclass(frozen=True)
class Reading:
    """One reading of a device's sensors. What the device does not report is None."""

    clock_mhz: float | None = None  # of the multiprocessors
    temperature_c: float | None = None
    energy_j: float | None = None  # a running total: only differences mean something
    throttle: tuple = ()  # why clocks are held down, in words
    seconds: float = 0.0  # when the energy was read, by time.perf_counter()


def told_between(before, after, seconds):
    """The fields of the answer to ``sample`` for readings before and after samples of this many seconds together."""
    energy = power = None
    if None not in (before.energy_j, after.energy_j) and seconds >= LEAST_ENERGY_SECONDS:
        energy = after.energy_j - before.energy_j
        power = energy / (after.seconds - before.seconds)
    return {"clock_mhz": after.clock_mhz, "energy_j": energy, "power_w": power, "temperature_c": after.temperature_c,
            "throttle": list(dict.fromkeys(after.throttle + before.throttle))}


def throttle_names(reasons):
    """Names of the reasons that hold clocks down, from NVML's bits."""
    # Either of the two bits that give the cause comes together with hardware slowdown, which then says nothing more.
    if reasons & (_HARDWARE_THERMAL_SLOWDOWN | _POWER_BRAKE):
        reasons &= ~_HARDWARE_SLOWDOWN
    names = tuple(name for bit, name in _REASONS.items() if reasons & bit)
    unnamed = reasons & ~(sum(_REASONS) | _NO_THROTTLING)
    return names + tuple(f"unnamed reason {bit}" for bit in range(64) if unnamed >> bit & 1)


class _Temperature(ctypes.Structure):
    """nvmlTemperature_v1_t, the form of the question for drivers after version 13."""

    _fields_ = [("version", ctypes.c_uint), ("sensor", ctypes.c_int), ("celsius", ctypes.c_int)]


class Library:
    """The loaded library: functions by name, each of which returns 0 where it succeeds."""

    def __init__(self, functions):
        self._functions = functions
        self.works = self._succeeds("nvmlInit_v2")

    def _succeeds(self, name, *arguments):
        """Whether the library has the function and it succeeded."""
        function = getattr(self._functions, name, None)
        return function is not None and function(*arguments) == 0

    def _ask(self, name, kind, handle, *arguments):
        """One number of a GPU, or None."""
        value = kind()
        return value.value if self._succeeds(name, handle, *arguments, ctypes.byref(value)) else None

    def find(self, pci_bus_id, uuid):
        """The handle of a GPU, or None. The address comes first: in a MIG instance the UUID is that of the instance,
        which has no clock or power of its own."""
        handle = ctypes.c_void_p()
        for name, text in (("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id), ("nvmlDeviceGetHandleByUUID", uuid)):
            if self.works and text and self._succeeds(name, text.encode(), ctypes.byref(handle)):
                return handle
        return None

    def _temperature(self, handle):
        celsius = self._ask("nvmlDeviceGetTemperature", ctypes.c_uint, handle, _TEMPERATURE_CHIP)
        if celsius:
            return float(celsius)
        asked = _Temperature(ctypes.sizeof(_Temperature) | 1 << 24, _TEMPERATURE_CHIP, 0)
        told = self._succeeds("nvmlDeviceGetTemperatureV", handle, ctypes.byref(asked)) and asked.celsius > 0
        return float(asked.celsius) if told else None

    def read(self, handle):
        clock = self._ask("nvmlDeviceGetClockInfo", ctypes.c_uint, handle, _CLOCK_SM)
        temperature = self._temperature(handle)
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong, handle)
        if reasons is None:  # its name before driver 535
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong, handle)
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong, handle)
        return Reading(float(clock) if clock else None, temperature,
                       None if millijoules is None else millijoules * 1e-3, throttle_names(reasons or 0),
                       time.perf_counter())


@functools.lru_cache(maxsize=None)
def _installed():
    """The library of this machine's driver; None where there is none that works."""
    try:
        library = Library(ctypes.CDLL("libnvidia-ml.so.1"))
    except OSError:
        return None
    return library if library.works else None


def telemetry(pci_bus_id, uuid=None, library=None):
    """A function that reads the sensors of the GPU at a PCI address (``0000:19:00.0``) or with a UUID (``GPU-...``);
    None where nothing tells them. An index would not do: NVML orders GPUs in its own way."""
    library = library or _installed()
    handle = library.find(pci_bus_id, uuid) if library else None
    return functools.partial(library.read, handle) if handle is not None else None
