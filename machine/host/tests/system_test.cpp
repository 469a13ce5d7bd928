// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read from files of the system, on made-up systems: notebooks, containers, hybrid processors,
// virtual machines.
#include "../host_facts.hpp"
#include "../system_state.hpp"
#include "made_up_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

namespace prumo::machine::host {
namespace {

TEST(system_files, lists_of_hardware_threads) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999999").empty());
  EXPECT_TRUE(parse_cpu_list("all").empty());
  EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({0, 2, 1}), "0,2,1");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(system_files, sizes_and_fields) {
  EXPECT_EQ(parse_size("48K\n"), 49152);
  EXPECT_EQ(parse_size("2M"), 2097152);
  EXPECT_EQ(parse_size("0K"), std::nullopt);
  EXPECT_EQ(parse_size("K"), std::nullopt);
  EXPECT_EQ(field_of("processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n", "model name"), "Some CPU @ 2.0GHz");
  EXPECT_EQ(field_of("model name\t: \n", "model name"), std::nullopt);
  EXPECT_EQ(memory_field("MemTotal:       24684092 kB\nMemAvailable:    1024 kB\n", "MemAvailable"), 1048576);
  EXPECT_EQ(memory_field("MemTotal:       24684092 kB\n", "MemAvailable"), std::nullopt);
}

TEST(system_state, nothing_is_known_of_an_empty_system) {
  const made_up_system system;
  const system_files files = system.files();
  EXPECT_EQ(cpu_quota(files), std::nullopt);
  EXPECT_EQ(power_source(files), std::nullopt);
  EXPECT_EQ(governor(files), std::nullopt);
  EXPECT_EQ(turbo(files), std::nullopt);
  EXPECT_EQ(power_limit_w(files), std::nullopt);
  EXPECT_EQ(transparent_huge_pages(files), std::nullopt);
  EXPECT_EQ(numa_balancing(files), std::nullopt);
  EXPECT_EQ(memory_available(files), std::nullopt);
  EXPECT_EQ(control_group_cpu_set(files), std::nullopt);
  EXPECT_TRUE(read_topology_of_sysfs(files).threads.empty());
}

TEST(system_state, notebook_on_its_battery) {
  const made_up_system notebook;
  const std::string supplies = "/sys/class/power_supply/";
  notebook.write(supplies + "AC/type", "Mains\n");
  notebook.write(supplies + "AC/online", "0\n");
  notebook.write(supplies + "BAT0/type", "Battery\n");
  notebook.write(supplies + "BAT0/status", "Discharging\n");
  EXPECT_EQ(power_source(notebook.files()), "battery");
  notebook.write(supplies + "AC/online", "1\n");
  notebook.write(supplies + "BAT0/status", "Not charging\n");
  EXPECT_EQ(power_source(notebook.files()), "mains");
}

TEST(system_state, a_mouse_does_not_feed_the_machine) {
  const made_up_system desktop;
  desktop.write("/sys/class/power_supply/hid/type", "Battery\n");
  desktop.write("/sys/class/power_supply/hid/scope", "Device\n");
  desktop.write("/sys/class/power_supply/hid/status", "Discharging\n");
  EXPECT_EQ(power_source(desktop.files()), std::nullopt);
}

TEST(system_state, governor_turbo_and_power_limit) {
  const made_up_system machine;
  machine.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
  machine.write("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
  machine.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  machine.write("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
  machine.write("/sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term\n");
  machine.write("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "28000000\n");
  machine.write("/sys/class/powercap/intel-rapl:0:0/name", "core\n");
  machine.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  machine.write("/proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(governor(machine.files()), "powersave");
  machine.write("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
  EXPECT_EQ(governor(machine.files()), "powersave,performance");
  EXPECT_EQ(turbo(machine.files()), false);
  EXPECT_EQ(power_limit_w(machine.files()), 28.0);
  EXPECT_EQ(transparent_huge_pages(machine.files()), "madvise");
  EXPECT_EQ(numa_balancing(machine.files()), true);
}

TEST(system_state, quota_of_control_groups_version_2) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);

  const made_up_system container;
  container.write("/proc/self/cgroup", "0::/outer/inner\n");
  container.write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  container.write("/sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  container.write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  container.write("/sys/fs/cgroup/outer/inner/memory.max", "1073741824\n");
  container.write("/sys/fs/cgroup/outer/inner/memory.current", "73741824\n");
  container.write("/sys/fs/cgroup/outer/inner/cpuset.cpus.effective", "2-3\n");
  container.write("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
  EXPECT_EQ(cpu_quota(container.files()), 2.0) << "the outer group's limit holds too";
  EXPECT_EQ(memory_available(container.files()), 1000000000);
  EXPECT_EQ(control_group_cpu_set(container.files()), "2-3");
}

TEST(system_state, quota_of_control_groups_version_1) {
  const made_up_system container;
  container.write("/proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n");
  // Inside the container the group is mounted as the root of its hierarchy.
  container.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  container.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  container.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cpu_quota(container.files()), 0.5);
  EXPECT_EQ(control_group_memory_available(container.files()), std::nullopt) << "version 1 spells no limit as 2^63";
  container.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpu_quota(container.files()), std::nullopt);
}

/// Numbers, lists and objects in short.
std::string text_of(const fact_value& fact) {
  const auto joined = [](const auto& members, const auto& text) {
    std::string all;
    for (const auto& it : members) all += (all.empty() ? "" : ",") + text(it);
    return all;
  };
  if (const auto* number = std::get_if<std::int64_t>(&fact.value)) return std::to_string(*number);
  if (const auto* list = std::get_if<fact_value::list>(&fact.value)) return '[' + joined(*list, text_of) + ']';
  const auto& object = std::get<fact_value::object>(fact.value);
  return '{' + joined(object, [](const auto& it) { return it.name + ':' + text_of(it.value); }) + '}';
}

void write_thread(const made_up_system& system, int cpu, const std::string& siblings, int package) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  system.write(folder + "/topology/core_cpus_list", siblings + "\n");
  system.write(folder + "/topology/physical_package_id", std::to_string(package) + "\n");
}

TEST(topology, hybrid_processor) {
  const made_up_system notebook;
  notebook.write("/sys/devices/system/cpu/online", "0-5\n");
  notebook.write("/sys/devices/cpu_core/cpus", "0-3\n");
  notebook.write("/sys/devices/cpu_atom/cpus", "4-5\n");
  for (const int cpu : {0, 1}) write_thread(notebook, cpu, "0-1", 0);
  for (const int cpu : {2, 3}) write_thread(notebook, cpu, "2-3", 0);
  for (const int cpu : {4, 5}) write_thread(notebook, cpu, std::to_string(cpu), 0);
  notebook.write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4600000\n");
  notebook.write("/sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "4800000\n");
  notebook.write("/sys/devices/system/cpu/cpu4/cpufreq/cpuinfo_max_freq", "3600000\n");
  topology machine = read_topology_of_sysfs(notebook.files());
  read_clocks(notebook.files(), machine);
  ASSERT_EQ(machine.kinds.size(), 2u);
  EXPECT_EQ(machine.kinds[0].name, "performance");
  EXPECT_EQ(machine.kinds[0].clock_max_mhz, 4800.0);
  EXPECT_EQ(machine.kinds[1].name, "efficiency");
  EXPECT_EQ(machine.kinds[1].clock_max_mhz, 3600.0);
  EXPECT_EQ(machine.kinds[1].clock_base_mhz, std::nullopt);
  EXPECT_EQ(count_cores(machine.threads), 4);

  host_observation seen;
  seen.backend = "openmp";
  seen.machine = machine;
  seen.allowed_cpus = {{0}, {2}, {4}};
  const device_facts facts = assemble_facts(seen, notebook.files());
  EXPECT_EQ(facts.cores, 4);
  EXPECT_EQ(facts.cores_usable, 3);
  EXPECT_EQ(facts.smt, 2);
  ASSERT_EQ(facts.core_kinds.size(), 2u);
  EXPECT_EQ(facts.core_kinds[0].cores, 2);
  EXPECT_EQ(facts.core_kinds[1].cores, 1);
  EXPECT_EQ(facts.affinity, "threads on 0,2,4");
  EXPECT_TRUE(facts.warnings.empty());
}

TEST(topology, capacities_of_arm_cores) {
  const made_up_system phone;
  phone.write("/sys/devices/system/cpu/online", "0-2\n");
  const char* capacities[] = {"400", "800", "1024"};
  for (int cpu = 0; cpu < 3; ++cpu) {
    phone.write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity", capacities[cpu]);
  }
  const topology machine = read_topology_of_sysfs(phone.files());
  ASSERT_EQ(machine.kinds.size(), 3u);
  EXPECT_EQ(machine.kinds[0].name, "performance");
  EXPECT_EQ(machine.kinds[1].name, "middle");
  EXPECT_EQ(machine.kinds[2].name, "efficiency");
  EXPECT_EQ(machine.threads[0].kind, 2);
}

TEST(topology, caches_and_memory_nodes_of_two_sockets) {
  const made_up_system server;
  server.write("/sys/devices/system/cpu/online", "0-3\n");
  server.write("/sys/devices/system/node/node0/cpulist", "0-1\n");
  server.write("/sys/devices/system/node/node1/cpulist", "2-3\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    write_thread(server, cpu, std::to_string(cpu), cpu / 2);
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    server.write(folder + "0/level", "1");
    server.write(folder + "0/type", "Data");
    server.write(folder + "0/size", "32K");
    server.write(folder + "0/shared_cpu_list", std::to_string(cpu));
    server.write(folder + "1/level", "1");
    server.write(folder + "1/type", "Instruction");
    server.write(folder + "1/size", "64K");
    server.write(folder + "3/level", "3");
    server.write(folder + "3/type", "Unified");
    server.write(folder + "3/size", "16M");
    server.write(folder + "3/shared_cpu_list", cpu < 2 ? "0-1" : "2-3");
  }
  const topology machine = read_topology_of_sysfs(server.files());
  EXPECT_EQ(count_packages(machine.threads), 2);
  EXPECT_EQ(count_numa_nodes(machine.threads), 2);
  EXPECT_EQ(cache_bytes(machine, 1, machine.threads), 32768);
  EXPECT_EQ(cache_bytes(machine, 2, machine.threads), std::nullopt);
  EXPECT_EQ(last_level_cache_bytes(machine, machine.threads), 32 << 20);
  EXPECT_EQ(last_level_cache_bytes(machine, threads_among(machine, {1})), 16 << 20);
  EXPECT_EQ(machine.kinds.size(), 1u);

  // The hardware threads that may be used, by memory node.
  host_observation seen;
  seen.machine = machine;
  seen.allowed_cpus = {{0, 2, 3}, {0, 2, 3}};
  const device_facts facts = assemble_facts(seen, server.files());
  const auto domains = std::ranges::find_if(facts.extras, [](const fact& it) { return it.name == "numa_domains"; });
  ASSERT_NE(domains, facts.extras.end());
  EXPECT_EQ(text_of(domains->value), "[{node:0,cores:[[0]]},{node:1,cores:[[2],[3]]}]");
}

TEST(facts, warnings_name_what_disturbs) {
  const made_up_system container;
  container.write("/proc/self/cgroup", "0::/\n");
  container.write("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
  container.write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  container.write("/sys/devices/system/cpu/online", "0-1\n");
  host_observation seen;
  seen.backend = "openmp";
  seen.machine = read_topology_of_sysfs(container.files());
  seen.allowed_cpus = {{0, 1}, {0, 1}, {0, 1}};
  const device_facts facts = assemble_facts(seen, container.files());
  EXPECT_EQ(facts.affinity, "unbound: any of 0-1");
  EXPECT_EQ(facts.cpu_quota, 1.0);
  ASSERT_EQ(facts.warnings.size(), 3u);
  EXPECT_NE(facts.warnings[0].find("OMP_PLACES=cores"), std::string::npos);
  EXPECT_NE(facts.warnings[1].find("3 threads share the hardware threads 0-1"), std::string::npos);
  EXPECT_NE(facts.warnings[2].find("control group"), std::string::npos);
}

}  // namespace
}  // namespace prumo::machine::host
