// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvml.hpp"

#include "nvml_functions.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace prumo::machine::cuda {

namespace {

/// Whether the library has the function and it succeeded.
template <class... Parameters, class... Arguments>
bool succeeds(nvml_function<Parameters...> function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == nvml_success;
}

/// One number of a device.
std::optional<unsigned> ask(nvml_function<void*, unsigned*> function, void* device) {
  unsigned value = 0;
  if (!succeeds(function, device, &value)) return std::nullopt;
  return value;
}

std::optional<unsigned> ask(nvml_function<void*, int, unsigned*> function, void* device, int which) {
  unsigned value = 0;
  if (!succeeds(function, device, which, &value)) return std::nullopt;
  return value;
}

std::optional<unsigned long long> ask(nvml_function<void*, unsigned long long*> function, void* device) {
  unsigned long long value = 0;
  if (!succeeds(function, device, &value)) return std::nullopt;
  return value;
}

/// The first of the two answers, which is the present state. The second one is the state after the next restart.
std::optional<unsigned> ask_current(nvml_function<void*, unsigned*, unsigned*> function, void* device) {
  unsigned current = 0;
  unsigned pending = 0;
  if (!succeeds(function, device, &current, &pending)) return std::nullopt;
  return current;
}

/// A quantity for which the library answers zero if it does not know it.
std::optional<double> positive(std::optional<unsigned> value, double scale = 1) {
  if (!value || *value == 0) return std::nullopt;
  return *value * scale;
}

std::optional<int> positive_count(std::optional<unsigned> value) {
  if (!value || *value == 0) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<bool> enabled(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return *value != 0;
}

std::optional<unsigned long long> throttle_reasons(const nvml_functions& call, void* device) {
  if (const auto reasons = ask(call.clocks_event_reasons, device)) return reasons;
  return ask(call.clocks_throttle_reasons, device);  // its name before driver 535
}

std::optional<double> temperature(const nvml_functions& call, void* device) {
  if (const auto celsius = positive(ask(call.temperature, device, nvml_temperature_chip))) return celsius;
  nvml_temperature asked;
  if (!succeeds(call.temperature_v1, device, &asked) || asked.celsius <= 0) return std::nullopt;
  return asked.celsius;
}

std::optional<double> utilization(const nvml_functions& call, void* device) {
  nvml_utilization shares;
  if (!succeeds(call.utilization, device, &shares)) return std::nullopt;
  return shares.gpu;
}

std::optional<int> links_in_use(const nvml_functions& call, void* device) {
  int active = 0;
  bool told = false;
  for (unsigned link = 0; link < nvml_most_links; ++link) {
    unsigned is_active = 0;
    // The library refuses the numbers of links that the board does not have.
    if (!succeeds(call.nvlink_state, device, link, &is_active)) break;
    told = true;
    if (is_active != 0) ++active;
  }
  return told ? std::optional(active) : std::nullopt;
}

template <class Process>
std::optional<std::vector<unsigned>> process_ids(nvml_function<void*, unsigned*, Process*> function, void* device) {
  std::vector<Process> found(16);
  for (int attempt = 0; attempt < 4; ++attempt) {  // processes may start between two questions
    auto count = static_cast<unsigned>(found.size());
    const int status = function(device, &count, found.data());
    if (status == nvml_success) {
      std::vector<unsigned> ids;
      for (unsigned i = 0; i < std::min(count, static_cast<unsigned>(found.size())); ++i) ids.push_back(found[i].id);
      return ids;
    }
    if (status != nvml_insufficient_size) return std::nullopt;
    found.resize(std::size_t{2} * std::max(count, 16u));
  }
  return std::nullopt;
}

std::optional<std::vector<unsigned>> processes(const nvml_functions& call, void* device) {
  if (call.compute_processes != nullptr) return process_ids(call.compute_processes, device);
  if (call.compute_processes_v2 != nullptr) return process_ids(call.compute_processes_v2, device);
  if (call.compute_processes_v1 != nullptr) return process_ids(call.compute_processes_v1, device);
  return std::nullopt;
}

std::string error_text(const nvml_functions& call, int status) {
  const char* const text = call.error_string == nullptr ? nullptr : call.error_string(status);
  return text == nullptr ? "error " + std::to_string(status) : std::string(text);
}

}  // namespace

nvml_library::nvml_library(const std::string& file) {
  file_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file_ == nullptr) {
    const char* const reason = dlerror();
    problem_ =
        "the NVIDIA management library cannot be loaded (" + (reason == nullptr ? file : std::string(reason)) + ")";
    return;
  }
  call_ = std::make_unique<nvml_functions>(load_nvml_functions(file_));
  if (call_->init == nullptr || (call_->handle_by_pci == nullptr && call_->handle_by_uuid == nullptr)) {
    problem_ = "the NVIDIA management library " + file + " lacks the functions of version 2";
  } else if (const int status = call_->init(); status != nvml_success) {
    problem_ = "the NVIDIA management library does not start: " + error_text(*call_, status);
  }
}

nvml_library::~nvml_library() {
  if (problem_.empty() && call_->shutdown != nullptr) call_->shutdown();
  if (file_ != nullptr) dlclose(file_);
}

