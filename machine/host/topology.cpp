// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topology.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace prumo::machine::host {

namespace {

constexpr const char* processors = "/sys/devices/system/cpu/";

std::string processor_folder(int cpu) { return processors + ("cpu" + std::to_string(cpu)); }

template <class Key>
int count_different(const std::vector<hardware_thread>& threads, Key key) {
  std::set<int> seen;
  for (const hardware_thread& thread : threads) seen.insert(key(thread));
  return static_cast<int>(seen.size());
}

/// Intel's hybrid processors list the threads of each kind. ARM's give each core a capacity, which is 1024 for the
/// fastest kind.
void read_kinds(const system_files& files, topology& machine) {
  const auto performance = parse_cpu_list(files.text("/sys/devices/cpu_core/cpus").value_or(""));
  const auto efficiency = parse_cpu_list(files.text("/sys/devices/cpu_atom/cpus").value_or(""));
  if (!performance.empty() && !efficiency.empty()) {
    machine.kinds = {{"performance", {}, {}}, {"efficiency", {}, {}}};
    for (hardware_thread& thread : machine.threads) {
      thread.kind = std::binary_search(efficiency.begin(), efficiency.end(), thread.cpu) ? 1 : 0;
    }
    return;
  }
  std::map<std::int64_t, std::vector<hardware_thread*>, std::greater<>> by_capacity;
  for (hardware_thread& thread : machine.threads) {
    by_capacity[files.integer(processor_folder(thread.cpu) + "/cpu_capacity").value_or(1024)].push_back(&thread);
  }
  int kind = 0;
  for (const auto& [capacity, members] : by_capacity) {
    const bool only = by_capacity.size() == 1;
    const bool last = kind + 1 == static_cast<int>(by_capacity.size());
    machine.kinds.push_back({only ? "core" : kind == 0 ? "performance" : last ? "efficiency" : "middle", {}, {}});
    for (hardware_thread* thread : members) thread->kind = kind;
    ++kind;
  }
}

void read_caches(const system_files& files, topology& machine) {
  std::set<std::pair<int, std::vector<int>>> seen;
  for (const hardware_thread& thread : machine.threads) {
    const std::string folder = processor_folder(thread.cpu) + "/cache/";
    for (const std::string& index : files.names_in(folder, "index")) {
      if (files.word(folder + index + "/type") == "Instruction") continue;
      const auto level = files.integer(folder + index + "/level");
      const auto bytes = parse_size(files.text(folder + index + "/size").value_or(""));
      if (!level || !bytes) continue;
      auto cpus = parse_cpu_list(files.text(folder + index + "/shared_cpu_list").value_or(""));
      if (cpus.empty()) cpus = {thread.cpu};
      if (!seen.insert({static_cast<int>(*level), cpus}).second) continue;
      machine.caches.push_back({static_cast<int>(*level), *bytes, std::move(cpus)});
    }
  }
}

#if defined(__APPLE__)
std::optional<std::int64_t> system_number(const std::string& name) {
  std::int64_t number = 0;
  std::size_t size = sizeof(number);
  if (sysctlbyname(name.c_str(), &number, &size, nullptr, 0) != 0 || number <= 0) return std::nullopt;
  return size == 4 ? number & 0xffffffff : number;
}

/// macOS does not number its cores, so they get consecutive numbers here, beginning with performance level 0, the
/// fastest.
topology read_topology_of_sysctl() {
  topology machine;
  machine.source = "sysctl";
  const std::int64_t levels = system_number("hw.nperflevels").value_or(1);
  int cpu = 0;
  int core = 0;
  for (std::int64_t level = 0; level < levels; ++level) {
    const std::string beginning = levels == 1 ? "hw." : "hw.perflevel" + std::to_string(level) + ".";
    const auto cores = system_number(beginning + "physicalcpu");
    const auto threads = system_number(beginning + "logicalcpu");
    if (!cores || !threads) return {};
    machine.kinds.push_back({levels == 1 ? "core" : level == 0 ? "performance" : "efficiency", {}, {}});
    std::vector<int> members;
    for (std::int64_t thread = 0; thread < *threads; ++thread) {
      const int on = core + static_cast<int>(thread * *cores / *threads);
      machine.threads.push_back({cpu, on, 0, 0, static_cast<int>(level)});
      members.push_back(cpu++);
    }
    core += static_cast<int>(*cores);
    if (const auto bytes = system_number(beginning + "l1dcachesize")) machine.caches.push_back({1, *bytes, members});
    if (const auto bytes = system_number(beginning + "l2cachesize")) machine.caches.push_back({2, *bytes, members});
    if (const auto bytes = system_number("hw.l3cachesize"); bytes && level == 0) {
      machine.caches.push_back({3, *bytes, members});
    }
  }
  return machine;
}
#endif

}  // namespace

