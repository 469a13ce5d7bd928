// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/error.hpp>

#include <hip/hip_runtime_api.h>
#include <string>
#include <string_view>

namespace prumo::backend::hip {

/// Throws backend_error, or memory_error for hipErrorOutOfMemory, that names the call; clears an error that does not
/// stick.
inline void require_success(hipError_t status, std::string_view call) {
  if (status == hipSuccess) return;
  (void)hipGetLastError();
  const std::string message =
      std::string(call) + ": " + hipGetErrorString(status) + " (" + hipGetErrorName(status) + ")";
  if (status == hipErrorOutOfMemory) throw memory_error(message);
  throw backend_error(message);
}

/// Makes a device current for a scope: handles, events and allocations belong to the device that is current.
class current_device {
 public:
  explicit current_device(int device) {
    require_success(hipGetDevice(&previous_), "hipGetDevice");
    if (previous_ != device) require_success(hipSetDevice(device), "hipSetDevice");
  }
  ~current_device() { (void)hipSetDevice(previous_); }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace prumo::backend::hip