nvml_device nvml_library::find(const std::string& pci_bus_id, const std::string& uuid) const {
  nvml_device result;
  result.problem_ = problem_;
  if (!problem_.empty()) return result;
  const auto try_one = [&](nvml_function<const char*, void**> function, const std::string& name) {
    if (result.handle_ != nullptr || function == nullptr || name.empty()) return;
    void* handle = nullptr;
    const int status = function(name.c_str(), &handle);
    if (status == nvml_success) {
      result.handle_ = handle;
      result.call_ = call_.get();
      result.problem_.clear();
    } else if (result.problem_.empty()) {
      result.problem_ = "the NVIDIA management library does not know " + name + ": " + error_text(*call_, status);
    }
  };
  // The address comes first, because in a MIG instance the UUID is that of the instance, which has no clock or power of
  // its own.
  try_one(call_->handle_by_pci, pci_bus_id);
  try_one(call_->handle_by_uuid, uuid);
  if (result.handle_ == nullptr && result.problem_.empty()) {
    result.problem_ = "the NVIDIA management library finds no GPU without a PCI address or UUID";
  }
  return result;
}

nvml_facts nvml_device::facts() const {
  nvml_facts result;
  if (handle_ == nullptr) return result;
  std::array<char, 96> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (succeeds(call_->driver_version, text.data(), size)) result.driver_version = text.data();
  if (succeeds(call_->uuid, handle_, text.data(), size)) result.uuid = text.data();
  result.cores = positive_count(ask(call_->cores, handle_));
  result.clock_mhz = positive(ask(call_->clock, handle_, nvml_clock_sm));
  result.clock_max_mhz = positive(ask(call_->max_clock, handle_, nvml_clock_sm));
  result.memory_clock_mhz = positive(ask(call_->clock, handle_, nvml_clock_memory));
  result.memory_clock_max_mhz = positive(ask(call_->max_clock, handle_, nvml_clock_memory));
  result.memory_bus_bits = positive_count(ask(call_->memory_bus_width, handle_));
  result.ecc = enabled(ask_current(call_->ecc_mode, handle_));
  result.persistence_mode = enabled(ask(call_->persistence_mode, handle_));
  result.power_limit_w = positive(ask(call_->enforced_power_limit, handle_), 1e-3);
  result.power_limit_default_w = positive(ask(call_->default_power_limit, handle_), 1e-3);
  result.temperature_c = temperature(*call_, handle_);
  result.utilization_percent = utilization(*call_, handle_);
  result.mig = enabled(ask_current(call_->mig_mode, handle_));
  result.nvlinks = links_in_use(*call_, handle_);
  result.processes = processes(*call_, handle_);
  if (const auto reasons = throttle_reasons(*call_, handle_)) result.throttle = throttle_names(*reasons);
  return result;
}

device_reading nvml_device::read() const {
  device_reading result;
  if (handle_ == nullptr) return result;
  result.clock_mhz = positive(ask(call_->clock, handle_, nvml_clock_sm));
  result.memory_clock_mhz = positive(ask(call_->clock, handle_, nvml_clock_memory));
  result.power_w = positive(ask(call_->power_usage, handle_), 1e-3);
  result.temperature_c = temperature(*call_, handle_);
  if (const auto millijoules = ask(call_->total_energy, handle_)) {
    result.energy_j = static_cast<double>(*millijoules) * 1e-3;
  }
  if (const auto reasons = throttle_reasons(*call_, handle_)) result.throttle = throttle_names(*reasons);
  return result;
}

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  struct reason {
    std::uint64_t bit;
    const char* name;  ///< null if the reason is no throttling
  };
  // The bits of nvmlClocksEventReasons.
  static constexpr std::uint64_t hardware_slowdown = 0x8;
  static constexpr std::uint64_t hardware_thermal_slowdown = 0x40;
  static constexpr std::uint64_t power_brake = 0x80;
  static constexpr std::array known = {
      reason{0x1, nullptr},  // idle
      reason{0x2, nullptr},  // clocks set for applications
      reason{0x4, "power cap"},
      reason{hardware_slowdown, "hardware slowdown"},
      reason{0x10, "sync boost"},
      reason{0x20, "thermal slowdown"},
      reason{hardware_thermal_slowdown, "hardware thermal slowdown"},
      reason{power_brake, "power brake"},
      reason{0x100, "display clock setting"},
  };
  // Either of the two bits that give the cause comes together with hardware slowdown, which then says nothing more.
  if ((reasons & (hardware_thermal_slowdown | power_brake)) != 0) reasons &= ~hardware_slowdown;
  std::vector<std::string> names;
  for (const reason& each : known) {
    if ((reasons & each.bit) != 0 && each.name != nullptr) names.emplace_back(each.name);
    reasons &= ~each.bit;
  }
  for (int bit = 0; bit < 64; ++bit) {
    if (((reasons >> bit) & 1) != 0) names.push_back("unnamed reason " + std::to_string(bit));
  }
  return names;
}

}  // namespace prumo::machine::cuda
