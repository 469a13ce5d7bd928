// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that stands in for the driver's NVML. Tests set its answers. With PRUMO_FAKE_NVML_OLD it lacks the
// functions that old drivers lack.
#include "fake_nvml.hpp"

#include "../portable/nvml_functions.hpp"

#include <cstring>

#define PRUMO_FAKE extern "C" __attribute__((visibility("default"))) int

namespace {

prumo::machine::cuda::fake_nvml_answers answers;
int running = 0;

int copy(char* target, unsigned length, const char* text) {
  if (std::strlen(text) + 1 > length) return 7;
  std::strcpy(target, text);
  return 0;
}

template <class T>
int give(void* device, T* target, T value) {
  if (device != &answers) return 2;
  if (answers.device_status != 0) return answers.device_status;
  *target = value;
  return 0;
}

template <class Process>
int give_processes(void* device, unsigned* count, Process* processes) {
  const unsigned room = *count;
  if (const int status = give(device, count, answers.processes); status != 0) return status;
  if (room < answers.processes) return 7;
  for (unsigned i = 0; i < answers.processes; ++i) processes[i].id = 1000 + i;
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) prumo::machine::cuda::fake_nvml_answers* prumo_fake_nvml_answers() {
  return &answers;
}
extern "C" __attribute__((visibility("default"))) int prumo_fake_nvml_running() { return running; }

// NOLINTBEGIN(readability-identifier-naming): the names of the library
PRUMO_FAKE nvmlInit_v2() {
  if (answers.init_status == 0) ++running;
  return answers.init_status;
}
PRUMO_FAKE nvmlShutdown() {
  --running;
  return 0;
}
PRUMO_FAKE nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  if (std::strcmp(pci, answers.pci_bus_id) != 0) return 6;
  *device = &answers;
  return 0;
}
PRUMO_FAKE nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, answers.uuid) != 0) return 6;
  *device = &answers;
  return 0;
}
PRUMO_FAKE nvmlDeviceGetClockInfo(void* device, int which, unsigned* value) {
  return give(device, value, which == 1 ? answers.clock : answers.memory_clock);
}
PRUMO_FAKE nvmlDeviceGetMaxClockInfo(void* device, int which, unsigned* value) {
  return give(device, value, which == 1 ? 1980u : 3201u);
}
PRUMO_FAKE nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* value) {
  return give(device, value, answers.reasons);
}
#if defined(PRUMO_FAKE_NVML_OLD)
PRUMO_FAKE nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count,
                                                prumo::machine::cuda::nvml_process_v1* processes) {
  return give_processes(device, count, processes);
}
// No old driver has this function. It is here because this library lacks the other one.
PRUMO_FAKE nvmlDeviceGetTemperatureV(void* device, prumo::machine::cuda::nvml_temperature* value) {
  const prumo::machine::cuda::nvml_temperature expected;
  return value->version != expected.version ? 25 : give(device, &value->celsius, 42);
}
#else
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int status) {
  return status == 9 ? "Driver Not Loaded" : status == 6 ? "Not Found" : "Unknown Error";
}
PRUMO_FAKE nvmlSystemGetDriverVersion(char* text, unsigned length) { return copy(text, length, "580.65.06"); }
PRUMO_FAKE nvmlDeviceGetUUID(void*, char* text, unsigned length) { return copy(text, length, answers.uuid); }
PRUMO_FAKE nvmlDeviceGetNumGpuCores(void* device, unsigned* value) { return give(device, value, 16896u); }
PRUMO_FAKE nvmlDeviceGetMemoryBusWidth(void* device, unsigned* value) { return give(device, value, 6016u); }
PRUMO_FAKE nvmlDeviceGetEccMode(void* device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return give(device, current, 1u);
}
PRUMO_FAKE nvmlDeviceGetUtilizationRates(void* device, prumo::machine::cuda::nvml_utilization* value) {
  return give(device, value, prumo::machine::cuda::nvml_utilization{97, 31});
}
PRUMO_FAKE nvmlDeviceGetPersistenceMode(void* device, unsigned* value) { return give(device, value, 1u); }
PRUMO_FAKE nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* value) { return give(device, value, 500000u); }
PRUMO_FAKE nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* value) {
  return give(device, value, 700000u);
}
PRUMO_FAKE nvmlDeviceGetPowerUsage(void* device, unsigned* value) { return give(device, value, 345678u); }
PRUMO_FAKE nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* value) {
  return give(device, value, 123456789012ull);
}
PRUMO_FAKE nvmlDeviceGetTemperature(void* device, int, unsigned* value) { return give(device, value, 41u); }
PRUMO_FAKE nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *pending = answers.mig;
  return answers.mig_status != 0 ? answers.mig_status : give(device, current, answers.mig);
}
PRUMO_FAKE nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* value) {
  return link >= answers.links ? 2 : give(device, value, link == 0 ? 0u : 1u);
}
PRUMO_FAKE nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                                   prumo::machine::cuda::nvml_process* processes) {
  return give_processes(device, count, processes);
}
PRUMO_FAKE nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* value) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, value);
}
#endif
// NOLINTEND(readability-identifier-naming)
