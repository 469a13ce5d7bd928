// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a context on HIP takes over from a program that uses rocBLAS itself.

#include <prumo/context.hpp>

/// rocBLAS' own name for what a rocblas_handle points to: its header is not needed here.
struct _rocblas_handle;

namespace prumo {

/// Lets the context's matrix products use the caller's handle, a rocblas_handle, instead of one of their own. The
/// handle must be bound to the stream of the context's instance, is used by the context's calls only while they run on
/// the host, and must outlive the context; its workspace stays as it is set, and its modes are put back after each
/// call.
///
/// Throws argument_error where the handle is bound to another stream, or the context has a handle already, and
/// unsupported_error where prumo was built without rocBLAS.
void adopt_rocblas_handle(context<Kokkos::HIP>& ctx, _rocblas_handle* handle);

}  // namespace prumo
