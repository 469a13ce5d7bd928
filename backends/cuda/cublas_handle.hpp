// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The cuBLAS and cuBLASLt handles of a context.

#include "library_workspace.hpp"
#include <prumo/context.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/owned_handle.hpp>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <string>
#include <string_view>

namespace prumo::backend::cuda {

using prumo::detail::current_device;
using prumo::detail::require_success;

/// If the call failed, throws a backend_error that names the call and the status.
inline void require_success(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw backend_error(std::string(call) + ": " + cublasGetStatusString(status) + " (" + cublasGetStatusName(status) +
                      ")");
}

/// The memory in which cuBLAS and cuBLASLt keep their temporaries.
using blas_workspace = library_workspace<Kokkos::Cuda>;

/// A cuBLAS handle bound to the context's stream. The stream is set once and the workspace after it, because
/// cublasSetStream() resets the workspace.
class cublas_handle {
 public:
  explicit cublas_handle(context<Kokkos::Cuda>& owner);
  /// Adopts the caller's handle, which must already be bound to the context's stream. It still belongs to the caller.
  /// Throws argument_error if it is bound to another stream.
  cublas_handle(context<Kokkos::Cuda>& owner, cublasHandle_t adopted);

  cublasHandle_t get() const { return is_owned() ? own_ : adopted_; }

  /// Whether the handle belongs to the context. The caller's handle may be in any mode.
  bool is_owned() const { return adopted_ == nullptr; }

  /// Sums are never rounded to a narrower type than they are computed in.
  static constexpr auto math =
      static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

 private:
  prumo::detail::owned_handle<cublasHandle_t, cublasDestroy> own_;
  cublasHandle_t adopted_ = nullptr;
};

/// Sets what a call needs if the handle is the caller's: alpha and beta on the host, and the context's math mode. The
/// old state is put back afterwards. The context's own handles have this state from the beginning.
class handle_state_scope {
 public:
  explicit handle_state_scope(const cublas_handle& handle) : handle_(handle) {
    if (handle.is_owned()) return;
    require_success(cublasGetPointerMode(handle.get(), &pointers_), "cublasGetPointerMode");
    require_success(cublasGetMathMode(handle.get(), &math_), "cublasGetMathMode");
    if (pointers_ != CUBLAS_POINTER_MODE_HOST) cublasSetPointerMode(handle.get(), CUBLAS_POINTER_MODE_HOST);
    if (math_ != cublas_handle::math) cublasSetMathMode(handle.get(), cublas_handle::math);
  }
  ~handle_state_scope() {
    if (pointers_ != CUBLAS_POINTER_MODE_HOST) cublasSetPointerMode(handle_.get(), pointers_);
    if (math_ != cublas_handle::math) cublasSetMathMode(handle_.get(), math_);
  }
  handle_state_scope(const handle_state_scope&) = delete;
  handle_state_scope& operator=(const handle_state_scope&) = delete;

 private:
  const cublas_handle& handle_;
  cublasPointerMode_t pointers_ = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_ = cublas_handle::math;
};

/// The workspace and the handle of a context, made at the first request.
blas_workspace& workspace_of(context<Kokkos::Cuda>& owner);
cublas_handle& cublas_of(context<Kokkos::Cuda>& owner);

}  // namespace prumo::backend::cuda