topology read_topology_of_sysfs(const system_files& files) {
  topology machine;
  machine.source = "sysfs";
  auto online = parse_cpu_list(files.text(std::string(processors) + "online").value_or(""));
  std::map<int, int> node_of;
  for (const std::string& node : files.names_in("/sys/devices/system/node", "node")) {
    const auto number = parse_integer(std::string_view(node).substr(4));
    if (!number) continue;
    const std::string list = "/sys/devices/system/node/" + node + "/cpulist";
    for (const int cpu : parse_cpu_list(files.text(list).value_or(""))) node_of[cpu] = static_cast<int>(*number);
  }
  for (const int cpu : online) {
    const std::string folder = processor_folder(cpu) + "/topology/";
    hardware_thread thread;
    thread.cpu = cpu;
    auto siblings = parse_cpu_list(files.text(folder + "core_cpus_list").value_or(""));
    if (siblings.empty()) siblings = parse_cpu_list(files.text(folder + "thread_siblings_list").value_or(""));
    thread.core = siblings.empty() ? cpu : siblings.front();  // the system's own core numbers repeat between dies
    thread.package = static_cast<int>(files.integer(folder + "physical_package_id").value_or(0));
    if (const auto node = node_of.find(cpu); node != node_of.end()) thread.numa_node = node->second;
    machine.threads.push_back(thread);
  }
  read_kinds(files, machine);
  read_caches(files, machine);
  return machine;
}

void read_clocks(const system_files& files, topology& machine) {
  const auto keep_highest = [](std::optional<double>& highest, std::optional<std::int64_t> kilohertz) {
    if (!kilohertz || *kilohertz <= 0) return;
    const double megahertz = static_cast<double>(*kilohertz) / 1000;
    if (!highest || megahertz > *highest) highest = megahertz;
  };
  for (const hardware_thread& thread : machine.threads) {
    const std::string folder = processor_folder(thread.cpu) + "/cpufreq/";
    kind_of_core& kind = machine.kinds[static_cast<std::size_t>(thread.kind)];
    keep_highest(kind.clock_max_mhz, files.integer(folder + "cpuinfo_max_freq"));
    keep_highest(kind.clock_base_mhz, files.integer(folder + "base_frequency"));
  }
}

topology read_topology(const system_files& files) {
  topology machine;
#if defined(PRUMO_HAS_HWLOC)
  if (auto found = read_topology_of_hwloc()) machine = std::move(*found);
#endif
  if (machine.threads.empty()) machine = read_topology_of_sysfs(files);
#if defined(__APPLE__)
  // On older systems hwloc does not know the kinds of cores, but sysctl does.
  if (machine.threads.empty() || machine.kinds.size() < 2) {
    topology found = read_topology_of_sysctl();
    if (!found.threads.empty()) machine = std::move(found);
  }
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  if (machine.caches.empty()) {
    std::vector<int> all;
    all.reserve(machine.threads.size());
    for (const hardware_thread& thread : machine.threads) all.push_back(thread.cpu);
    const std::pair<int, int> levels[] = {{1, _SC_LEVEL1_DCACHE_SIZE},
                                          {2, _SC_LEVEL2_CACHE_SIZE},
                                          {3, _SC_LEVEL3_CACHE_SIZE},
                                          {4, _SC_LEVEL4_CACHE_SIZE}};
    for (const auto& [level, name] : levels) {
      if (const long bytes = sysconf(name); bytes > 0) machine.caches.push_back({level, bytes, all});
    }
  }
#endif
  if (!machine.kinds.empty()) read_clocks(files, machine);
  return machine;
}

int count_cores(const std::vector<hardware_thread>& threads) {
  return count_different(threads, [](const hardware_thread& thread) { return thread.core; });
}

int count_packages(const std::vector<hardware_thread>& threads) {
  return count_different(threads, [](const hardware_thread& thread) { return thread.package; });
}

int count_numa_nodes(const std::vector<hardware_thread>& threads) {
  return count_different(threads, [](const hardware_thread& thread) { return thread.numa_node; });
}

std::vector<hardware_thread> threads_among(const topology& machine, const std::vector<int>& cpus) {
  if (cpus.empty()) return machine.threads;
  std::vector<hardware_thread> result;
  for (const hardware_thread& thread : machine.threads) {
    if (std::find(cpus.begin(), cpus.end(), thread.cpu) != cpus.end()) result.push_back(thread);
  }
  return result;
}

std::optional<std::int64_t> cache_bytes(const topology& machine, int level,
                                        const std::vector<hardware_thread>& threads) {
  if (threads.empty()) return std::nullopt;
  for (const cache& candidate : machine.caches) {
    if (candidate.level != level) continue;
    if (std::find(candidate.cpus.begin(), candidate.cpus.end(), threads.front().cpu) != candidate.cpus.end()) {
      return candidate.bytes;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> last_level_cache_bytes(const topology& machine,
                                                   const std::vector<hardware_thread>& threads) {
  int last = 0;
  for (const cache& candidate : machine.caches) last = std::max(last, candidate.level);
  std::optional<std::int64_t> sum;
  for (const cache& candidate : machine.caches) {
    const bool reached = std::any_of(threads.begin(), threads.end(), [&](const hardware_thread& thread) {
      return std::find(candidate.cpus.begin(), candidate.cpus.end(), thread.cpu) != candidate.cpus.end();
    });
    if (candidate.level == last && reached) sum = sum.value_or(0) + candidate.bytes;
  }
  return sum;
}

}  // namespace prumo::machine::host
