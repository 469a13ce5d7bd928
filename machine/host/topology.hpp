// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Hardware threads, cores, caches and memory nodes. They come from hwloc if prumo was built with it, and otherwise
/// from sysfs (Linux) or sysctl (macOS).

#include "system_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::machine::host {

struct hardware_thread {
  int cpu = 0;   ///< the system's number
  int core = 0;  ///< the same for threads of one core
  int package = 0;
  int numa_node = 0;
  int kind = 0;  ///< place in topology::kinds
};

struct kind_of_core {
  std::string name;
  std::optional<double> clock_base_mhz;
  std::optional<double> clock_max_mhz;
};

/// One data or unified cache.
struct cache {
  int level = 0;
  std::int64_t bytes = 0;
  std::vector<int> cpus;  ///< hardware threads that use it
};

struct topology {
  std::vector<hardware_thread> threads;  ///< threads that are online; empty if the system only reports their number
  std::vector<kind_of_core> kinds;       ///< from the fastest on
  std::vector<cache> caches;
  std::string source;
};

/// From hwloc or, without it, from the system.
topology read_topology(const system_files& files);

/// From /sys/devices/system.
topology read_topology_of_sysfs(const system_files& files);

#if defined(PRUMO_HAS_HWLOC)
/// None if hwloc fails.
std::optional<topology> read_topology_of_hwloc();
#endif

/// Sets the maximum and base clocks of each kind from sysfs: the highest clocks among its threads.
void read_clocks(const system_files& files, topology& machine);

/// The number of different cores, packages or memory nodes in a list of threads.
int count_cores(const std::vector<hardware_thread>& threads);
int count_packages(const std::vector<hardware_thread>& threads);
int count_numa_nodes(const std::vector<hardware_thread>& threads);

/// The threads of the machine that `cpus` lists, or all of them if `cpus` is empty.
std::vector<hardware_thread> threads_among(const topology& machine, const std::vector<int>& cpus);

/// The size in bytes of the cache of this level that the first of the threads uses.
std::optional<std::int64_t> cache_bytes(const topology& machine, int level,
                                        const std::vector<hardware_thread>& threads);

/// The size in bytes of all last-level caches that the threads use together. A virtual machine may show only a slice,
/// or the whole cache of the processor.
std::optional<std::int64_t> last_level_cache_bytes(const topology& machine,
                                                   const std::vector<hardware_thread>& threads);

}  // namespace prumo::machine::host
