// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_facts.hpp"

#include "system_state.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#define PRUMO_TEXT_OF(name) #name
#define PRUMO_TEXT(name) PRUMO_TEXT_OF(name)

namespace prumo::machine::host {

namespace {

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

int kind_of_cpu(const topology& machine, int cpu) {
  for (const hardware_thread& thread : machine.threads) {
    if (thread.cpu == cpu) return thread.kind;
  }
  return 0;
}

std::string vectors_in_words(double pipes, int bits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%g x %d bits", pipes, bits);
  return text;
}

void set_pipes(core_kind& kind, const std::optional<fma_measurement>& measured, const std::optional<fma_units>& known) {
  if (measured) {
    kind.fma_pipes = measured->pipes;
    kind.vector_bits = measured->bits;
    kind.fma_pipes_source = "measured " + two_digits(measured->rate) + " a cycle";
    if (known) {
      const bool agrees = known->pipes * known->bits == measured->pipes * measured->bits;
      kind.fma_pipes_source +=
          agrees ? ", as " + known->source + " has"
                 : ", though " + known->source + " has " + vectors_in_words(known->pipes, known->bits);
    }
  } else if (known) {
    kind.fma_pipes = known->pipes;
    kind.vector_bits = known->bits;
    kind.fma_pipes_source = known->source + " has " + vectors_in_words(known->pipes, known->bits);
  } else {
    kind.fma_pipes_source = "not in the table of microarchitectures, and no measurement gave a whole number of pipes";
  }
}

std::vector<core_kind> usable_kinds(const host_observation& seen, const std::vector<hardware_thread>& usable) {
  std::vector<core_kind> kinds;
  // The table knows only the processor that CPUID or /proc/cpuinfo names first. It says nothing about the other kinds
  // of cores of a hybrid processor.
  const auto known = seen.machine.kinds.size() == 1 ? known_fma_units(seen.subject) : std::nullopt;
  for (std::size_t which = 0; which < seen.machine.kinds.size(); ++which) {
    std::vector<hardware_thread> members;
    for (const hardware_thread& thread : usable) {
      if (thread.kind == static_cast<int>(which)) members.push_back(thread);
    }
    if (members.empty()) continue;
    core_kind kind;
    kind.name = seen.machine.kinds[which].name;
    kind.cores = count_cores(members);
    kind.threads = static_cast<int>(members.size());
    kind.clock_base_mhz = seen.machine.kinds[which].clock_base_mhz;
    kind.clock_max_mhz = seen.machine.kinds[which].clock_max_mhz;
    if (seen.machine.kinds.size() == 1) {
      if (!kind.clock_base_mhz) kind.clock_base_mhz = seen.subject.clock_base_mhz;
      if (!kind.clock_max_mhz) kind.clock_max_mhz = seen.subject.clock_max_mhz;
    }
    set_pipes(kind, which < seen.fma_units.size() ? seen.fma_units[which] : std::nullopt, known);
    std::vector<double> light;
    std::vector<double> under_load;
    for (const clock_reading& reading : seen.readings) {
      if (reading.cpu >= 0 && kind_of_cpu(seen.machine, reading.cpu) != static_cast<int>(which)) continue;
      if (reading.light_mhz) light.push_back(*reading.light_mhz);
      if (reading.under_load) under_load.push_back(reading.under_load->mhz);
    }
    kind.clock_measured_mhz = median_of(std::move(light));
    kind.clock_vector_mhz = median_of(std::move(under_load));
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

/// The usable hardware threads by memory node and core, the fastest cores of a node first. The places for any number of
/// threads are chosen from these.
fact_value::list describe_numa_domains(std::vector<hardware_thread> usable) {
  std::sort(usable.begin(), usable.end(), [](const hardware_thread& a, const hardware_thread& b) {
    return std::tie(a.numa_node, a.kind, a.core, a.cpu) < std::tie(b.numa_node, b.kind, b.core, b.cpu);
  });
  fact_value::list domains;
  for (std::size_t first = 0; first < usable.size();) {
    const int node = usable[first].numa_node;
    fact_value::list cores;
    while (first < usable.size() && usable[first].numa_node == node) {
      const int core = usable[first].core;
      fact_value::list threads;
      for (; first < usable.size() && usable[first].numa_node == node && usable[first].core == core; ++first) {
        threads.push_back(usable[first].cpu);
      }
      cores.push_back(std::move(threads));
    }
    domains.push_back(fact_value::object{{"node", node}, {"cores", std::move(cores)}});
  }
  return domains;
}

void add_warnings(const host_observation& seen, const system_files& files, device_facts& facts) {
  auto& warnings = facts.warnings;
  // A thread may move between the hardware threads of one core, because it keeps its caches there.
  const auto unbound = [&](const std::vector<int>& cpus) {
    return cpus.size() > 1 && count_cores(threads_among(seen.machine, cpus)) > 1;
  };
  if (facts.threads > 1 && std::any_of(seen.allowed_cpus.begin(), seen.allowed_cpus.end(), unbound)) {
    warnings.push_back("threads are not bound to cores: set OMP_PROC_BIND=close and OMP_PLACES=cores");
  }
  if (facts.cpu_set && facts.threads > static_cast<int>(union_of(seen.allowed_cpus).size())) {
    warnings.push_back(std::to_string(facts.threads) + " threads share the hardware threads " + *facts.cpu_set);
  }
  const auto has = [&](std::string_view set) { return has_instruction_set(seen.subject.instruction_sets, set); };
  const std::string compiled = facts.compiled_instruction_set.value_or("");
  if ((has("avx512f") && compiled != "avx512") || (has("avx2") && compiled != "avx2" && compiled != "avx512")) {
    warnings.push_back("prumo's kernels were compiled for " + compiled +
                       " and leave part of the vector units idle: configure with -DPRUMO_NATIVE=ON");
  }
  if (facts.cpu_quota && *facts.cpu_quota < facts.threads) {
    warnings.push_back("the control group allows " + std::to_string(facts.threads) + " threads the time of " +
                       two_digits(*facts.cpu_quota) + " cores: they will be stopped now and then");
  }
  if (facts.power_source == "battery") warnings.push_back("the machine runs on its battery");
  const std::string driver = files.word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver").value_or("");
  // With these two drivers the processor chooses its clock itself, and "powersave" is the usual governor.
  if (facts.governor == "powersave" && driver != "intel_pstate" && driver != "amd-pstate-epp") {
    warnings.push_back("the governor is powersave: clocks stay low");
  }
  for (const core_kind& kind : facts.core_kinds) {
    if (kind.clock_max_mhz && kind.clock_measured_mhz && *kind.clock_measured_mhz > 1.02 * *kind.clock_max_mhz) {
      warnings.push_back(
          "the measured clock is above the maximum that the system reports: shares of the peak at the "
          "maximum clock are too high");
    }
  }
  if (facts.numa_balancing.value_or(false) && facts.numa_nodes.value_or(1) > 1) {
    warnings.push_back("NUMA balancing is on: pages move between memory nodes during measurements");
  }
  if (seen.fma_units.size() == 1 && seen.fma_units[0] && facts.cores_usable && facts.threads <= *facts.cores_usable) {
    std::vector<double> rates;
    for (const clock_reading& reading : seen.readings) {
      if (reading.under_load) rates.push_back(reading.under_load->fma_rate);
    }
    if (const auto rate = median_of(rates); rate && *rate < 0.8 * seen.fma_units[0]->pipes) {
      warnings.push_back("with all threads at work, a core does " + two_digits(*rate) + " instead of " +
                         two_digits(seen.fma_units[0]->rate) +
                         " vector operations a cycle: cores are shared, or the machine is busy");
    }
  }
}

}  // namespace

std::vector<int> union_of(const std::vector<std::vector<int>>& allowed_cpus) {
  std::set<int> all;
  for (const auto& cpus : allowed_cpus) all.insert(cpus.begin(), cpus.end());
  return {all.begin(), all.end()};
}

std::string describe_affinity(const std::vector<std::vector<int>>& allowed_cpus) {
  const std::string all = format_cpu_list(union_of(allowed_cpus));
  if (std::all_of(allowed_cpus.begin(), allowed_cpus.end(), [](const auto& cpus) { return cpus.size() == 1; })) {
    std::vector<int> in_order;
    in_order.reserve(allowed_cpus.size());
    for (const auto& cpus : allowed_cpus) in_order.push_back(cpus.front());
    return "threads on " + format_cpu_list(in_order);
  }
  if (std::all_of(allowed_cpus.begin(), allowed_cpus.end(),
                  [&](const auto& cpus) { return cpus == allowed_cpus.front(); })) {
    return "unbound: any of " + all;
  }
  std::string text = "threads on";
  for (const auto& cpus : allowed_cpus) text += " {" + format_cpu_list(cpus) + "}";
  return text;
}

device_facts assemble_facts(const host_observation& seen, const system_files& files) {
  device_facts facts;
  facts.backend = std::string(seen.backend);
  facts.id = facts.backend + ":0";
  facts.name = seen.subject.name.value_or(seen.subject.architecture.value_or("unknown") + " processor");
  facts.threads = static_cast<int>(seen.allowed_cpus.size());
  facts.vendor = seen.subject.vendor;
  facts.architecture = seen.subject.architecture;

  const std::vector<int> cpus = union_of(seen.allowed_cpus);
  const auto usable = threads_among(seen.machine, cpus);
  if (!seen.machine.threads.empty()) {
    facts.sockets = count_packages(seen.machine.threads);
    facts.cores = count_cores(seen.machine.threads);
    facts.hardware_threads = static_cast<int>(seen.machine.threads.size());
    facts.smt = (*facts.hardware_threads + *facts.cores - 1) / *facts.cores;
    facts.numa_nodes = count_numa_nodes(seen.machine.threads);
    facts.core_kinds = usable_kinds(seen, usable);
    facts.cores_usable = count_cores(usable);
  } else if (const unsigned threads = std::thread::hardware_concurrency(); threads > 0) {
    facts.hardware_threads = static_cast<int>(threads);
  }
  facts.vector_bits = seen.subject.vector_bits;
  if (!seen.subject.instruction_sets.empty()) facts.instruction_sets = seen.subject.instruction_sets;
  facts.compiled_instruction_set = PRUMO_TEXT(PRUMO_INSTRUCTION_SET);
  if (!facts.core_kinds.empty()) {
    const core_kind& fastest = facts.core_kinds.front();
    facts.clock_base_mhz = fastest.clock_base_mhz;
    facts.clock_max_mhz = fastest.clock_max_mhz;
    facts.clock_measured_mhz = fastest.clock_measured_mhz;
    facts.clock_vector_mhz = fastest.clock_vector_mhz;
  }

  facts.cache_l1d_bytes = cache_bytes(seen.machine, 1, usable);
  facts.cache_l2_bytes = cache_bytes(seen.machine, 2, usable);
  facts.cache_llc_bytes = last_level_cache_bytes(seen.machine, usable);
  facts.memory_bytes = memory_total(files);
  facts.memory_available_bytes = memory_available(files);

  if (!cpus.empty()) {
    facts.affinity = describe_affinity(seen.allowed_cpus);
    facts.cpu_set = format_cpu_list(cpus);
  }
  facts.cpu_quota = cpu_quota(files);
  facts.virtual_machine = seen.subject.virtual_machine;
  facts.power_source = power_source(files);
  facts.governor = governor(files);
  facts.turbo = turbo(files);
  facts.power_limit_w = power_limit_w(files);
  facts.huge_pages = transparent_huge_pages(files);
  facts.numa_balancing = numa_balancing(files);

  const auto text_or_unknown = [](const std::string& text) {
    return text.empty() ? std::optional<std::string>() : std::optional(text);
  };
  facts.extras = {{"omp_proc_bind", text_or_unknown(seen.proc_bind)},
                  {"omp_places", text_or_unknown(seen.places)},
                  {"control_group_cpu_set", control_group_cpu_set(files)},
                  {"topology_source", text_or_unknown(seen.machine.source)}};
  // Threads can only be placed if the system says where they may run.
  if (!cpus.empty() && !usable.empty()) facts.extras.push_back({"numa_domains", describe_numa_domains(usable)});
  // In a virtual machine on x86 this is the rate of the time stamp counter and not the clock. It is a check on the
  // measured clock.
  if (const auto reported = field_of(files.text("/proc/cpuinfo").value_or(""), "cpu MHz")) {
    facts.extras.push_back({"clock_reported_mhz", std::strtod(reported->c_str(), nullptr)});
  }
  std::vector<double> rates;
  for (const clock_reading& reading : seen.readings) {
    if (reading.under_load) rates.push_back(reading.under_load->fma_rate);
  }
  facts.extras.push_back({"fma_rate_all_threads", median_of(std::move(rates))});
  add_warnings(seen, files, facts);
  return facts;
}

}  // namespace prumo::machine::host
