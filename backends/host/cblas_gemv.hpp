// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector through the C interface of the BLAS.

#include <prumo/backend/blas_vector_form.hpp>

#include <string>

namespace prumo::backend {

/// The BLAS can compute the problem as it lies in memory, without a copy.
template <class T>
std::string prepare_cblas(const gemv_problem<T>& problem, blas_vector_form<T>& form);

/// Computes the product.
template <class T>
void cblas_gemv(const gemv_problem<T>& problem, const blas_vector_form<T>& form);

}  // namespace prumo::backend
