// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The services of device_facts.hpp and telemetry.hpp for Kokkos::HIP.

#include "attribute_values.hpp"
#include "portable/hip_facts.hpp"
#include "portable/hip_peaks.hpp"
#include "portable/rocm_smi.hpp"
#include <prumo/detail/device/current_device.hpp>

#include <map>
#include <mutex>

namespace prumo::machine {

namespace hip {
namespace {

/// Whether a call of the runtime succeeded. Clears the error, which a later call would report otherwise.
bool succeeded(hipError_t status) {
  if (status == hipSuccess) return true;
  (void)hipGetLastError();
  return false;
}

std::optional<int> attribute(hipDeviceAttribute_t which, int device) {
  int value = 0;
  if (!succeeded(hipDeviceGetAttribute(&value, which, device))) return std::nullopt;
  return value;
}

std::string pci_bus_id(int device) {
  char text[32] = "";
  return succeeded(hipDeviceGetPCIBusId(text, sizeof(text), device)) ? std::string(text) : std::string();
}

/// The 16 bytes of the UUID are 16 hexadecimal digits as characters. Other tools show them after `GPU-`.
std::string uuid_text(int device) {
  hipUUID uuid{};
  if (!succeeded(hipDeviceGetUuid(&uuid, device)) || uuid.bytes[0] == 0) return {};
  return "GPU-" + std::string(uuid.bytes, sizeof(uuid.bytes));
}

runtime_facts ask_runtime(const Kokkos::HIP& instance) {
  runtime_facts result;
  const int device = instance.hip_device();
  const detail::current_device as_current(instance);
  hipDeviceProp_t properties{};
  if (succeeded(hipGetDeviceProperties(&properties, device))) {
    result.name = properties.name;
    result.target = properties.gcnArchName;
  }
  result.ordinal = device;
  result.uuid = uuid_text(device);
  result.pci_bus_id = pci_bus_id(device);
  result.multiprocessors = positive(attribute(hipDeviceAttributeMultiprocessorCount, device));
  result.physical_multiprocessors = positive(attribute(hipDeviceAttributePhysicalMultiProcessorCount, device));
  result.wavefront = positive(attribute(hipDeviceAttributeWarpSize, device));
  result.clock_max_mhz = megahertz_of(attribute(hipDeviceAttributeClockRate, device));
  result.memory_clock_max_mhz = megahertz_of(attribute(hipDeviceAttributeMemoryClockRate, device));
  result.memory_bus_bits = positive(attribute(hipDeviceAttributeMemoryBusWidth, device));
  result.l2_bytes = positive_size(attribute(hipDeviceAttributeL2CacheSize, device));
  result.shared_memory_bytes = positive_size(attribute(hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, device));
  result.shared_memory_block_bytes = positive_size(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock, device));
  result.threads = positive(attribute(hipDeviceAttributeMaxThreadsPerMultiProcessor, device));
  result.ecc = flag(attribute(hipDeviceAttributeEccEnabled, device));
  result.integrated = flag(attribute(hipDeviceAttributeIntegrated, device));
  std::size_t available = 0;
  std::size_t total = 0;
  if (succeeded(hipMemGetInfo(&available, &total))) {
    result.memory_bytes = static_cast<std::int64_t>(total);
    result.memory_available_bytes = static_cast<std::int64_t>(available);
  }
  int version = 0;
  if (succeeded(hipRuntimeGetVersion(&version))) result.runtime = positive(version);
  return result;
}

/// ROCm SMI's view of the instance's device. Loading the library and finding the device cost milliseconds, so both
/// happen once.
smi_device management_of(const Kokkos::HIP& instance) {
  static const smi_library library;
  static std::mutex guard;
  static std::map<int, smi_device> known;
  const std::lock_guard lock(guard);
  const int device = instance.hip_device();
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  return known[device] = library.find(pci_bus_id(device), uuid_text(device));
}

}  // namespace
}  // namespace hip

device_facts facts_of(const Kokkos::HIP& instance, clock_probe) {
  const hip::smi_device management = hip::management_of(instance);
  hip::hip_observation seen;
  seen.runtime = hip::ask_runtime(instance);
  seen.smi = management.facts();
  seen.smi_problem = management.problem();
  return hip::assemble_facts(seen);
}

std::vector<peak> peaks_of(const Kokkos::HIP&, const device_facts& facts) { return hip::peaks_of_hip(facts); }

device_reading read_telemetry(const Kokkos::HIP& instance) { return hip::management_of(instance).read(); }

}  // namespace prumo::machine
