// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Puts a host's facts together from the processor, the system and measurements.

#include "clock_probe.hpp"
#include "processor.hpp"
#include "system_files.hpp"
#include "topology.hpp"
#include <prumo/machine/device_facts.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prumo::machine::host {

/// Everything that facts are made from.
struct host_observation {
  std::string_view backend;                    ///< `openmp`
  std::vector<std::vector<int>> allowed_cpus;  ///< of each thread; empty lists if the system does not say
  processor subject;
  topology machine;
  std::vector<clock_reading> readings;                    ///< of each thread; empty: not measured
  std::vector<std::optional<fma_measurement>> fma_units;  ///< of each kind of core; empty: not measured
  std::string proc_bind;                                  ///< OMP_PROC_BIND; empty if it is not set
  std::string places;                                     ///< OMP_PLACES
};

device_facts assemble_facts(const host_observation& seen, const system_files& files);

/// Where threads may run, in words: `threads on 0-7`, `unbound: any of 0-7`.
std::string describe_affinity(const std::vector<std::vector<int>>& allowed_cpus);

/// All hardware threads that are in at least one of the lists.
std::vector<int> union_of(const std::vector<std::vector<int>>& allowed_cpus);

}  // namespace prumo::machine::host
