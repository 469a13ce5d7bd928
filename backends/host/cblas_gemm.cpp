// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemm.hpp"

#include "cblas_integer.hpp"
#include <prumo/backend/blas_form.hpp>

#include <type_traits>

namespace prumo::backend {
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

}  // namespace

template <class T>
std::string prepare_cblas(const gemm_problem<T>& problem, blas_form<T>& form) {
  if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) {
    return "the BLAS has no product for " + std::string(scalar_traits<T>::name);
  } else {
    if (problem.mode != gemm_mode::strict) {
      return "the BLAS computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
    }
    std::string reason = to_blas_form(problem, form);
    return reason.empty() ? why_integers_do_not_fit(form) : reason;
  }
}

template <class T>
void cblas_gemm(const blas_form<T>& form) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const gemm_problem<T>& problem = form.problem;
    const auto transpose_of = [](const blas_operand& operand) {
      return operand.transposed ? CblasTrans : CblasNoTrans;
    };
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
}

#define PRUMO_INSTANTIATE_CBLAS_GEMM(T)                                      \
  template std::string prepare_cblas(const gemm_problem<T>&, blas_form<T>&); \
  template void cblas_gemm(const blas_form<T>&);
PRUMO_INSTANTIATE_CBLAS_GEMM(float)
PRUMO_INSTANTIATE_CBLAS_GEMM(double)
PRUMO_INSTANTIATE_CBLAS_GEMM(f16)
PRUMO_INSTANTIATE_CBLAS_GEMM(bf16)
PRUMO_INSTANTIATE_CBLAS_GEMM(f8_e4m3)

std::string host_blas_description() {
#if defined(PRUMO_CBLAS_IS_OPENBLAS)
  return openblas_get_config();
#else
  return "a CBLAS that does not tell its name";
#endif
}

std::vector<std::string> host_blas_warnings() {
  std::vector<std::string> warnings;
#if defined(PRUMO_CBLAS_IS_OPENBLAS)
#if defined(KOKKOS_ENABLE_OPENMP)
  constexpr int sequential = 0;
  constexpr int with_own_threads = 1;  // 2 uses OpenMP
  if (openblas_get_parallel() == sequential) {
    warnings.push_back("this OpenBLAS is sequential: the matrix product runs on one thread");
  } else if (openblas_get_parallel() == with_own_threads) {
    warnings.push_back(
        "this OpenBLAS has threads of its own, which compete with OpenMP's for the cores and do not follow "
        "the number "
        "of threads of an instance; the OpenMP flavour (Debian: libopenblas-openmp-dev) does");
  }
#endif
#if defined(__x86_64__)
  const std::string kernels = openblas_get_corename();
  if (__builtin_cpu_supports("avx512f") && (kernels == "Haswell" || kernels == "Zen")) {
    warnings.push_back(
        "this OpenBLAS runs its " + kernels +
        " kernels, which do not use the 512-bit vectors of this processor; OPENBLAS_CORETYPE=SkylakeX in "
        "the environment makes it use them");
  }
#endif
#endif
  return warnings;
}

}  // namespace prumo::backend
