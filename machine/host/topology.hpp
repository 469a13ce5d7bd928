// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Hardware threads, cores, caches and memory nodes, from hwloc where prumo was built with it, else from
/// sysfs (Linux) or sysctl (macOS).

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
  std::vector<int> cpus;  ///< hardware threads below it
};

struct topology {
  std::vector<hardware_thread> threads;  ///< online; empty where the system tells only sums
  std::vector<kind_of_core> kinds;       ///< from the fastest on
  std::vector<cache> caches;
  std::string source;
};

/// The best description at hand.
topology read_topology(const system_files& files);

/// From /sys/devices/system.
topology read_topology_of_sysfs(const system_files& files);

#if defined(PRUMO_HAS_HWLOC)
/// None where hwloc fails.
std::optional<topology> read_topology_of_hwloc();
#endif

/// Maximum and base clocks from sysfs into the kinds: the highest among the threads of a kind.
void read_clocks(const system_files& files, topology& machine);

/// Numbers of what is different in a list of threads.
int count_cores(const std::vector<hardware_thread>& threads);
int count_packages(const std::vector<hardware_thread>& threads);
int count_numa_nodes(const std::vector<hardware_thread>& threads);

/// Those of the machine's threads that `cpus` lists; all of them where `cpus` is empty.
std::vector<hardware_thread> threads_among(const topology& machine, const std::vector<int>& cpus);

/// Bytes of the cache of that level that the first of the threads reaches.
std::optional<std::int64_t> cache_bytes(const topology& machine, int level,
                                        const std::vector<hardware_thread>& threads);

/// Bytes of all last-level caches that the threads reach. A virtual machine may show a slice, or the whole.
std::optional<std::int64_t> last_level_cache_bytes(const topology& machine,
                                                   const std::vector<hardware_thread>& threads);

}  // namespace prumo::machine::host
