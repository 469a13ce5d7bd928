// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Declares the functions of AMD's management library (ROCm SMI) that prumo uses, because the library's header is often
/// absent.

#include <cstdint>

namespace prumo::machine::hip {

template <class... Parameters>
using smi_function = int (*)(Parameters...);

inline constexpr int smi_success = 0;
inline constexpr int smi_clock_system = 0;
inline constexpr int smi_clock_memory = 4;
inline constexpr std::uint32_t smi_temperature_edge = 0;
inline constexpr std::uint32_t smi_temperature_junction = 1;
inline constexpr int smi_temperature_current = 0;
inline constexpr int smi_memory_vram = 0;
inline constexpr int smi_driver = 0;

/// The frequencies of a clock in Hz, and the index of the one in force.
struct smi_frequencies {
  std::uint8_t has_deep_sleep = 0;
  std::uint32_t count = 0;
  std::uint32_t current = 0;
  std::uint64_t hertz[33] = {};
};

/// The same structure in libraries before ROCm 6. It is shorter.
struct smi_frequencies_old {
  std::uint32_t count = 0;
  std::uint32_t current = 0;
  std::uint64_t hertz[32] = {};
};
static_assert(sizeof(smi_frequencies_old) < sizeof(smi_frequencies));

/// A function is null if the library lacks it. A device is named by its index.
struct smi_functions {
  smi_function<std::uint64_t> init;
  smi_function<> shut_down;
  smi_function<int, const char**> status_string;
  smi_function<std::uint32_t*> count;
  smi_function<std::uint32_t, std::uint64_t*> pci_id;
  smi_function<std::uint32_t, std::uint64_t*> unique_id;
  smi_function<int, char*, std::uint32_t> version;
  smi_function<std::uint32_t, std::uint32_t, int, std::int64_t*> temperature;  ///< in millidegrees Celsius
  smi_function<std::uint32_t, std::uint64_t*, int*> power;                     ///< in microwatts, like all powers
  smi_function<std::uint32_t, std::uint32_t, std::uint64_t*> power_average;
  smi_function<std::uint32_t, std::uint32_t, std::uint64_t*> power_cap;
  smi_function<std::uint32_t, std::uint64_t*> power_cap_default;
  /// The counter, the microjoules of one count, and the time in nanoseconds.
  smi_function<std::uint32_t, std::uint64_t*, float*, std::uint64_t*> energy;
  smi_function<std::uint32_t, int, smi_frequencies*> clock;
  smi_function<std::uint32_t, int, std::uint64_t*> memory_used;  ///< in bytes
  smi_function<std::uint32_t, std::uint32_t*> busy_percent;
};

/// Looks up all of them in a library that dlopen() opened.
smi_functions load_smi_functions(void* file);

}  // namespace prumo::machine::hip
