// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product through rocBLAS.

#include "blas_form.hpp"

#include <string>

namespace prumo::backend::hip {

/// rocBLAS can compute the problem as it lies in memory, in the mode asked for.
///
/// f16 and bf16 are computed in f32. The matrix units of gfx90a take subnormal f16 and bf16 for zero; rocBLAS has a way
/// around it for f16 that rounds to bf16 instead, which loses more.
template <class T>
std::string prepare_rocblas(const Kokkos::HIP& instance, const gemm_problem<T>& problem, blas_form<T>& form);

template <class T>
void run_rocblas(context<Kokkos::HIP>& ctx, const blas_form<T>& form);

}  // namespace prumo::backend::hip
