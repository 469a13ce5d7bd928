// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prumo::machine::cuda {

/// The answers of the library in fake_nvml.cpp. Statuses are NVML's, and zero is success.
struct fake_nvml_answers {
  int init_status = 0;
  int device_status = 0;  ///< of every question about the device
  int mig_status = 3;     ///< not supported
  const char* pci_bus_id = "0000:19:00.0";
  const char* uuid = "GPU-8d3b1c2a-0000-1111-2222-333344445555";
  unsigned clock = 345;
  unsigned memory_clock = 2619;
  unsigned mig = 0;
  unsigned links = 18;  ///< of which the first is down
  unsigned processes = 1;
  unsigned long long reasons = 1;
};

}  // namespace prumo::machine::cuda
