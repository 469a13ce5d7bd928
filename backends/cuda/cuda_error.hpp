// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/error.hpp>

#include <cuda_runtime_api.h>
#include <string>
#include <string_view>

namespace prumo::backend::cuda {

/// Throws backend_error, or memory_error for cudaErrorMemoryAllocation, that names the call; clears an error that does
/// not stick.
inline void require_success(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string message =
      std::string(call) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw memory_error(message);
  throw backend_error(message);
}

/// Makes a device current for a scope: handles, events and allocations belong to the device that is current.
class current_device {
 public:
  explicit current_device(int device) {
    require_success(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device) require_success(cudaSetDevice(device), "cudaSetDevice");
  }
  ~current_device() { cudaSetDevice(previous_); }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace prumo::backend::cuda
