// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/detail/cuda_error.hpp>

namespace prumo::backend::cuda {

using prumo::detail::require_success;

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
