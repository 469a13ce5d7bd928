// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product for implementations: a plain problem, and a list of candidates for each execution space.
/// `prumo/gemm.hpp` is the operation.

#include <prumo/backend/candidate.hpp>
#include <prumo/context.hpp>
#include <prumo/counted.hpp>
#include <prumo/gemm_options.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <span>

namespace prumo::backend {

/// A matrix, or a batch of them: entry (i, j) of matrix b is `data[b * batch_stride + i * row_stride +
/// j * column_stride]`. Strides are in elements.
template <class T>
struct gemm_matrix {
  T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;

  /// The transposed matrix on the same memory.
  constexpr gemm_matrix transposed() const { return {data, column_stride, row_stride, batch_stride}; }
};

/// C = act(alpha A B + beta C + bias) for each matrix of a batch: A is m x k, B is k x n, C is m x n, with transposes
/// already resolved into strides. C does not overlap A, B and the bias. With beta == 0 C is not read, and with alpha ==
/// 0 A and B are not read.
template <class T>
struct gemm_problem {
  /// The type of alpha and beta: the compute type, which is f32 for the narrower types. It does not count, even if T
  /// does.
  using parameter_type = plain_scalar_t<compute_t<T>>;

  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  parameter_type alpha = 1;
  parameter_type beta = 0;
  gemm_matrix<const T> a;
  gemm_matrix<const T> b;
  gemm_matrix<product_result_t<T>> c;
  gemm_mode mode = gemm_mode::strict;
  activation_function activation = activation_function::none;
  bool has_bias = false;
  /// m x n, of one column or row and a stride of 0 for the others; the same for the whole batch.
  gemm_matrix<const product_result_t<T>> bias;

  /// No entry of C exists.
  constexpr bool is_empty() const { return m == 0 || n == 0 || batch == 0; }

  /// Nothing is multiplied: C = act(beta C + bias).
  constexpr bool is_scaling() const { return k == 0 || alpha == 0; }

  /// Something is left to do after alpha A B + beta C.
  constexpr bool has_epilogue() const { return has_bias || activation != activation_function::none; }

  /// The same product by rows for columns: C' = alpha B' A' + beta C'.
  constexpr gemm_problem transposed() const {
    gemm_problem other = *this;
    other.m = n;
    other.n = m;
    other.a = b.transposed();
    other.b = a.transposed();
    other.c = c.transposed();
    other.bias = bias.transposed();
    return other;
  }
};

template <class T>
struct blas_form;
template <class R>
struct gemm_completion;

/// One implementation of the product for a space and type. Its problems are neither empty nor a mere scaling.
template <class Exec, class T>
using gemm_candidate = candidate<Exec, gemm_problem<T>, blas_form<T>>;

/// The implementations that the space's own backend has, best first. host/, cuda/ and hip/ define it, each for
/// its spaces and every type. Where a product has an epilogue, another one may be best.
template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates(bool has_epilogue);

/// The implementation in Kokkos alone, `portable`: every type but f8, any strides and extents. It ends every list.
template <class Exec, class T>
gemm_candidate<Exec, T> portable_gemm_candidate();

/// Enqueues C = act(P + beta C + bias), and nothing where C would stay as it is. R is C's type.
template <class Exec, class R>
void enqueue_gemm_completion(context<Exec>& ctx, const gemm_completion<R>& completion);

/// Computes the product at once by the portable kernel's canonical host form: one thread, fixed tiles. For T
/// counted<float> and counted<double>: this is what counted flops of the product are.
template <class T>
void run_canonical_gemm(const gemm_problem<T>& problem);

/// What `run_canonical_gemm` counts, in closed form. The product has m n k fma. For each entry of C, alpha and beta
/// cost nothing, one mul, one add, one fma, or a mul and an fma. A bias costs an add. The activation has its own
/// counts.
flop_counts canonical_gemm_counts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, double alpha,
                                  double beta, bool has_bias = false,
                                  activation_function activation = activation_function::none);

}  // namespace prumo::backend
