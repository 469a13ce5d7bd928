// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Puts a GPU's facts together from the CUDA runtime, NVML and measurements.

#include "cuda_rates.hpp"
#include "nvml.hpp"
#include <prumo/machine/device_facts.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace prumo::machine::cuda {

/// What the CUDA runtime reports about a device; std::nullopt if unknown. Clocks in MHz, sizes in bytes.
struct runtime_facts {
  int ordinal = 0;  ///< among the devices that this process sees
  std::string name;
  std::string uuid;        ///< `GPU-...`, `MIG-...`
  std::string pci_bus_id;  ///< `0000:19:00.0`
  compute_capability capability;
  std::optional<int> multiprocessors;
  std::optional<double> clock_max_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<int> memory_bus_bits;
  std::optional<std::int64_t> l2_bytes;
  std::optional<std::int64_t> shared_memory_bytes;        ///< of one multiprocessor
  std::optional<std::int64_t> shared_memory_block_bytes;  ///< the most that a block can ask for
  std::optional<int> registers;                           ///< of one multiprocessor, 32 bits each
  std::optional<int> threads;                             ///< resident on one multiprocessor
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_available_bytes;
  std::optional<bool> ecc;
  std::optional<bool> integrated;     ///< shares the host's memory
  std::optional<int> compute_mode;    ///< enumerators of cudaComputeMode
  std::optional<int> driver;          ///< the newest CUDA that the driver serves: 13000 is 13.0
  std::optional<int> runtime;         ///< the CUDA runtime, likewise
  std::optional<int> binary_version;  ///< the machine code that runs: 90 is sm_90
};

/// Clocks that were measured, or read during the measurement.
struct clock_measurements {
  std::optional<double> light_mhz;   ///< median over the multiprocessors, at work on integers
  std::optional<double> vector_mhz;  ///< at work on vector fused multiply-adds
  device_reading under_load;         ///< what NVML reported during that work
};

/// Everything that facts are made from.
struct cuda_observation {
  runtime_facts runtime;
  nvml_facts nvml;
  std::string nvml_problem;      ///< why `nvml` is empty
  std::vector<unsigned> family;  ///< those of `nvml.processes` that are workers of this run, this process included
  std::optional<clock_measurements> clocks;  ///< absent if not measured
};

device_facts assemble_facts(const cuda_observation& seen);

/// `13.0` for 13000.
std::string version_text(int number);

}  // namespace prumo::machine::cuda
