// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The device on which CUDA's and HIP's runtimes work for the calling thread.

#include <prumo/detail/device/cuda_error.hpp>
#include <prumo/detail/device/hip_error.hpp>

namespace prumo::detail {

/// Makes an instance's device the calling thread's current one for a scope, and puts the caller's back afterwards.
/// Launches, handles, events and allocations belong to the device that is current. Hosts have none to choose.
///
/// If the device is already current, this costs one question to the runtime, about 10 ns.
template <class Exec>
class current_device {
 public:
  explicit current_device(const Exec&) {}
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
class current_device<Kokkos::Cuda> {
 public:
  explicit current_device(const Kokkos::Cuda& instance) : device_(instance.cuda_device()) {
    require_success(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device_) require_success(cudaSetDevice(device_), "cudaSetDevice");
  }
  ~current_device() {
    if (previous_ != device_) (void)cudaSetDevice(previous_);
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int device_;
  int previous_ = 0;
};
#endif

#if defined(KOKKOS_ENABLE_HIP)
template <>
class current_device<Kokkos::HIP> {
 public:
  explicit current_device(const Kokkos::HIP& instance) : device_(instance.hip_device()) {
    require_success(hipGetDevice(&previous_), "hipGetDevice");
    if (previous_ != device_) require_success(hipSetDevice(device_), "hipSetDevice");
  }
  ~current_device() {
    if (previous_ != device_) (void)hipSetDevice(previous_);
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int device_;
  int previous_ = 0;
};
#endif

}  // namespace prumo::detail
