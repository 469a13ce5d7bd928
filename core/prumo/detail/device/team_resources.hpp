// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a device has for the teams of a kernel.

#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {

struct team_resources {
  /// What the driver takes of a multiprocessor's memory for each team.
  static constexpr std::int64_t reserved_bytes = 1024;

  std::int64_t multiprocessors = 1;
  std::int64_t bytes_of_team = 48 << 10;            ///< the most scratch memory that one team may have
  std::int64_t bytes_of_multiprocessor = 64 << 10;  ///< for all teams that it holds
  int threads_of_team = 256;
  std::int64_t threads_of_multiprocessor = 512;  ///< with the registers that the kernel's bounds allow
};

/// Those of the instance's device. The numbers of threads are a kernel's choice, and stay as they are.
template <class Exec>
team_resources team_resources_of(const Exec& instance) {
  team_resources resources;
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (launches_by_cuda_runtime<Exec>) {
    const auto value_of = [&](cudaDeviceAttr attribute) {
      int value = 0;
      require_success(cudaDeviceGetAttribute(&value, attribute, instance.cuda_device()), "cudaDeviceGetAttribute");
      return value;
    };
    resources.multiprocessors = value_of(cudaDevAttrMultiProcessorCount);
    resources.bytes_of_team = value_of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    resources.bytes_of_multiprocessor = value_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    return resources;
  }
#endif
  constexpr int threads_of_multiprocessor = 2048;
  resources.multiprocessors = std::max(1, concurrency_of(instance) / threads_of_multiprocessor);
  resources.bytes_of_team = Kokkos::TeamPolicy<Exec>::scratch_size_max(0);
  return resources;
}

}  // namespace prumo::detail
