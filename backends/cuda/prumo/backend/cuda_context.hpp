// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Lets a context on CUDA use the cuBLAS handle of a program.

#include <prumo/context.hpp>

/// cuBLAS' name for the type that a cublasHandle_t points to. So cuBLAS' header is not needed here.
struct cublasContext;

namespace prumo {

/// Lets the context's matrix products use the caller's handle, a cublasHandle_t, instead of one of their own. The
/// handle must be bound to the stream of the context's instance and must outlive the context. The context's calls use
/// it only while they run on the host. Its workspace and pointer mode stay as the caller set them.
///
/// Throws argument_error if the handle is bound to another stream, or if the context already has a handle.
void adopt_cublas_handle(context<Kokkos::Cuda>& ctx, cublasContext* handle);

}  // namespace prumo
