// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Lets a context on HIP use the rocBLAS handle of a program.

#include <prumo/context.hpp>

/// rocBLAS' name for the type that a rocblas_handle points to. So rocBLAS' header is not needed here.
struct _rocblas_handle;

namespace prumo {

/// Lets the context's matrix products use the caller's handle, a rocblas_handle, instead of one of their own. The
/// handle must be bound to the stream of the context's instance and must outlive the context. The context's calls use
/// it only while they run on the host. Its workspace stays as the caller set it, and its modes are put back after each
/// call.
///
/// Throws argument_error if the handle is bound to another stream, or if the context already has a handle. Throws
/// unsupported_error if prumo was built without rocBLAS.
void adopt_rocblas_handle(context<Kokkos::HIP>& ctx, _rocblas_handle* handle);

}  // namespace prumo
