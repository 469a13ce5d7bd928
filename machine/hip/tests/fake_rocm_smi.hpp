// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace prumo::machine::hip {

/// The answers of the library in fake_rocm_smi.cpp. Statuses are those of ROCm SMI, and zero is success. It has two
/// devices, and only the second one answers.
struct fake_smi_answers {
  int init_status = 0;
  int device_status = 0;                          ///< of every question about the device
  std::uint64_t address = 0x0000'0001'2000'c100;  ///< 0001:c1:00.0, partition 2
  std::uint64_t unique_id = 0x0aaa93110835edcd;
  std::uint64_t hertz = 1'700'000'000;
  bool has_junction = true;
  bool has_power = true;
};

}  // namespace prumo::machine::hip
