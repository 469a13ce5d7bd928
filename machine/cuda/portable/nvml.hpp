// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What NVIDIA's management library (NVML) reports about a GPU. The library belongs to the driver. It is loaded at run
/// time, so that programs can be built without a driver, and can run without it and without these facts.

#include <prumo/machine/telemetry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::machine::cuda {

struct nvml_functions;

/// Facts of one GPU; std::nullopt if unknown.
struct nvml_facts {
  std::optional<std::string> driver_version;  ///< `580.65.06`
  std::optional<std::string> uuid;            ///< `GPU-...`; in a MIG instance, that of the whole GPU
  std::optional<int> cores;                   ///< FP32 lanes of all multiprocessors
  std::optional<double> clock_mhz;            ///< of the multiprocessors, now
  std::optional<double> clock_max_mhz;
  std::optional<double> memory_clock_mhz;  ///< now
  std::optional<double> memory_clock_max_mhz;
  std::optional<int> memory_bus_bits;
  std::optional<bool> ecc;
  std::optional<bool> persistence_mode;
  std::optional<double> power_limit_w;  ///< the one in force
  std::optional<double> power_limit_default_w;
  std::optional<double> temperature_c;
  std::optional<double> utilization_percent;  ///< of the time since the driver's last sample, up to a second ago
  std::optional<bool> mig;
  std::optional<int> nvlinks;                        ///< links in use
  std::optional<std::vector<unsigned>> processes;    ///< ids of the processes that have the GPU open for computing
  std::optional<std::vector<std::string>> throttle;  ///< as in device_reading
};

/// A GPU as NVML knows it, or the reason why NVML does not know it. It may be copied, and must not outlive its library.
class nvml_device {
 public:
  nvml_device() = default;

  /// Why nothing is known about the GPU; empty if something is.
  const std::string& problem() const { return problem_; }

  /// Makes about 30 calls of the library, which take 1 to 20 ms.
  nvml_facts facts() const;

  /// As read_telemetry().
  device_reading read() const;

 private:
  friend class nvml_library;
  const nvml_functions* call_ = nullptr;
  void* handle_ = nullptr;
  std::string problem_ = "the NVIDIA management library was not asked";
};

/// The loaded library.
class nvml_library {
 public:
  /// Loads and initialises `file`. If that fails, problem() says why.
  explicit nvml_library(const std::string& file = "libnvidia-ml.so.1");
  ~nvml_library();
  nvml_library(const nvml_library&) = delete;
  nvml_library& operator=(const nvml_library&) = delete;

  /// Why the library cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  /// The GPU at a PCI address (`0000:19:00.0`) or, if there is none, with a UUID (`GPU-...`). An index would not do:
  /// NVML orders GPUs differently than CUDA, and CUDA_VISIBLE_DEVICES changes CUDA's order.
  nvml_device find(const std::string& pci_bus_id, const std::string& uuid) const;

 private:
  void* file_ = nullptr;
  std::unique_ptr<nvml_functions> call_;
  std::string problem_;
};

/// Names of the reasons that hold clocks down, from NVML's bits. An idle GPU and clocks that somebody set are left out.
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace prumo::machine::cuda
