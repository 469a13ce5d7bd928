# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How Python peers read the sensors of GPUs: ``python3 sensors_test.py``."""

import ctypes
import unittest
from unittest import mock

from prumo_peers.common import nvml


class FakeNvml:
    """The functions of NVML by C's calling convention; a test sets what they answer, and removes some."""

    PCI, UUID = b"00000000:19:00.0", b"GPU-1234"

    def __init__(self):
        self.status, self.millijoules, self.reasons = 0, 5000, 0x4
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        number, large = ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_ulonglong)
        self.give("nvmlInit_v2", lambda: 0)
        for name, known in (("nvmlDeviceGetHandleByPciBusId_v2", self.PCI), ("nvmlDeviceGetHandleByUUID", self.UUID)):
            self.give(name, lambda text, handle, known=known: self.handle_of(text, handle, known),
                      ctypes.c_char_p, ctypes.POINTER(pointer))
        self.give("nvmlDeviceGetClockInfo", lambda _, which, it: self.set(it, {1: 1980, 2: 3201}[which]),
                  pointer, integer, number)
        self.give("nvmlDeviceGetTemperature", lambda _, which, it: self.set(it, 41), pointer, integer, number)
        self.give("nvmlDeviceGetTotalEnergyConsumption", lambda _, it: self.set(it, self.millijoules), pointer, large)
        for name in ("Event", "Throttle"):
            self.give(f"nvmlDeviceGetCurrentClocks{name}Reasons", lambda _, it: self.set(it, self.reasons),
                      pointer, large)

    def give(self, name, function, *kinds):
        setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(function))

    def set(self, target, value):
        if self.status == 0:
            target[0] = value
        return self.status

    @staticmethod
    def handle_of(text, handle, known):
        handle[0] = 0x7FFF12345678  # wider than an int
        return 0 if text == known else 6


class Sensors(unittest.TestCase):
    def setUp(self):
        self.fake = FakeNvml()

    def reading(self, pci=FakeNvml.PCI.decode(), uuid=None):
        return nvml.telemetry(pci, uuid, nvml.Library(self.fake))()

    def test_all_is_told(self):
        self.fake.millijoules = 123456789012
        reading = self.reading()
        self.assertEqual((reading.clock_mhz, reading.temperature_c, reading.throttle), (1980.0, 41.0, ("power cap",)))
        self.assertAlmostEqual(reading.energy_j, 123456789.012, places=5)
        self.assertGreater(reading.seconds, 0)

    def test_the_uuid_finds_what_the_address_does_not(self):
        self.assertEqual(self.reading("00000000:00:00.0", FakeNvml.UUID.decode()).clock_mhz, 1980)
        self.assertIsNone(nvml.telemetry("00000000:00:00.0", "GPU-5", nvml.Library(self.fake)))
        self.assertIsNone(nvml.telemetry(None, None, nvml.Library(self.fake)))

    def test_what_is_missing_or_fails_is_not_told(self):
        read = nvml.telemetry(FakeNvml.PCI.decode(), None, nvml.Library(self.fake))
        self.fake.status = 3  # not supported
        self.assertEqual(read(), nvml.Reading(seconds=mock.ANY))
        self.fake.status = 0
        del self.fake.nvmlDeviceGetTotalEnergyConsumption
        self.assertEqual((read().energy_j, read().clock_mhz), (None, 1980))
        self.fake.give("nvmlInit_v2", lambda: 9)
        self.assertIsNone(nvml.telemetry(FakeNvml.PCI.decode(), None, nvml.Library(self.fake)))

    def test_names_of_other_drivers(self):
        del self.fake.nvmlDeviceGetCurrentClocksEventReasons
        del self.fake.nvmlDeviceGetTemperature

        def temperature(_, asked):
            version, _, celsius = (ctypes.c_int.from_address(asked + 4 * it) for it in range(3))
            celsius.value = 42
            return 0 if version.value == 12 | 1 << 24 else 25

        self.fake.give("nvmlDeviceGetTemperatureV", temperature, ctypes.c_void_p, ctypes.c_void_p)
        self.assertEqual((self.reading().temperature_c, self.reading().throttle), (42.0, ("power cap",)))

    def test_reasons_have_the_names_that_prumo_gives_them(self):
        for bits, names in ((0, ()), (0x3, ()), (0x24, ("power cap", "thermal slowdown")),
                            (0x8, ("hardware slowdown",)), (0x48, ("hardware thermal slowdown",)), (0x88, ("power brake",)), (0x10, ("sync boost",)),
                            (0x100, ("display clock setting",)), (1 << 40, ("unnamed reason 40",))):
            self.assertEqual(nvml.throttle_names(bits), names)

    def test_a_machine_without_the_library_tells_nothing(self):
        nvml._installed.cache_clear()
        with mock.patch("ctypes.CDLL", side_effect=OSError("no such file")):
            self.assertIsNone(nvml.telemetry("0000:19:00.0"))
        nvml._installed.cache_clear()


if __name__ == "__main__":
    unittest.main(verbosity=2)
