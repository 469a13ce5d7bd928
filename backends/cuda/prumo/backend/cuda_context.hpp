// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a context on CUDA takes over from a program that uses cuBLAS itself.

#include <prumo/context.hpp>

/// cuBLAS' own name for what a cublasHandle_t points to: its header is not needed here.
struct cublasContext;

namespace prumo {

/// Lets the context's matrix products use the caller's handle, a cublasHandle_t, instead of one of their own. The
/// handle must be bound to the stream of the context's instance, is used by the context's calls only while they run on
/// the host, and must outlive the context; its workspace and pointer mode stay as they are set.
///
/// Throws argument_error where the handle is bound to another stream, or the context has a handle already.
void adopt_cublas_handle(context<Kokkos::Cuda>& ctx, cublasContext* handle);

}  // namespace prumo
