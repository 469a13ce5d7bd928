// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Puts a GPU's facts together from the HIP runtime and the management library.

#include "rocm_smi.hpp"
#include <prumo/machine/device_facts.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace prumo::machine::hip {

/// What the HIP runtime reports about a device; std::nullopt if unknown. Clocks in MHz, sizes in bytes.
struct runtime_facts {
  int ordinal = 0;  ///< among the devices that this process sees
  std::string name;
  std::string target;      ///< `gfx90a:sramecc+:xnack-`
  std::string uuid;        ///< `GPU-adaa93110835edcd`
  std::string pci_bus_id;  ///< `0000:19:00.0`
  std::optional<int> multiprocessors;
  std::optional<int> physical_multiprocessors;
  std::optional<int> wavefront;  ///< threads that run in lockstep
  std::optional<double> clock_max_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<int> memory_bus_bits;
  std::optional<std::int64_t> l2_bytes;
  std::optional<std::int64_t> shared_memory_bytes;        ///< of one compute unit
  std::optional<std::int64_t> shared_memory_block_bytes;  ///< the most that a block can ask for
  std::optional<int> threads;                             ///< resident on one multiprocessor
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_available_bytes;
  std::optional<bool> ecc;
  std::optional<bool> integrated;  ///< shares the host's memory
  std::optional<int> runtime;      ///< the HIP runtime: 60443484 is 6.4.43484
};

/// Everything that facts are made from.
struct hip_observation {
  runtime_facts runtime;
  smi_facts smi;
  std::string smi_problem;  ///< why ROCm SMI reports nothing; empty if it reports
};

device_facts assemble_facts(const hip_observation& seen);

/// `6.4.43484` for 60443484.
std::string version_text(int number);

}  // namespace prumo::machine::hip
