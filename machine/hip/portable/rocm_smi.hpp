// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What AMD's management library (ROCm SMI) reports about a GPU. It is loaded at run time, so that programs can be
/// built without it, and can run without it and without these facts.

#include <prumo/machine/telemetry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace prumo::machine::hip {

struct smi_functions;

/// Facts of one GPU; std::nullopt if unknown.
struct smi_facts {
  std::optional<std::string> driver_version;
  std::optional<double> clock_mhz;         ///< of the compute units, now
  std::optional<double> memory_clock_mhz;  ///< now
  std::optional<double> power_limit_w;     ///< the one in force
  std::optional<double> power_limit_default_w;
  std::optional<double> temperature_c;
  std::optional<double> utilization_percent;      ///< of the driver's last sampling interval
  std::optional<std::int64_t> memory_used_bytes;  ///< of the device's own memory, by all processes
};

/// A GPU as the library knows it, or the reason why the library does not know it. It may be copied, and must not
/// outlive its library.
class smi_device {
 public:
  smi_device() = default;

  /// Why nothing is known about the GPU; empty if something is.
  const std::string& problem() const { return problem_; }

  smi_facts facts() const;

  /// As read_telemetry(). `throttle` stays empty, because the library has no stable way to say what holds clocks down.
  device_reading read() const;

 private:
  friend class smi_library;
  const smi_functions* call_ = nullptr;
  std::uint32_t index_ = 0;
  std::string problem_ = "ROCm SMI was not asked";
};

/// The loaded library.
class smi_library {
 public:
  /// Loads and initialises `file`, or the library under one of its usual names. If that fails, problem() says why.
  explicit smi_library(const std::string& file = "");
  ~smi_library();
  smi_library(const smi_library&) = delete;
  smi_library& operator=(const smi_library&) = delete;

  /// Why the library cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  /// The GPU at a PCI address (`0000:19:00.0`) or, if there is none, with a UUID (`GPU-adaa93110835edcd`). An index
  /// would not do: HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES change HIP's order, but not that of this library.
  smi_device find(const std::string& pci_bus_id, const std::string& uuid) const;

 private:
  void* file_ = nullptr;
  std::unique_ptr<smi_functions> call_;
  std::string problem_;
};

}  // namespace prumo::machine::hip
