// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocm_smi.hpp"

#include "rocm_smi_functions.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace prumo::machine::hip {

namespace {

template <class Function>
void load(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(file, name));
}

/// Whether the library has the function and it succeeded.
template <class... Parameters, class... Arguments>
bool succeeds(smi_function<Parameters...> function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == smi_success;
}

/// A quantity for which the library answers zero if it does not know it.
template <class Function, class... Arguments>
std::optional<double> positive(Function function, double scale, std::uint32_t device, Arguments... arguments) {
  std::uint64_t value = 0;
  if (!succeeds(function, device, arguments..., &value) || value == 0) return std::nullopt;
  return static_cast<double>(value) * scale;
}

constexpr double micro = 1e-6;

template <class Frequencies>
std::optional<double> current_megahertz(const Frequencies& told) {
  if (told.count == 0 || told.count > std::size(told.hertz) || told.current >= told.count) return std::nullopt;
  const double megahertz = static_cast<double>(told.hertz[told.current]) * micro;
  if (megahertz < 1 || megahertz > 1e5) return std::nullopt;
  return megahertz;
}

std::optional<double> clock(const smi_functions& call, std::uint32_t device, int which) {
  smi_frequencies told;
  if (!succeeds(call.clock, device, which, &told)) return std::nullopt;
  if (const auto megahertz = current_megahertz(told)) return megahertz;
  // Libraries before ROCm 6 have a frequency at the place of the index. It is larger than any index.
  smi_frequencies_old old;
  std::memcpy(&old, static_cast<const void*>(&told), sizeof(old));
  return current_megahertz(old);
}

/// The temperature of the hottest place. It is what slows a device down, and all devices report it. If it is missing,
/// that of the chip's edge.
std::optional<double> temperature(const smi_functions& call, std::uint32_t device) {
  for (const std::uint32_t sensor : {smi_temperature_junction, smi_temperature_edge}) {
    std::int64_t millidegrees = 0;
    if (succeeds(call.temperature, device, sensor, smi_temperature_current, &millidegrees) && millidegrees > 0) {
      return static_cast<double>(millidegrees) * 1e-3;
    }
  }
  return std::nullopt;
}

std::optional<double> power(const smi_functions& call, std::uint32_t device) {
  std::uint64_t microwatts = 0;
  int kind = 0;
  if (succeeds(call.power, device, &microwatts, &kind) && microwatts != 0) {
    return static_cast<double>(microwatts) * micro;
  }
  return positive(call.power_average, micro, device, std::uint32_t{0});
}

std::string error_text(const smi_functions& call, int status) {
  const char* text = nullptr;
  if (!succeeds(call.status_string, status, &text) || text == nullptr) return "error " + std::to_string(status);
  return text;
}

/// Domain, bus, device and function as the library packs them. Its bits 16 to 31 are the number of a partition.
std::optional<std::uint64_t> packed_address(const std::string& pci_bus_id) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(pci_bus_id.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return std::nullopt;
  return std::uint64_t{domain} << 32 | std::uint64_t{bus} << 8 | device << 3 | function;
}
constexpr std::uint64_t address_bits = 0xffff'ffff'0000'ffff;

std::string uuid_text(std::uint64_t unique_id) {
  char text[32];
  std::snprintf(text, sizeof(text), "GPU-%016llx", static_cast<unsigned long long>(unique_id));
  return text;
}

void* load_library(const std::string& file) {
  if (!file.empty()) return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* const name : {"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                 "librocm_smi64.so", "/opt/rocm/lib/librocm_smi64.so"}) {
    if (void* const loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return loaded;
  }
  return nullptr;
}

}  // namespace

smi_functions load_smi_functions(void* file) {
  smi_functions call{};
  load(file, "rsmi_init", call.init);
  load(file, "rsmi_shut_down", call.shut_down);
  load(file, "rsmi_status_string", call.status_string);
  load(file, "rsmi_num_monitor_devices", call.count);
  load(file, "rsmi_dev_pci_id_get", call.pci_id);
  load(file, "rsmi_dev_unique_id_get", call.unique_id);
  load(file, "rsmi_version_str_get", call.version);
  load(file, "rsmi_dev_temp_metric_get", call.temperature);
  load(file, "rsmi_dev_power_get", call.power);
  load(file, "rsmi_dev_power_ave_get", call.power_average);
  load(file, "rsmi_dev_power_cap_get", call.power_cap);
  load(file, "rsmi_dev_power_cap_default_get", call.power_cap_default);
  load(file, "rsmi_dev_energy_count_get", call.energy);
  load(file, "rsmi_dev_gpu_clk_freq_get", call.clock);
  load(file, "rsmi_dev_memory_usage_get", call.memory_used);
  load(file, "rsmi_dev_busy_percent_get", call.busy_percent);
  return call;
}

