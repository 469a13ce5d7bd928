// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/host_load.hpp"

#include "results/result_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

namespace prumo::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<int> usable_processors() {
  std::vector<int> usable;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) usable.push_back(cpu);
    }
  }
#endif
  return usable;
}

/// Seconds that this process and its children that have ended spent on a processor.
double own_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage used{};
    if (::getrusage(who, &used) != 0) continue;
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      sum += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return sum;
}

double ticks_per_second() { return static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK))); }

/// Adds up the lines of /proc/stat for single processors: `cpu3 user nice system idle iowait irq softirq steal ...`, in
/// ticks. Guests of this machine are part of user and nice.
void read_processors(const fs::path& file, const std::vector<int>& wanted, load_reading& reading) {
  std::ifstream stream(file);
  const double per_second = ticks_per_second();
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("cpu")) break;
    int number = -1;
    const auto end = std::from_chars(line.data() + 3, line.data() + line.size(), number);
    if (end.ec != std::errc() || number < 0) continue;  // the line of all processors together
    if (!wanted.empty() && std::ranges::find(wanted, number) == wanted.end()) continue;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    std::istringstream columns(std::string(end.ptr));
    if (!(columns >> user >> nice >> system >> idle)) continue;
    columns >> waiting >> interrupts >> soft_interrupts >> stolen;  // older kernels lack some of them
    reading.busy = reading.busy.value_or(0) + (user + nice + system + interrupts + soft_interrupts) / per_second;
    reading.stolen = reading.stolen.value_or(0) + stolen / per_second;
    ++reading.processors;
  }
}

/// `cpu.stat` of this process' control group, version 2. In a container the path may be one that only the host sees.
void read_group(const fs::path& root, load_reading& reading) {
  std::ifstream membership(root / "proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(membership, line);) {
    if (line.starts_with("0::/")) path = line.substr(4);
  }
  const fs::path mount = root / "sys/fs/cgroup";
  std::error_code ignored;
  const fs::path own = mount / path / "cpu.stat";
  std::ifstream stream(fs::exists(own, ignored) ? own : mount / "cpu.stat");
  std::string name;
  for (double microseconds = 0; stream >> name >> microseconds;) {
    if (name == "usage_usec") reading.group = 1e-6 * microseconds;
    if (name == "throttled_usec") reading.stopped = 1e-6 * microseconds;
  }
}

/// A share of the time between two readings, without what prumo itself used.
json used(const std::optional<double>& earlier, const std::optional<double>& later, double own, double seconds) {
  if (!earlier || !later) return {};
  return std::max(0.0, *later - *earlier - own) / seconds;
}

}  // namespace

load_reading read_load(const fs::path& root, std::vector<int> processors) {
  if (processors.empty()) processors = usable_processors();
  load_reading reading;
  reading.own = own_seconds();
  read_processors(root / "proc/stat", processors, reading);
  read_group(root, reading);
  reading.when = std::chrono::steady_clock::now();
  return reading;
}

double processor_seconds(int process, const fs::path& root) {
  std::ifstream stream(root / "proc" / std::to_string(process) / "stat");
  std::string line;
  std::getline(stream, line);
  // `17 (a name) S 1 ...`: the name may hold anything. After it come the state and ten numbers of no interest here.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream columns(line.substr(name_end + 1));
  std::string skipped;
  for (int column = 0; column < 11; ++column) columns >> skipped;
  double user = 0, system = 0, user_of_children = 0, system_of_children = 0;
  columns >> user >> system >> user_of_children >> system_of_children;
  if (!columns) return 0;
  return (user + system + user_of_children + system_of_children) / ticks_per_second();
}

json load_between(const load_reading& earlier, const load_reading& later, const fs::path& root) {
  const double seconds = std::chrono::duration<double>(later.when - earlier.when).count();
  if (!earlier.busy || !later.busy || seconds <= 0) return {};
  const double own = later.own - earlier.own;
  json load = {{"seconds", seconds},
               {"processors", later.processors},
               {"used_by_others", used(earlier.busy, later.busy, own, seconds)},
               {"used_in_group", used(earlier.group, later.group, own, seconds)},
               {"stolen", used(earlier.stolen, later.stolen, 0, seconds)},
               {"stopped_s", used(earlier.stopped, later.stopped, 0, 1)},
               {"load_average", nullptr}};
  std::ifstream stream(root / "proc/loadavg");
  if (double average = 0; stream >> average) load["load_average"] = average;
  return load;
}

std::string describe_load(const json& host) {
  const auto processors = number_of(field(host, "/processors"));
  if (!processors) return {};
  // The ticks of the counters are some percent of a processor in a short look, and daemons never rest quite.
  const double noticed = std::max(0.15, 0.03 * *processors);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", and ") + part; };
  if (const double others = number_of(field(host, "/used_by_others")).value_or(0); others > noticed) {
    const auto in_group = number_of(field(host, "/used_in_group"));
    std::string where;
    if (in_group && *in_group > noticed) where = fmt::format(" ({:.1f} in prumo's own control group)", *in_group);
    if (in_group && *in_group <= noticed) where = " (none in prumo's own control group)";
    add(fmt::format("other programs use {:.1f} of {:.0f} processors{}", others, *processors, where));
  }
  if (const double stolen = number_of(field(host, "/stolen")).value_or(0); stolen > noticed) {
    add(fmt::format("the hypervisor gives {:.1f} of {:.0f} processors to other machines", stolen, *processors));
  }
  const double stopped = number_of(field(host, "/stopped_s")).value_or(0);
  const double seconds = number_of(field(host, "/seconds")).value_or(0);
  if (stopped > 0.01 * seconds) {
    add(fmt::format("the quota of the control group stopped its programs for {:.1f} s", stopped));
  }
  return text;
}

}  // namespace prumo::bench
