// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The services of device_facts.hpp and telemetry.hpp for Kokkos::Cuda.

#include "attribute_values.hpp"
#include "clock_kernel.hpp"
#include "portable/cuda_facts.hpp"
#include "portable/cuda_peaks.hpp"
#include "portable/nvml.hpp"
#include "portable/process_family.hpp"
#include <prumo/detail/device/current_device.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>

namespace prumo::machine {

namespace cuda {
namespace {

using namespace std::chrono_literals;

// Measuring takes a quarter of a second in all. A GPU leaves its idle clocks within about 20 ms.
constexpr auto settling_time = 60ms;
constexpr auto measuring_time = 50ms;

/// Whether a call of the runtime succeeded. Clears the error, which a later call would report otherwise.
bool succeeded(cudaError_t status) {
  if (status == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

std::optional<int> attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (!succeeded(cudaDeviceGetAttribute(&value, which, device))) return std::nullopt;
  return value;
}

/// `GPU-8d3b1c2a-...`
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char byte[4];
    std::snprintf(byte, sizeof(byte), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += byte;
  }
  return text;
}

std::string pci_bus_id(int device) {
  char text[32] = "";
  return succeeded(cudaDeviceGetPCIBusId(text, sizeof(text), device)) ? std::string(text) : std::string();
}

runtime_facts ask_runtime(const Kokkos::Cuda& instance) {
  runtime_facts result;
  const int device = instance.cuda_device();
  const detail::current_device as_current(instance);
  const cudaDeviceProp& properties = instance.cuda_device_prop();
  result.ordinal = device;
  result.name = properties.name;
  result.uuid = uuid_text(properties.uuid);
  result.pci_bus_id = pci_bus_id(device);
  result.capability = {properties.major, properties.minor};
  result.multiprocessors = positive(attribute(cudaDevAttrMultiProcessorCount, device));
  result.clock_max_mhz = megahertz_of(attribute(cudaDevAttrClockRate, device));
  result.memory_clock_max_mhz = megahertz_of(attribute(cudaDevAttrMemoryClockRate, device));
  result.memory_bus_bits = positive(attribute(cudaDevAttrGlobalMemoryBusWidth, device));
  result.l2_bytes = positive_size(attribute(cudaDevAttrL2CacheSize, device));
  result.shared_memory_bytes = positive_size(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  result.shared_memory_block_bytes = positive_size(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  result.registers = positive(attribute(cudaDevAttrMaxRegistersPerMultiprocessor, device));
  result.threads = positive(attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device));
  result.ecc = flag(attribute(cudaDevAttrEccEnabled, device));
  result.integrated = flag(attribute(cudaDevAttrIntegrated, device));
  result.compute_mode = attribute(cudaDevAttrComputeMode, device);
  std::size_t available = 0;
  std::size_t total = 0;
  if (succeeded(cudaMemGetInfo(&available, &total))) {
    result.memory_bytes = static_cast<std::int64_t>(total);
    result.memory_available_bytes = static_cast<std::int64_t>(available);
  }
  int version = 0;
  if (succeeded(cudaDriverGetVersion(&version))) result.driver = positive(version);
  if (succeeded(cudaRuntimeGetVersion(&version))) result.runtime = positive(version);
  result.binary_version = binary_version();
  return result;
}

/// NVML's view of the instance's device. Loading the library and finding the device cost milliseconds, so both happen
/// once.
nvml_device management_of(const Kokkos::Cuda& instance) {
  static const nvml_library library;
  static std::mutex guard;
  static std::map<int, nvml_device> known;
  const std::lock_guard lock(guard);
  const int device = instance.cuda_device();
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  return known[device] = library.find(pci_bus_id(device), uuid_text(instance.cuda_device_prop().uuid));
}

clock_measurements measure_clocks(const Kokkos::Cuda& instance, const nvml_device& management) {
  clock_measurements result;
  const detail::current_device as_current(instance);
  result.light_mhz = measure_clock(instance, clock_load::integers, settling_time, measuring_time, [] {});
  result.vector_mhz = measure_clock(instance, clock_load::vector, settling_time, measuring_time,
                                    [&] { result.under_load = management.read(); });
  return result;
}

}  // namespace
}  // namespace cuda

device_facts facts_of(const Kokkos::Cuda& instance, clock_probe probe) {
  const cuda::nvml_device management = cuda::management_of(instance);
  cuda::cuda_observation seen;
  seen.runtime = cuda::ask_runtime(instance);
  seen.nvml = management.facts();
  seen.nvml_problem = management.problem();
  if (seen.nvml.processes) seen.family = cuda::family_among(*seen.nvml.processes);
  if (probe == clock_probe::run) seen.clocks = cuda::measure_clocks(instance, management);
  return cuda::assemble_facts(seen);
}

std::vector<peak> peaks_of(const Kokkos::Cuda&, const device_facts& facts) { return cuda::peaks_of_cuda(facts); }

device_reading read_telemetry(const Kokkos::Cuda& instance) { return cuda::management_of(instance).read(); }

}  // namespace prumo::machine
