// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_facts.hpp"

#include <algorithm>
#include <cstdio>

namespace prumo::machine::cuda {

namespace {

template <class T>
std::optional<T> first_known(const std::optional<T>& first, const std::optional<T>& second) {
  return first ? first : second;
}

std::optional<std::string> text_or_unknown(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> version_or_unknown(const std::optional<int>& number) {
  return number ? std::optional(version_text(*number)) : std::nullopt;
}

std::optional<std::string> compute_mode_name(const std::optional<int>& mode) {
  static constexpr const char* names[] = {"default", "exclusive", "prohibited", "exclusive process"};
  if (!mode || *mode < 0 || *mode > 3) return std::nullopt;
  return names[*mode];
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// Percent of the time in which kernels ran, from which on somebody else is at work. Opening a GPU takes less.
constexpr double noticed_utilization = 10;

std::string watts(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f W", value);
  return text;
}

/// The lanes of this device. For a MIG instance these are its own, while NVML reports the lanes of the whole GPU.
std::optional<int> lanes(const cuda_observation& seen) {
  const auto each = f32_lanes(seen.runtime.capability);
  if (each && seen.runtime.multiprocessors) return *each * *seen.runtime.multiprocessors;
  return seen.nvml.mig.value_or(false) ? std::nullopt : seen.nvml.cores;
}

/// Processes that have the GPU open, without this process and the other workers of its run, which compute in turns.
struct others {
  std::optional<int> count;
  bool may_be_workers = false;  ///< not known in a container, which numbers its processes differently
};

others other_processes(const cuda_observation& seen) {
  if (!seen.nvml.processes) return {};
  const std::vector<unsigned>& all = *seen.nvml.processes;
  const auto is_family = [&](unsigned id) { return std::ranges::find(seen.family, id) != seen.family.end(); };
  const auto family = static_cast<int>(std::ranges::count_if(all, is_family));
  const auto total = static_cast<int>(all.size());
  // If this process is not among them, it runs in a container, and the numbers are from outside. One of them is this
  // process.
  return family > 0 ? others{total - family, false} : others{std::max(total - 1, 0), true};
}

void add_warnings(const cuda_observation& seen, device_facts& facts) {
  auto& warnings = facts.warnings;
  if (!seen.nvml_problem.empty()) {
    warnings.push_back("power, temperature, energy and throttling of the GPU are not known: " + seen.nvml_problem);
  }
  if (seen.nvml.mig.value_or(false)) {
    warnings.push_back(
        "this is a MIG instance, a part of a GPU: memory bandwidth, power and clocks depend on its neighbours");
  }
  if (const others open = other_processes(seen); open.count.value_or(0) > 0) {
    warnings.push_back(
        std::to_string(*open.count) +
        (*open.count == 1 ? " other process has the GPU open" : " other processes have the GPU open") +
        (open.may_be_workers ? " (a container does not tell whether they are workers of this run)" : "") +
        ": measurements are right only while the GPU computes nothing for other processes");
  }
  if (const double busy = seen.nvml.utilization_percent.value_or(0); !seen.clocks && busy >= noticed_utilization) {
    warnings.push_back("the GPU was computing for " + std::to_string(static_cast<int>(busy)) +
                       " % of the last moment, before this worker used it: another program uses it");
  }
  if (seen.nvml.power_limit_w && seen.nvml.power_limit_default_w &&
      *seen.nvml.power_limit_w < 0.99 * *seen.nvml.power_limit_default_w) {
    warnings.push_back("the power limit is " + watts(*seen.nvml.power_limit_w) + ", below the default of " +
                       watts(*seen.nvml.power_limit_default_w));
  }
  if (seen.clocks && !seen.clocks->under_load.throttle.empty()) {
    warnings.push_back("under load the clocks are held down by: " + joined(seen.clocks->under_load.throttle));
  } else if (seen.nvml.throttle && !seen.nvml.throttle->empty()) {
    warnings.push_back("the clocks are held down by: " + joined(*seen.nvml.throttle));
  }
  if (facts.clock_max_mhz && facts.clock_vector_mhz && *facts.clock_vector_mhz > 1.02 * *facts.clock_max_mhz) {
    warnings.push_back(
        "the measured clock is above the maximum that the driver reports: shares of the peak at the maximum clock are "
        "too high");
  }
}

}  // namespace

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

device_facts assemble_facts(const cuda_observation& seen) {
  const runtime_facts& runtime = seen.runtime;
  const nvml_facts& nvml = seen.nvml;
  device_facts facts;
  facts.backend = "cuda";
  facts.id = "cuda:" + std::to_string(runtime.ordinal);
  facts.name = runtime.name;
  facts.vendor = "NVIDIA";
  facts.architecture = "sm_" + std::to_string(runtime.capability.major) + std::to_string(runtime.capability.minor);
  facts.cores = runtime.multiprocessors;
  if (runtime.binary_version) facts.compiled_instruction_set = "sm_" + std::to_string(*runtime.binary_version);

  facts.clock_max_mhz = first_known(nvml.clock_max_mhz, runtime.clock_max_mhz);
  device_reading under_load;
  if (seen.clocks) {
    facts.clock_measured_mhz = seen.clocks->light_mhz;
    facts.clock_vector_mhz = seen.clocks->vector_mhz;
    under_load = seen.clocks->under_load;
  }
  facts.cache_l2_bytes = runtime.l2_bytes;
  facts.cache_llc_bytes = runtime.l2_bytes;
  facts.memory_bytes = runtime.memory_bytes;
  facts.memory_available_bytes = runtime.memory_available_bytes;
  facts.power_limit_w = nvml.power_limit_w;

  const bool mig = nvml.mig.value_or(false);
  std::string uuid = runtime.uuid;
  if (mig && nvml.uuid && uuid.starts_with("GPU-") && uuid != *nvml.uuid) uuid.replace(0, 3, "MIG");
  facts.extras = {{"uuid", text_or_unknown(uuid)},
                  {"pci_bus_id", text_or_unknown(runtime.pci_bus_id)},
                  {"compute_capability", text_of(runtime.capability)},
                  {"f32_lanes", lanes(seen)},
                  {"clock_now_mhz", nvml.clock_mhz},
                  {"clock_under_load_mhz", under_load.clock_mhz},
                  {"memory_clock_max_mhz", first_known(nvml.memory_clock_max_mhz, runtime.memory_clock_max_mhz)},
                  {"memory_clock_now_mhz", nvml.memory_clock_mhz},
                  {"memory_clock_measured_mhz", under_load.memory_clock_mhz},
                  {"memory_bus_bits", first_known(nvml.memory_bus_bits, runtime.memory_bus_bits)},
                  {"shared_memory_bytes", runtime.shared_memory_bytes},
                  {"shared_memory_block_bytes", runtime.shared_memory_block_bytes},
                  {"registers_per_multiprocessor", runtime.registers},
                  {"threads_per_multiprocessor", runtime.threads},
                  {"ecc", first_known(nvml.ecc, runtime.ecc)},
                  {"integrated", runtime.integrated},
                  {"mig", nvml.mig},
                  {"nvlinks", nvml.nvlinks},
                  {"compute_mode", compute_mode_name(runtime.compute_mode)},
                  {"persistence_mode", nvml.persistence_mode},
                  {"power_limit_default_w", nvml.power_limit_default_w},
                  {"power_under_load_w", under_load.power_w},
                  {"temperature_c", nvml.temperature_c},
                  {"throttle", seen.clocks && nvml.throttle ? std::optional(under_load.throttle) : nvml.throttle},
                  {"other_processes", other_processes(seen).count},
                  {"utilization_percent", nvml.utilization_percent},
                  {"driver_version", nvml.driver_version},
                  {"driver_cuda_version", version_or_unknown(runtime.driver)},
                  {"runtime_cuda_version", version_or_unknown(runtime.runtime)}};
  if (mig) facts.extras.push_back({"gpu_uuid", nvml.uuid});
  add_warnings(seen, facts);
  return facts;
}

}  // namespace prumo::machine::cuda
