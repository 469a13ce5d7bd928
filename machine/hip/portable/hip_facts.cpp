// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hip_facts.hpp"

#include "hip_rates.hpp"

#include <cmath>

namespace prumo::machine::hip {

namespace {

std::optional<std::string> text_or_unknown(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// Whether a feature of a target like `gfx90a:sramecc+:xnack-` is on; none if the target does not name it.
std::optional<bool> feature(const std::string& target, const std::string& name) {
  const std::size_t at = target.find(":" + name);
  if (at == std::string::npos || at + 1 + name.size() >= target.size()) return std::nullopt;
  return target[at + 1 + name.size()] == '+';
}

std::string watts(double value) { return std::to_string(std::lround(value)) + " W"; }

void add_warnings(const hip_observation& seen, device_facts& facts) {
  if (!seen.smi_problem.empty()) {
    facts.warnings.push_back("power, temperature and energy of the GPU are not known: " + seen.smi_problem);
  }
  // Opening a GPU takes less.
  constexpr double noticed_utilization = 10;
  if (const double busy = seen.smi.utilization_percent.value_or(0); busy >= noticed_utilization) {
    facts.warnings.push_back("the GPU was computing for " + std::to_string(std::lround(busy)) +
                             " % of the last moment: another program uses it");
  }
  if (seen.smi.power_limit_w && seen.smi.power_limit_default_w &&
      *seen.smi.power_limit_w < 0.99 * *seen.smi.power_limit_default_w) {
    facts.warnings.push_back("the power limit is " + watts(*seen.smi.power_limit_w) + ", below the default of " +
                             watts(*seen.smi.power_limit_default_w));
  }
}

}  // namespace

std::string version_text(int number) {
  return std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100) + "." +
         std::to_string(number % 100000);
}

device_facts assemble_facts(const hip_observation& seen) {
  const runtime_facts& runtime = seen.runtime;
  device_facts facts;
  facts.backend = "hip";
  facts.id = "hip:" + std::to_string(runtime.ordinal);
  facts.name = runtime.name;
  facts.vendor = "AMD";
  const std::string architecture = architecture_name(runtime.target);
  facts.architecture = text_or_unknown(architecture);
  facts.cores = compute_units(architecture, runtime.multiprocessors, runtime.physical_multiprocessors);
  facts.clock_max_mhz = runtime.clock_max_mhz;
  facts.cache_l2_bytes = runtime.l2_bytes;
  facts.cache_llc_bytes = runtime.l2_bytes;
  facts.memory_bytes = runtime.memory_bytes;
  facts.memory_available_bytes = runtime.memory_available_bytes;
  facts.power_limit_w = seen.smi.power_limit_w;
  facts.extras = {
      {"uuid", text_or_unknown(runtime.uuid)},
      {"pci_bus_id", text_or_unknown(runtime.pci_bus_id)},
      {"target", text_or_unknown(runtime.target)},
      {"multiprocessors", runtime.multiprocessors},
      {"wavefront", runtime.wavefront},
      {"clock_now_mhz", seen.smi.clock_mhz},
      {"memory_clock_max_mhz", runtime.memory_clock_max_mhz},
      {"memory_clock_now_mhz", seen.smi.memory_clock_mhz},
      {"memory_bus_bits", runtime.memory_bus_bits},
      {"shared_memory_bytes", runtime.shared_memory_bytes},
      {"shared_memory_block_bytes", runtime.shared_memory_block_bytes},
      {"threads_per_multiprocessor", runtime.threads},
      {"ecc", runtime.ecc ? runtime.ecc : feature(runtime.target, "sramecc")},
      {"xnack", feature(runtime.target, "xnack")},
      {"integrated", runtime.integrated},
      {"power_limit_default_w", seen.smi.power_limit_default_w},
      {"temperature_c", seen.smi.temperature_c},
      {"utilization_percent", seen.smi.utilization_percent},
      {"memory_used_bytes", seen.smi.memory_used_bytes},
      {"driver_version", seen.smi.driver_version},
      {"runtime_hip_version", runtime.runtime ? std::optional(version_text(*runtime.runtime)) : std::nullopt}};
  add_warnings(seen, facts);
  return facts;
}

}  // namespace prumo::machine::hip
