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

/// If the call failed, throws a backend_error or a memory_error that names the call and the status.
inline void require_success(rocblas_status status, std::string_view call) {
  // If the workspace is smaller than rocBLAS would like, the call is slower, but right.
  if (status == rocblas_status_success || status == rocblas_status_perf_degraded) return;
  const std::string message = std::string(call) + ": " + rocblas_status_to_string(status);
  if (status == rocblas_status_memory_error) throw memory_error(message);
  throw backend_error(message);
}

/// rocBLAS 4 marks the function as deprecated, but only to announce that its default will change.
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
  /// Adopts the caller's handle, which must already be bound to the context's stream. It still belongs to the caller.
  /// Throws argument_error if it is bound to another stream.
  rocblas_context_handle(context<Kokkos::HIP>& owner, rocblas_handle adopted);

  rocblas_handle get() const { return is_owned() ? own_ : adopted_; }

  /// Whether the handle belongs to the context. The caller's handle may be in any mode.
  bool is_owned() const { return adopted_ == nullptr; }

  /// Sets the mode of the context's own handle, which nobody else changes.
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
