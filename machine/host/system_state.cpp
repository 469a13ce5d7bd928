// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "system_state.hpp"

#include <algorithm>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace prumo::machine::host {

namespace {

constexpr const char* processors = "/sys/devices/system/cpu/";

/// The folders of a group and of the groups above it, the innermost first. Each path begins with the mount point of the
/// hierarchy. In a container the path may name folders that only the host sees; these are left out.
std::vector<std::string> folders_upwards(const std::string& mount, std::string_view path) {
  std::vector<std::string> folders;
  while (path.size() > 1 && path.front() == '/') {
    folders.push_back(mount + std::string(path));
    path = path.substr(0, path.find_last_of('/'));
  }
  folders.push_back(mount);
  return folders;
}

/// The folders where a controller may be: first those of version 2, then those of version 1.
struct control_groups {
  std::vector<std::string> unified;
  std::vector<std::string> legacy;
};

control_groups groups_of(const system_files& files, const std::string& controller) {
  control_groups result;
  const auto membership = files.text("/proc/self/cgroup");
  if (!membership) return result;
  if (const auto path = control_group_path(*membership, "")) {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (files.exists(std::string(mount) + "/cgroup.controllers")) result.unified = folders_upwards(mount, *path);
    }
  }
  if (const auto path = control_group_path(*membership, controller)) {
    for (const std::string& mount : {controller, controller + ",cpuacct", "cpuacct," + controller}) {
      if (files.exists("/sys/fs/cgroup/" + mount)) result.legacy = folders_upwards("/sys/fs/cgroup/" + mount, *path);
    }
  }
  return result;
}

