// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What NVIDIA's management library (NVML) tells of a GPU. The library belongs to the driver and is loaded at run time,
/// so that programs are built where there is no driver, and run without these facts where there is none.

#include <prumo/machine/telemetry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::machine::cuda {

struct nvml_functions;

/// Facts of one GPU; unknown is std::nullopt.
struct nvml_facts {
  std::optional<std::string> driver_version;  ///< `580.65.06`
  std::optional<std::string> uuid;            ///< `GPU-...`, of the whole GPU also inside a MIG instance
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
  std::optional<bool> mig;
  std::optional<int> nvlinks;                        ///< links in use
  std::optional<std::vector<unsigned>> processes;    ///< ids of those that have the GPU open for computing
  std::optional<std::vector<std::string>> throttle;  ///< as in device_reading
};

/// A GPU as NVML knows it, or the reason why it does not. May be copied; needs its library alive.
class nvml_device {
 public:
  nvml_device() = default;

  /// Why nothing is known; empty where something is.
  const std::string& problem() const { return problem_; }

  /// Some 30 calls of the library: about 1 to 20 ms.
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
  /// Loads and initialises `file`; problem() tells where that failed.
  explicit nvml_library(const std::string& file = "libnvidia-ml.so.1");
  ~nvml_library();
  nvml_library(const nvml_library&) = delete;
  nvml_library& operator=(const nvml_library&) = delete;

  /// Why it cannot be used; empty where it can.
  const std::string& problem() const { return problem_; }

  /// The GPU at a PCI address (`0000:19:00.0`) or, where that is not found, of a UUID (`GPU-...`). Never by index: the
  /// order of NVML is not that of CUDA, which CUDA_VISIBLE_DEVICES changes too.
  nvml_device find(const std::string& pci_bus_id, const std::string& uuid) const;

 private:
  void* file_ = nullptr;
  std::unique_ptr<nvml_functions> call_;
  std::string problem_;
};

/// Names of the reasons that hold clocks down, of NVML's bits; an idle GPU and clocks that somebody set are left out.
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace prumo::machine::cuda
