// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector as implementations see it. `prumo/gemv.hpp` is the operation.

#include "gemm_problem.hpp"
#include <prumo/backend/candidate.hpp>

#include <cstdint>

namespace prumo::backend {

/// y = alpha A x + beta y: A is m x n, with a transpose already resolved into strides. y is apart from A and x. beta ==
/// 0 says that y is not read, alpha == 0 that A and x are not. Strides are in elements.
template <class T>
struct gemv_problem {
  /// What alpha and beta are, as in gemm_problem.
  using parameter_type = typename gemm_problem<T>::parameter_type;

  std::int64_t m = 0;
  std::int64_t n = 0;
  parameter_type alpha = 1;
  parameter_type beta = 0;
  gemm_matrix<const T> a;
  const T* x = nullptr;
  std::int64_t x_stride = 1;
  T* y = nullptr;
  std::int64_t y_stride = 1;

  /// y has no entry.
  constexpr bool is_empty() const { return m == 0; }

  /// Nothing is multiplied: y = beta y.
  constexpr bool is_scaling() const { return n == 0 || alpha == 0; }

  /// The same as a product of matrices with y for a row: y' = alpha x' A' + beta y'.
  constexpr gemm_problem<T> as_product() const {
    gemm_problem<T> product;
    product.m = 1;
    product.n = m;
    product.k = n;
    product.alpha = alpha;
    product.beta = beta;
    product.a = {x, n * x_stride, x_stride, 0};
    product.b = a.transposed();
    product.c = {y, m * y_stride, y_stride, 0};
    return product;
  }
};

/// A product whose C has one row or one column, and neither a batch nor an epilogue, as that of a matrix and a vector.
template <class T>
constexpr gemv_problem<T> as_matrix_and_vector(const gemm_problem<T>& given) {
  const gemm_problem<T> product = given.n == 1 ? given : given.transposed();
  gemv_problem<T> problem;
  problem.m = product.m;
  problem.n = product.k;
  problem.alpha = product.alpha;
  problem.beta = product.beta;
  problem.a = product.a;
  problem.x = product.b.data;
  problem.x_stride = product.b.row_stride;
  problem.y = product.c.data;
  problem.y_stride = product.c.row_stride;
  return problem;
}

template <class T>
struct blas_vector_form;

/// One implementation for a space and type. Its problems are neither empty nor a mere scaling.
template <class Exec, class T>
using gemv_candidate = candidate<Exec, gemv_problem<T>, blas_vector_form<T>>;

/// The implementations that the space's own backend has, best first. host_gemv.cpp, cuda_gemv.cpp and hip_gemv.cpp
/// define it, each for its spaces and every type.
template <class Exec, class T>
std::span<const gemv_candidate<Exec, T>> vendor_gemv_candidates();

/// The implementation in Kokkos alone, `portable`: every type, any strides and extents.
template <class Exec, class T>
gemv_candidate<Exec, T> portable_gemv_candidate();

/// Computes the product at once by run_canonical_gemm(). For T counted<float> and counted<double>: this is what counted
/// flops are. In closed form they are those of canonical_gemm_counts() for a single column.
template <class T>
void run_canonical_gemv(const gemv_problem<T>& problem);

}  // namespace prumo::backend
