// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Turns failed calls of CUDA's runtime into exceptions.

#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <cuda_runtime_api.h>
#include <string>
#include <string_view>

namespace prumo::detail {

/// If the call failed, throws a backend_error that names it, or a memory_error for cudaErrorMemoryAllocation. Clears
/// the error if CUDA allows that.
inline void require_success(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string message =
      std::string(call) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw memory_error(message);
  throw backend_error(message);
}

}  // namespace prumo::detail

#endif
