// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product through hipBLASLt.

#include "blas_form.hpp"

#include <string>

namespace prumo::backend::hip {

/// rocBLAS can compute the problem and hipBLASLt is made for the device and the sizes. Which types it has
/// kernels for differs from device to device and is known only when it is asked for algorithms.
template <class T>
std::string prepare_hipblaslt(const Kokkos::HIP& instance, const gemm_problem<T>& problem, blas_form<T>& form);

/// By what hipBLASLt proposes first; where it proposes nothing, by rocBLAS.
///
/// f16 and bf16 are computed in f32. hipBLASLt, other than rocBLAS, cannot be told to add sums in the same order every
/// time.
template <class T>
void run_hipblaslt(context<Kokkos::HIP>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

/// By the fastest of what hipBLASLt proposes and of what rocBLAS takes: backend::run_fastest().
template <class T>
void run_tuned(context<Kokkos::HIP>& ctx, const gemm_problem<T>& problem, const blas_form<T>& form);

}  // namespace prumo::backend::hip
