// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The rocBLAS handle of a context.

#include <prumo/context.hpp>
#include <prumo/detail/device/current_device.hpp>

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

/// Memory for the libraries' own temporaries: of its own, because rocBLAS keeps the address, and allocated before
/// anything is captured in a graph.
struct library_workspace {
  explicit library_workspace(const Kokkos::HIP& instance);

  void* data = nullptr;
  std::size_t bytes = 0;

 private:
  Kokkos::View<std::byte*, Kokkos::HIPSpace> memory_;
};

/// A rocBLAS handle bound to the context's stream.
class rocblas_context_handle {
 public:
  explicit rocblas_context_handle(context<Kokkos::HIP>& owner);
  /// Adopts the caller's handle, which must be bound to the context's stream already and stays the caller's. Throws
  /// argument_error otherwise.
  rocblas_context_handle(context<Kokkos::HIP>& owner, rocblas_handle adopted);
  ~rocblas_context_handle();
  rocblas_context_handle(rocblas_context_handle&& other) noexcept
      : handle_(other.handle_), is_owned_(other.is_owned_), math_(other.math_) {
    other.handle_ = nullptr;
  }
  rocblas_context_handle(const rocblas_context_handle&) = delete;
  rocblas_context_handle& operator=(const rocblas_context_handle&) = delete;
  rocblas_context_handle& operator=(rocblas_context_handle&&) = delete;

  rocblas_handle get() const { return handle_; }

  /// No: it is the caller's, whose modes may be any.
  bool is_owned() const { return is_owned_; }

  /// Of an own handle, whose mode nobody else changes.
  void set_math_mode(rocblas_math_mode wanted) {
    if (math_ == wanted) return;
    require_success(rocblas_set_math_mode(handle_, wanted), "rocblas_set_math_mode");
    math_ = wanted;
  }

 private:
  rocblas_handle handle_ = nullptr;
  bool is_owned_ = true;
  rocblas_math_mode math_ = rocblas_default_math;
};

/// The workspace and the handle of a context, made at the first request.
library_workspace& workspace_of(context<Kokkos::HIP>& owner);
rocblas_context_handle& rocblas_of(context<Kokkos::HIP>& owner);

}  // namespace prumo::backend::hip
