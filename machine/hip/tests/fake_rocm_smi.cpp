// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that stands in for ROCm SMI. Tests set its answers. With PRUMO_FAKE_ROCM_SMI_OLD it has the functions and
// structures from before ROCm 6.
#include "fake_rocm_smi.hpp"

#include "../portable/rocm_smi_functions.hpp"

#include <cstring>

#define PRUMO_FAKE extern "C" __attribute__((visibility("default")))

namespace {

prumo::machine::hip::fake_smi_answers answers;
int running = 0;
constexpr int not_supported = 2;

template <class T>
int give(std::uint32_t device, T* target, T value) {
  if (device != 1) return not_supported;
  if (answers.device_status != 0) return answers.device_status;
  *target = value;
  return 0;
}

}  // namespace

PRUMO_FAKE prumo::machine::hip::fake_smi_answers* prumo_fake_smi_answers() { return &answers; }
PRUMO_FAKE int prumo_fake_smi_running() { return running; }

PRUMO_FAKE int rsmi_init(std::uint64_t) {
  if (answers.init_status == 0) ++running;
  return answers.init_status;
}
PRUMO_FAKE int rsmi_shut_down() {
  --running;
  return 0;
}
PRUMO_FAKE int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = 2;
  return 0;
}
PRUMO_FAKE int rsmi_dev_pci_id_get(std::uint32_t device, std::uint64_t* address) {
  *address = device == 0 ? 0x1900 : answers.address;
  return 0;
}
PRUMO_FAKE int rsmi_dev_unique_id_get(std::uint32_t device, std::uint64_t* id) {
  return give(device, id, answers.unique_id);
}
PRUMO_FAKE int rsmi_dev_temp_metric_get(std::uint32_t device, std::uint32_t sensor, int, std::int64_t* value) {
  if (sensor == 1 && !answers.has_junction) return not_supported;
  return give(device, value, std::int64_t{sensor == 1 ? 48000 : 41500});
}
PRUMO_FAKE int rsmi_dev_power_ave_get(std::uint32_t device, std::uint32_t, std::uint64_t* value) {
  return give(device, value, std::uint64_t{90'000'000});
}

#if defined(PRUMO_FAKE_ROCM_SMI_OLD)
PRUMO_FAKE int rsmi_dev_gpu_clk_freq_get(std::uint32_t device, int, prumo::machine::hip::smi_frequencies_old* value) {
  prumo::machine::hip::smi_frequencies_old told;
  told.count = 2;
  told.current = 1;
  told.hertz[0] = 500'000'000;
  told.hertz[1] = answers.hertz;
  return give(device, value, told);
}
#else
PRUMO_FAKE int rsmi_status_string(int status, const char** text) {
  *text = status == 8 ? "RSMI_STATUS_INIT_ERROR" : "another";
  return 0;
}
PRUMO_FAKE int rsmi_dev_gpu_clk_freq_get(std::uint32_t device, int which, prumo::machine::hip::smi_frequencies* value) {
  prumo::machine::hip::smi_frequencies told;
  told.count = 2;
  told.current = 1;
  told.hertz[0] = 500'000'000;
  told.hertz[1] = which == 0 ? answers.hertz : 1'600'000'000;
  return give(device, value, told);
}
PRUMO_FAKE int rsmi_version_str_get(int, char* text, std::uint32_t length) {
  std::strncpy(text, "6.10.5", length);
  return 0;
}
PRUMO_FAKE int rsmi_dev_power_get(std::uint32_t device, std::uint64_t* value, int* kind) {
  *kind = 1;
  return answers.has_power ? give(device, value, std::uint64_t{123'456'000}) : not_supported;
}
PRUMO_FAKE int rsmi_dev_power_cap_get(std::uint32_t device, std::uint32_t, std::uint64_t* value) {
  return give(device, value, std::uint64_t{500'000'000});
}
PRUMO_FAKE int rsmi_dev_power_cap_default_get(std::uint32_t device, std::uint64_t* value) {
  return give(device, value, std::uint64_t{560'000'000});
}
PRUMO_FAKE int rsmi_dev_energy_count_get(std::uint32_t device, std::uint64_t* counter, float* resolution,
                                         std::uint64_t* nanoseconds) {
  *resolution = 15.25f;
  *nanoseconds = 1;
  return give(device, counter, std::uint64_t{4'000'000});
}
PRUMO_FAKE int rsmi_dev_memory_usage_get(std::uint32_t device, int, std::uint64_t* value) {
  return give(device, value, std::uint64_t{10'000'000});
}
PRUMO_FAKE int rsmi_dev_busy_percent_get(std::uint32_t device, std::uint32_t* value) {
  return give(device, value, std::uint32_t{97});
}
#endif
