// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector through the C interface of the BLAS.

#include <prumo/backend/gemv.hpp>

#include <string>

namespace prumo::backend {

/// Empty where the BLAS can compute the problem as it lies in memory, without a copy.
template <class T>
std::string why_not_cblas(const gemv_problem<T>& problem);

/// Computes the product; the caller has asked why_not_cblas().
template <class T>
void cblas_gemv(const gemv_problem<T>& problem);

}  // namespace prumo::backend
