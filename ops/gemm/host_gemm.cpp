// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix product on the host through the C interface of the BLAS.
#include "blas_form.hpp"
#include "gemm_completion.hpp"
#include "openmp_threads.hpp"

#include <array>

#if defined(PRUMO_HAS_CBLAS)
#include "cblas_integer.hpp"
#endif

namespace prumo::backend {

#if defined(PRUMO_HAS_CBLAS)
namespace {

void multiply(blas_order order, blas_transpose trans_a, blas_transpose trans_b, blas_integer m, blas_integer n,
              blas_integer k, float alpha, const float* a, blas_integer lda, const float* b, blas_integer ldb,
              float beta, float* c, blas_integer ldc) {
  cblas_sgemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void multiply(blas_order order, blas_transpose trans_a, blas_transpose trans_b, blas_integer m, blas_integer n,
              blas_integer k, double alpha, const double* a, blas_integer lda, const double* b, blas_integer ldb,
              double beta, double* c, blas_integer ldc) {
  cblas_dgemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#if defined(_OPENMP)
/// Whether several threads of OpenMP may call it at a time, each for itself.
bool follows_openmp() {
#if defined(PRUMO_CBLAS_IS_OPENBLAS)
  constexpr int with_openmp = 2;
  return openblas_get_parallel() == with_openmp;
#else
  return false;
#endif
}

/// Multiply-adds of a product that more threads would hardly speed up.
constexpr std::int64_t largest_on_one_thread = std::int64_t{1} << 21;
#endif

/// The BLAS can compute the problem as it lies in memory, without a copy.
template <class Exec, class T>
std::string prepare_cblas(const Exec&, const gemm_problem<T>& problem, blas_form<T>& form) {
  if constexpr (!has_product<T>) {
    return "the BLAS has no product for " + std::string(scalar_traits<T>::name);
  } else {
    if (problem.mode != gemm_mode::strict) {
      return "the BLAS computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
    }
    std::string reason = to_blas_form(problem, form);
    return reason.empty() ? why_integers_do_not_fit(form) : reason;
  }
}

/// Computes the product without its epilogue.
template <class T>
void multiply_all(const blas_form<T>& form) {
  const gemm_problem<T>& problem = form.problem;
  const auto transpose_of = [](const blas_operand& operand) { return operand.transposed ? CblasTrans : CblasNoTrans; };
  const auto multiply_one = [&](std::int64_t batch) {
    multiply(CblasRowMajor, transpose_of(form.a), transpose_of(form.b), narrowed(problem.m), narrowed(problem.n),
             narrowed(problem.k), problem.alpha, problem.a.data + batch * problem.a.batch_stride,
             narrowed(form.a.leading_dimension), problem.b.data + batch * problem.b.batch_stride,
             narrowed(form.b.leading_dimension), problem.beta, problem.c.data + batch * problem.c.batch_stride,
             narrowed(form.leading_dimension_of_c));
  };
  // Small products side by side, each on the thread that calls: a BLAS that follows OpenMP opens no second region.
  // (cblas_?gemm_batch_strided is no part of the interface that all of them have.)
#if defined(_OPENMP)
  if (problem.batch > 1 && problem.m * problem.n * problem.k < largest_on_one_thread && follows_openmp()) {
#pragma omp parallel for schedule(static)
    for (std::int64_t batch = 0; batch < problem.batch; ++batch) multiply_one(batch);
    return;
  }
#endif
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) multiply_one(batch);
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  if constexpr (has_product<T>) {
    {
      const openmp_threads_scope threads(concurrency_of(ctx.instance()));
      multiply_all(form);
    }
    complete_product(ctx, form.problem, form.problem.c.data);
  }
}

}  // namespace
#endif

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates(bool) {
#if defined(PRUMO_HAS_CBLAS)
  static constexpr std::array<gemm_candidate<Exec, T>, 1> candidates{
      {{"cblas", prepare_cblas<Exec, T>, run_cblas<Exec, T>}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HOST_GEMM(Space, T) \
  template std::span<const gemm_candidate<Space, T>> vendor_gemm_candidates<Space, T>(bool);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f8_e4m3)

}  // namespace prumo::backend
