// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A device, and what it has for the teams of a kernel.

#include <prumo/detail/device/team_resources.hpp>
#include <prumo/spaces.hpp>

#include <type_traits>

namespace prumo::backend {

using prumo::detail::team_resources;
using prumo::detail::team_resources_of;

/// The number of the instance's device.
template <class Exec>
int device_of([[maybe_unused]] const Exec& instance) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return instance.cuda_device();
#endif
#if defined(KOKKOS_ENABLE_HIP)
  if constexpr (std::is_same_v<Exec, Kokkos::HIP>) return instance.hip_device();
#endif
  return 0;
}

}  // namespace prumo::backend
