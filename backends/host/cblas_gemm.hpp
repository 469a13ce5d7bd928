// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product through the C interface of the BLAS.

#include <prumo/backend/blas_form.hpp>

#include <string>

namespace prumo::backend {

/// The BLAS can compute the problem as it lies in memory, without a copy.
template <class T>
std::string prepare_cblas(const gemm_problem<T>& problem, blas_form<T>& form);

/// Computes the product without its epilogue.
template <class T>
void cblas_gemm(const blas_form<T>& form);

}  // namespace prumo::backend