template <class Value>
void keep_least(std::optional<Value>& least, std::optional<Value> candidate) {
  if (candidate && (!least || *candidate < *least)) least = candidate;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::string_view line = trimmed(text);
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto quota = parse_integer(line.substr(0, blank));
  const auto period = parse_integer(line.substr(blank));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::string> control_group_path(std::string_view proc_self_cgroup, std::string_view controller) {
  for (const std::string_view line : lines_of(proc_self_cgroup)) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = trimmed(line.substr(second + 1));
    if (controller.empty()) {
      if (controllers.empty() && line.substr(0, first) == "0") return std::string(path);
      continue;
    }
    while (!controllers.empty()) {
      const std::size_t comma = std::min(controllers.find(','), controllers.size());
      if (controllers.substr(0, comma) == controller) return std::string(path);
      controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
  }
  return std::nullopt;
}

std::optional<double> cpu_quota(const system_files& files) {
  const control_groups groups = groups_of(files, "cpu");
  std::optional<double> least;
  for (const std::string& folder : groups.unified) {
    if (const auto limit = files.text(folder + "/cpu.max")) keep_least(least, parse_cpu_max(*limit));
  }
  for (const std::string& folder : groups.legacy) {
    const auto quota = files.integer(folder + "/cpu.cfs_quota_us");
    const auto period = files.integer(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {  // a quota of -1 means none
      keep_least(least, std::optional(static_cast<double>(*quota) / static_cast<double>(*period)));
    }
  }
  return least;
}

std::optional<std::int64_t> control_group_memory_available(const system_files& files) {
  // In version 1 "no limit" is the largest multiple of a page. No machine has 2^60 bytes.
  constexpr std::int64_t unlimited = std::int64_t{1} << 60;
  const control_groups groups = groups_of(files, "memory");
  std::optional<std::int64_t> least;
  const auto judge = [&](const std::string& limit_file, const std::string& usage_file) {
    const auto limit = files.integer(limit_file);
    if (!limit || *limit >= unlimited) return;
    keep_least(least, std::optional(std::max<std::int64_t>(0, *limit - files.integer(usage_file).value_or(0))));
  };
  for (const std::string& folder : groups.unified) judge(folder + "/memory.max", folder + "/memory.current");
  for (const std::string& folder : groups.legacy) {
    judge(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
  }
  return least;
}

std::optional<std::string> control_group_cpu_set(const system_files& files) {
  const control_groups groups = groups_of(files, "cpuset");
  for (const std::string& folder : groups.unified) {
    if (const auto cpus = files.word(folder + "/cpuset.cpus.effective")) return cpus;
  }
  for (const std::string& folder : groups.legacy) {
    for (const char* name : {"/cpuset.effective_cpus", "/cpuset.cpus"}) {
      if (const auto cpus = files.word(folder + name)) return cpus;
    }
  }
  return std::nullopt;
}

std::optional<std::string> power_source(const system_files& files) {
  const std::string folder = "/sys/class/power_supply/";
  bool battery = false;
  bool discharging = false;
  bool charging_or_full = false;
  bool mains = false;
  for (const std::string& name : files.names_in(folder)) {
    const std::string supply = folder + name;
    // Mice and headsets report batteries, too, but these do not feed the machine.
    if (files.word(supply + "/scope") == "Device") continue;
    const auto type = files.word(supply + "/type");
    if (type == "Battery") {
      battery = true;
      const auto status = files.word(supply + "/status");
      discharging |= status == "Discharging";
      charging_or_full |= status == "Charging" || status == "Full" || status == "Not charging";
    } else if (type) {  // Mains, USB, Wireless
      mains |= files.integer(supply + "/online").value_or(0) != 0;
    }
  }
  if (mains) return "mains";
  if (discharging) return "battery";
  if (battery && charging_or_full) return "mains";
  return std::nullopt;
}

std::optional<std::string> governor(const system_files& files) {
  std::vector<std::string> governors;
  for (const std::string& policy : files.names_in(std::string(processors) + "cpufreq", "policy")) {
    const auto name = files.word(std::string(processors) + "cpufreq/" + policy + "/scaling_governor");
    if (name && std::find(governors.begin(), governors.end(), *name) == governors.end()) governors.push_back(*name);
  }
  if (governors.empty()) return files.word(std::string(processors) + "cpu0/cpufreq/scaling_governor");
  std::string joined;
  for (const std::string& name : governors) joined += (joined.empty() ? "" : ",") + name;
  return joined;
}

std::optional<bool> turbo(const system_files& files) {
  if (const auto off = files.integer(std::string(processors) + "intel_pstate/no_turbo")) return *off == 0;
  if (const auto on = files.integer(std::string(processors) + "cpufreq/boost")) return *on != 0;
  return std::nullopt;
}

std::optional<double> power_limit_w(const system_files& files) {
  const std::string folder = "/sys/class/powercap/";
  std::optional<double> sum;
  for (const std::string& zone : files.names_in(folder, "intel-rapl:")) {
    const auto name = files.word(folder + zone + "/name");
    if (!name || !name->starts_with("package")) continue;  // core, dram: parts of a package; psys: the whole machine
    for (const char* constraint : {"0", "1", "2"}) {
      const std::string beginning = folder + zone + "/constraint_" + constraint;
      if (files.word(beginning + "_name") != "long_term") continue;
      const auto microwatts = files.integer(beginning + "_power_limit_uw");
      if (microwatts && *microwatts > 0) sum = sum.value_or(0) + static_cast<double>(*microwatts) * 1e-6;
    }
  }
  return sum;
}

std::optional<std::string> transparent_huge_pages(const system_files& files) {
  const auto choices = files.text("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!choices) return std::nullopt;
  const std::size_t open = choices->find('[');
  const std::size_t close = choices->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return choices->substr(open + 1, close - open - 1);
}

std::optional<bool> numa_balancing(const system_files& files) {
  const auto mode = files.integer("/proc/sys/kernel/numa_balancing");
  return mode ? std::optional(*mode != 0) : std::nullopt;
}

std::optional<std::int64_t> memory_field(std::string_view proc_meminfo, std::string_view name) {
  const auto field = field_of(proc_meminfo, name);
  if (!field || !field->ends_with("kB")) return std::nullopt;
  const auto kibibytes = parse_integer(std::string_view(*field).substr(0, field->size() - 2));
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

std::optional<std::int64_t> memory_total(const system_files& files) {
  if (const auto table = files.text("/proc/meminfo")) return memory_field(*table, "MemTotal");
#if defined(__APPLE__)
  std::int64_t bytes = 0;
  std::size_t size = sizeof(bytes);
  if (sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 && bytes > 0) return bytes;
#elif defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return std::int64_t{pages} * page;
#endif
  return std::nullopt;
}

std::optional<std::int64_t> memory_available(const system_files& files) {
  std::optional<std::int64_t> least = control_group_memory_available(files);
  if (const auto table = files.text("/proc/meminfo")) keep_least(least, memory_field(*table, "MemAvailable"));
  return least;
}

}  // namespace prumo::machine::host
