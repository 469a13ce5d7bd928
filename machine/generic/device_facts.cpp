// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/machine/device_facts.hpp>

#include <utility>

namespace prumo::machine {

fact_value::fact_value(bool known) : value(known) {}
fact_value::fact_value(int known) : value(static_cast<std::int64_t>(known)) {}
fact_value::fact_value(std::int64_t known) : value(known) {}
fact_value::fact_value(double known) : value(known) {}
fact_value::fact_value(std::string known) : value(std::move(known)) {}
fact_value::fact_value(const char* known) : value(std::string(known)) {}
fact_value::fact_value(list known) : value(std::move(known)) {}
fact_value::fact_value(object known) : value(std::move(known)) {}
fact_value::fact_value(const std::vector<std::string>& known) : value(list(known.begin(), known.end())) {}

namespace {

fact_value::object members_of(const core_kind& kind) {
  return {{"name", kind.name},
          {"cores", kind.cores},
          {"threads", kind.threads},
          {"clock_base_mhz", kind.clock_base_mhz},
          {"clock_max_mhz", kind.clock_max_mhz},
          {"clock_measured_mhz", kind.clock_measured_mhz},
          {"clock_vector_mhz", kind.clock_vector_mhz},
          {"vector_bits", kind.vector_bits},
          {"fma_pipes", kind.fma_pipes},
          {"fma_pipes_source", kind.fma_pipes_source.empty() ? fact_value{} : fact_value{kind.fma_pipes_source}}};
}

}  // namespace

std::vector<fact> flattened(const device_facts& facts) {
  fact_value kinds;
  if (!facts.core_kinds.empty()) {
    fact_value::list members;
    for (const core_kind& kind : facts.core_kinds) members.emplace_back(members_of(kind));
    kinds = std::move(members);
  }
  std::vector<fact> result = {
      {"vendor", facts.vendor},
      {"architecture", facts.architecture},
      {"sockets", facts.sockets},
      {"cores", facts.cores},
      {"cores_usable", facts.cores_usable},
      {"hardware_threads", facts.hardware_threads},
      {"smt", facts.smt},
      {"numa_nodes", facts.numa_nodes},
      {"core_kinds", std::move(kinds)},
      {"vector_bits", facts.vector_bits},
      {"instruction_sets", facts.instruction_sets},
      {"compiled_instruction_set", facts.compiled_instruction_set},
      {"clock_base_mhz", facts.clock_base_mhz},
      {"clock_max_mhz", facts.clock_max_mhz},
      {"clock_measured_mhz", facts.clock_measured_mhz},
      {"clock_vector_mhz", facts.clock_vector_mhz},
      {"cache_l1d_bytes", facts.cache_l1d_bytes},
      {"cache_l2_bytes", facts.cache_l2_bytes},
      {"cache_llc_bytes", facts.cache_llc_bytes},
      {"memory_bytes", facts.memory_bytes},
      {"memory_available_bytes", facts.memory_available_bytes},
      {"affinity", facts.affinity},
      {"cpu_quota", facts.cpu_quota},
      {"cpu_set", facts.cpu_set},
      {"virtual_machine", facts.virtual_machine},
      {"power_source", facts.power_source},
      {"governor", facts.governor},
      {"turbo", facts.turbo},
      {"power_limit_w", facts.power_limit_w},
      {"huge_pages", facts.huge_pages},
      {"numa_balancing", facts.numa_balancing},
  };
  result.insert(result.end(), facts.extras.begin(), facts.extras.end());
  if (!facts.warnings.empty()) result.push_back({"warnings", facts.warnings});
  return result;
}

std::string_view peak_unit_name(peak_unit unit) {
  switch (unit) {
    case peak_unit::vector: return "vector";
    case peak_unit::tensor: return "tensor";
    case peak_unit::memory: return "memory";
  }
  return "?";
}

std::string_view peak_clock_name(peak_clock clock) {
  switch (clock) {
    case peak_clock::max: return "max";
    case peak_clock::measured: return "measured";
  }
  return "?";
}

}  // namespace prumo::machine
