// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvml_functions.hpp"

#include <dlfcn.h>

namespace prumo::machine::cuda {

namespace {

template <class Function>
void load(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(file, name));
}

}  // namespace

nvml_functions load_nvml_functions(void* file) {
  nvml_functions call{};
  load(file, "nvmlInit_v2", call.init);
  load(file, "nvmlShutdown", call.shutdown);
  load(file, "nvmlErrorString", call.error_string);
  load(file, "nvmlSystemGetDriverVersion", call.driver_version);
  load(file, "nvmlDeviceGetHandleByPciBusId_v2", call.handle_by_pci);
  load(file, "nvmlDeviceGetHandleByUUID", call.handle_by_uuid);
  load(file, "nvmlDeviceGetUUID", call.uuid);
  load(file, "nvmlDeviceGetNumGpuCores", call.cores);
  load(file, "nvmlDeviceGetClockInfo", call.clock);
  load(file, "nvmlDeviceGetMaxClockInfo", call.max_clock);
  load(file, "nvmlDeviceGetMemoryBusWidth", call.memory_bus_width);
  load(file, "nvmlDeviceGetEccMode", call.ecc_mode);
  load(file, "nvmlDeviceGetPersistenceMode", call.persistence_mode);
  load(file, "nvmlDeviceGetEnforcedPowerLimit", call.enforced_power_limit);
  load(file, "nvmlDeviceGetPowerManagementDefaultLimit", call.default_power_limit);
  load(file, "nvmlDeviceGetPowerUsage", call.power_usage);
  load(file, "nvmlDeviceGetTotalEnergyConsumption", call.total_energy);
  load(file, "nvmlDeviceGetTemperature", call.temperature);
  load(file, "nvmlDeviceGetTemperatureV", call.temperature_v1);
  load(file, "nvmlDeviceGetUtilizationRates", call.utilization);
  load(file, "nvmlDeviceGetMigMode", call.mig_mode);
  load(file, "nvmlDeviceGetNvLinkState", call.nvlink_state);
  load(file, "nvmlDeviceGetComputeRunningProcesses_v3", call.compute_processes);
  load(file, "nvmlDeviceGetComputeRunningProcesses_v2", call.compute_processes_v2);
  load(file, "nvmlDeviceGetComputeRunningProcesses", call.compute_processes_v1);
  load(file, "nvmlDeviceGetCurrentClocksEventReasons", call.clocks_event_reasons);
  load(file, "nvmlDeviceGetCurrentClocksThrottleReasons", call.clocks_throttle_reasons);
  return call;
}

}  // namespace prumo::machine::cuda
