// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The work that is left after a library's product: one pass over C. It adds beta C, if the library would round twice,
/// adds the bias, and calls the activation.

#include "gemm_problem.hpp"

namespace prumo::backend {

/// C = act(P + beta C + bias) for each matrix of a batch, computed in the compute type and rounded to R once. R is C's
/// type.
template <class R>
struct gemm_completion {
  using parameter_type = plain_scalar_t<compute_t<R>>;

  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t batch = 1;
  parameter_type beta = 0;  ///< 0: C is not read
  gemm_matrix<R> c;
  bool has_bias = false;
  gemm_matrix<const R> bias;
  activation_function activation = activation_function::none;
  const compute_t<R>* product = nullptr;  ///< P, row by row and without gaps; null if P is zero

  /// C stays as it is.
  constexpr bool is_nothing() const {
    return beta == 1 && product == nullptr && !has_bias && activation == activation_function::none;
  }

  constexpr gemm_completion transposed() const {
    gemm_completion other = *this;
    other.m = n;
    other.n = m;
    other.c = c.transposed();
    other.bias = bias.transposed();
    return other;
  }
};

/// C = act(beta C + bias), for problems that multiply nothing.
template <class T>
constexpr gemm_completion<product_result_t<T>> scaling_of(const gemm_problem<T>& problem) {
  return {problem.m, problem.n,        problem.batch, problem.beta,
          problem.c, problem.has_bias, problem.bias,  problem.activation};
}

/// Whether a library must leave its product in f32, so that C is rounded only once. Some libraries round a 16-bit
/// product before they add beta C, and a pass after the product would read rounded numbers.
template <class T>
constexpr bool needs_f32_result(const gemm_problem<T>& problem) {
  return sizeof(product_result_t<T>) == 2 && (problem.beta != 0 || problem.has_epilogue());
}

/// Computes the completion on the calling thread, for R counted<float> and counted<double>.
template <class R>
void run_canonical_completion(const gemm_completion<R>& completion);

/// Enqueues the rest of a problem with a row-major C after a library wrote `result`. That is C itself, or the product
/// in f32 if needs_f32_result().
template <class Exec, class T>
void complete_product(context<Exec>& ctx, const gemm_problem<T>& problem, const void* result) {
  using R = product_result_t<T>;
  gemm_completion<R> left = scaling_of(problem);
  if (result != problem.c.data) {
    left.product = static_cast<const compute_t<R>*>(result);
  } else {
    left.beta = 1;  // the library has added it
  }
  enqueue_gemm_completion(ctx, left);
}

}  // namespace prumo::backend
