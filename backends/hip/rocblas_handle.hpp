// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The rocBLAS handle of a context.

#include "library_workspace.hpp"
#include <prumo/context.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/owned_handle.hpp>

#include <rocblas/rocblas.h>
#include <string>
#include <string_view>

namespace prumo::backend::hip {

using prumo::detail::current_device;
using prumo::detail::require_success;

/// Throws backend_error, or memory_error, that names the call and rocBLAS' own word for the status.
inline void require_success(rocblas_status status, std::string_view call) {
  // A smaller workspace than wished for makes a call slower, not wrong.
  if (status == rocblas_status_success || status == rocblas_status_perf_degraded) return;
  const std::string message = std::string(call) + ": " + rocblas_status_to_string(status);
  if (status == rocblas_status_memory_error) throw memory_error(message);
  throw backend_error(message);
}

/// rocBLAS 4 marks the function as deprecated to announce another default, not its end.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
inline rocblas_status set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode) {
  return rocblas_set_atomics_mode(handle, mode);
}
#pragma GCC diagnostic pop

/// The memory in which rocBLAS and hipBLASLt keep their temporaries.
using blas_workspace = library_workspace<Kokkos::HIP>;

/// A rocBLAS handle bound to the context's stream.
class rocblas_context_handle {
 public:
  explicit rocblas_context_handle(context<Kokkos::HIP>& owner);
  /// Adopts the caller's handle, which must be bound to the context's stream already and stays the caller's. Throws
  /// argument_error otherwise.
  rocblas_context_handle(context<Kokkos::HIP>& owner, rocblas_handle adopted);

  rocblas_handle get() const { return is_owned() ? own_ : adopted_; }

  /// No: it is the caller's, whose modes may be any.
  bool is_owned() const { return adopted_ == nullptr; }

  /// Of an own handle, whose mode nobody else changes.
  void set_math_mode(rocblas_math_mode wanted) {
    if (math_ == wanted) return;
    require_success(rocblas_set_math_mode(own_, wanted), "rocblas_set_math_mode");
    math_ = wanted;
  }

 private:
  prumo::detail::owned_handle<rocblas_handle, rocblas_destroy_handle> own_;
  rocblas_handle adopted_ = nullptr;
  rocblas_math_mode math_ = rocblas_default_math;
};

/// The workspace and the handle of a context, made at the first request.
blas_workspace& workspace_of(context<Kokkos::HIP>& owner);
rocblas_context_handle& rocblas_of(context<Kokkos::HIP>& owner);

}  // namespace prumo::backend::hip
