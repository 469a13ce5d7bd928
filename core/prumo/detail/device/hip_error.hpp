// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a failed call of HIP's runtime becomes.

#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#if defined(KOKKOS_ENABLE_HIP)

#include <hip/hip_runtime_api.h>
#include <string>
#include <string_view>

namespace prumo::detail {

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

}  // namespace prumo::detail

#endif