smi_library::smi_library(const std::string& file) {
  file_ = load_library(file);
  if (file_ == nullptr) {
    const char* const reason = dlerror();
    problem_ = "ROCm SMI cannot be loaded (" + (reason == nullptr ? file : std::string(reason)) + ")";
    return;
  }
  call_ = std::make_unique<smi_functions>(load_smi_functions(file_));
  if (call_->init == nullptr || call_->count == nullptr || call_->pci_id == nullptr) {
    problem_ = "ROCm SMI lacks the functions to find a GPU";
  } else if (const int status = call_->init(0); status != smi_success) {
    problem_ = "ROCm SMI does not start: " + error_text(*call_, status);
  }
}

smi_library::~smi_library() {
  if (problem_.empty() && call_->shut_down != nullptr) call_->shut_down();
  if (file_ != nullptr) dlclose(file_);
}

smi_device smi_library::find(const std::string& pci_bus_id, const std::string& uuid) const {
  smi_device result;
  result.problem_ = problem_;
  if (!problem_.empty()) return result;
  std::uint32_t count = 0;
  call_->count(&count);
  const auto wanted = packed_address(pci_bus_id);
  const auto is_at_address = [&](std::uint32_t index) {
    std::uint64_t address = 0;
    return wanted && succeeds(call_->pci_id, index, &address) && (address & address_bits) == *wanted;
  };
  const auto has_uuid = [&](std::uint32_t index) {
    std::uint64_t unique_id = 0;
    return !uuid.empty() && succeeds(call_->unique_id, index, &unique_id) && uuid_text(unique_id) == uuid;
  };
  const auto take_first = [&](const auto& fits) {
    for (std::uint32_t index = 0; index < count && result.call_ == nullptr; ++index) {
      if (!fits(index)) continue;
      result.index_ = index;
      result.call_ = call_.get();
    }
  };
  take_first(is_at_address);
  take_first(has_uuid);
  if (result.call_ == nullptr) {
    result.problem_ = "ROCm SMI does not know the GPU " + (pci_bus_id.empty() ? uuid : pci_bus_id);
  }
  return result;
}

smi_facts smi_device::facts() const {
  smi_facts result;
  if (call_ == nullptr) return result;
  std::array<char, 128> text{};
  if (succeeds(call_->version, smi_driver, text.data(), static_cast<std::uint32_t>(text.size()))) {
    result.driver_version = text.data();
  }
  result.clock_mhz = clock(*call_, index_, smi_clock_system);
  result.memory_clock_mhz = clock(*call_, index_, smi_clock_memory);
  result.power_limit_w = positive(call_->power_cap, micro, index_, std::uint32_t{0});
  result.power_limit_default_w = positive(call_->power_cap_default, micro, index_);
  result.temperature_c = temperature(*call_, index_);
  std::uint64_t bytes = 0;
  std::uint32_t busy = 0;
  if (succeeds(call_->busy_percent, index_, &busy)) result.utilization_percent = busy;
  if (succeeds(call_->memory_used, index_, smi_memory_vram, &bytes)) {
    result.memory_used_bytes = static_cast<std::int64_t>(bytes);
  }
  return result;
}

device_reading smi_device::read() const {
  device_reading result;
  if (call_ == nullptr) return result;
  result.clock_mhz = clock(*call_, index_, smi_clock_system);
  result.memory_clock_mhz = clock(*call_, index_, smi_clock_memory);
  result.power_w = power(*call_, index_);
  result.temperature_c = temperature(*call_, index_);
  std::uint64_t counted = 0;
  std::uint64_t nanoseconds = 0;
  float resolution = 0;
  if (succeeds(call_->energy, index_, &counted, &resolution, &nanoseconds) && resolution > 0) {
    result.energy_j = static_cast<double>(counted) * static_cast<double>(resolution) * micro;
  }
  return result;
}

}  // namespace prumo::machine::hip
