// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Declares the functions of NVML that prumo uses, as the library's binary interface has them. NVML's header is part of
/// the CUDA toolkit, which a machine that only builds or tests need not have. If the header is there,
/// machine/cuda/tests/nvml_test.cpp compares these declarations with it.

namespace prumo::machine::cuda {

/// Every function returns nvmlReturn_t, an int. A device is an opaque pointer, and enumerators are ints.
template <class... Parameters>
using nvml_function = int (*)(Parameters...);

inline constexpr int nvml_success = 0;
inline constexpr int nvml_insufficient_size = 7;
inline constexpr int nvml_clock_sm = 1;
inline constexpr int nvml_clock_memory = 2;
inline constexpr int nvml_temperature_chip = 0;
inline constexpr unsigned nvml_most_links = 36;

/// nvmlTemperature_v1_t, the form of the question for drivers after version 13.
struct nvml_temperature {
  unsigned version = sizeof(nvml_temperature) | 1u << 24;
  int sensor = nvml_temperature_chip;
  int celsius = 0;
};

/// nvmlUtilization_t, in percent of the time since the driver's last sample, which is up to a second ago.
struct nvml_utilization {
  unsigned gpu = 0;     ///< a kernel was running
  unsigned memory = 0;  ///< the memory was read or written
};

/// nvmlProcessInfo_v2_t, which version 3 of the question uses, too.
struct nvml_process {
  unsigned id;
  unsigned long long memory_used;
  unsigned gpu_instance;
  unsigned compute_instance;
};

/// nvmlProcessInfo_v1_t.
struct nvml_process_v1 {
  unsigned id;
  unsigned long long memory_used;
};

/// A function is null if the loaded library lacks it.
struct nvml_functions {
  nvml_function<> init;
  nvml_function<> shutdown;
  const char* (*error_string)(int);
  nvml_function<char*, unsigned> driver_version;
  nvml_function<const char*, void**> handle_by_pci;
  nvml_function<const char*, void**> handle_by_uuid;
  nvml_function<void*, char*, unsigned> uuid;
  nvml_function<void*, unsigned*> cores;
  nvml_function<void*, int, unsigned*> clock;      ///< MHz
  nvml_function<void*, int, unsigned*> max_clock;  ///< MHz
  nvml_function<void*, unsigned*> memory_bus_width;
  nvml_function<void*, unsigned*, unsigned*> ecc_mode;
  nvml_function<void*, unsigned*> persistence_mode;
  nvml_function<void*, unsigned*> enforced_power_limit;    ///< mW
  nvml_function<void*, unsigned*> default_power_limit;     ///< mW
  nvml_function<void*, unsigned*> power_usage;             ///< mW
  nvml_function<void*, unsigned long long*> total_energy;  ///< mJ
  nvml_function<void*, int, unsigned*> temperature;        ///< degrees Celsius
  nvml_function<void*, nvml_temperature*> temperature_v1;
  nvml_function<void*, unsigned*, unsigned*> mig_mode;
  nvml_function<void*, nvml_utilization*> utilization;
  nvml_function<void*, unsigned, unsigned*> nvlink_state;
  nvml_function<void*, unsigned*, nvml_process*> compute_processes;
  nvml_function<void*, unsigned*, nvml_process*> compute_processes_v2;
  nvml_function<void*, unsigned*, nvml_process_v1*> compute_processes_v1;
  nvml_function<void*, unsigned long long*> clocks_event_reasons;
  nvml_function<void*, unsigned long long*> clocks_throttle_reasons;
};

/// Looks up all of them in a library that dlopen() opened.
nvml_functions load_nvml_functions(void* file);

}  // namespace prumo::machine::cuda
