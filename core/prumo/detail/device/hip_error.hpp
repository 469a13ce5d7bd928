// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Turns failed calls of HIP's runtime into exceptions.

#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#if defined(KOKKOS_ENABLE_HIP)

#include <hip/hip_runtime_api.h>
#include <string>
#include <string_view>

namespace prumo::detail {

/// If the call failed, throws a backend_error that names it, or a memory_error for hipErrorOutOfMemory. Clears the
/// error if HIP allows that.
inline void require_success(hipError_t status, std::string_view call) {
  if (status == hipSuccess) return;
  (void)hipGetLastError();
  const std::string message =
      std::string(call) + ": " + hipGetErrorString(status) + " (" + hipGetErrorName(status) + ")";
  if (status == hipErrorOutOfMemory) throw memory_error(message);
  throw backend_error(message);
}

}  // namespace prumo::detail

#endif
