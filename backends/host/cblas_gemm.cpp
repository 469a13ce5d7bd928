// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

namespace prumo::backend {
namespace {

/// The integer of this BLAS: the type of argument m.
template <class Function>
struct integer_of;
template <class Order, class Transpose, class Integer, class... Rest>
struct integer_of<void(Order, Transpose, Transpose, Integer, Rest...)> {
  using type = Integer;
};
using blas_integer = integer_of<decltype(cblas_sgemm)>::type;
// The enumerations' own names differ between libraries.
using blas_order = decltype(CblasRowMajor);
using blas_transpose = decltype(CblasNoTrans);

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

/// The leading dimension of a matrix whose rows are the memory's lines; none where it cannot be said so.
template <class T>
std::optional<std::int64_t> leading_dimension(const gemm_matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  if (columns > 1 && matrix.column_stride != 1) return std::nullopt;
  if (rows <= 1) return std::max<std::int64_t>(1, columns);  // the one row has no next: its stride says nothing
  if (matrix.row_stride < std::max<std::int64_t>(1, columns)) return std::nullopt;
  return matrix.row_stride;
}

/// An operand as the BLAS takes it beside a row-major C.
struct operand {
  blas_transpose transpose;
  std::int64_t leading_dimension;
};

template <class T>
std::optional<operand> as_operand(const gemm_matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  if (const auto straight = leading_dimension(matrix, rows, columns)) return operand{CblasNoTrans, *straight};
  if (const auto turned = leading_dimension(matrix.transposed(), columns, rows)) return operand{CblasTrans, *turned};
  return std::nullopt;
}

/// The problem with a row-major C: itself or its transpose.
template <class T>
std::optional<gemm_problem<T>> with_rows_in_lines(const gemm_problem<T>& problem) {
  if (leading_dimension(problem.c, problem.m, problem.n)) return problem;
  if (leading_dimension(problem.c.transposed(), problem.n, problem.m)) return problem.transposed();
  return std::nullopt;
}

template <class T>
std::string strides_refused(std::string_view name, const gemm_matrix<T>& matrix) {
  return "the BLAS cannot express the strides of " + std::string(name) + " (" + std::to_string(matrix.row_stride) +
         ", " + std::to_string(matrix.column_stride) +
         "): one must be 1 and the other no smaller than a line of the matrix";
}

std::string integer_refused(std::string_view name, std::int64_t value) {
  return std::string(name) + " = " + std::to_string(value) + " exceeds the " +
         std::to_string(8 * sizeof(blas_integer)) + "-bit integers of the BLAS";
}

blas_integer narrowed(std::int64_t value) { return static_cast<blas_integer>(value); }

}  // namespace

template <class T>
std::string why_not_cblas(const gemm_problem<T>& problem) {
  if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) {
    return "the BLAS has no product for " + std::string(scalar_traits<T>::name);
  } else {
    if (problem.mode != gemm_mode::strict) {
      return "the BLAS computes in mode strict only, not in " + std::string(gemm_mode_name(problem.mode));
    }
    const auto& [a, b, c] = std::tie(problem.a, problem.b, problem.c);
    if (!with_rows_in_lines(problem)) return strides_refused("C", c);
    const auto left = as_operand(a, problem.m, problem.k);
    if (!left) return strides_refused("A", a);
    const auto right = as_operand(b, problem.k, problem.n);
    if (!right) return strides_refused("B", b);
    const std::pair<std::string_view, std::int64_t> integers[] = {
        {"m", problem.m},
        {"n", problem.n},
        {"k", problem.k},
        {"the leading dimension of A", left->leading_dimension},
        {"the leading dimension of B", right->leading_dimension},
        {"the leading dimension of C", std::max(c.row_stride, c.column_stride)}};
    for (const auto& [name, value] : integers) {
      if (value > std::numeric_limits<blas_integer>::max()) return integer_refused(name, value);
    }
    return {};
  }
}

template <class T>
void cblas_gemm(const gemm_problem<T>& given) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const gemm_problem<T> problem = *with_rows_in_lines(given);
    const operand a = *as_operand(problem.a, problem.m, problem.k);
    const operand b = *as_operand(problem.b, problem.k, problem.n);
    const std::int64_t c = *leading_dimension(problem.c, problem.m, problem.n);
    for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
      multiply(CblasRowMajor, a.transpose, b.transpose, narrowed(problem.m), narrowed(problem.n), narrowed(problem.k),
               problem.alpha, problem.a.data + batch * problem.a.batch_stride, narrowed(a.leading_dimension),
               problem.b.data + batch * problem.b.batch_stride, narrowed(b.leading_dimension), problem.beta,
               problem.c.data + batch * problem.c.batch_stride, narrowed(c));
    }
  }
}

template std::string why_not_cblas(const gemm_problem<float>&);
template std::string why_not_cblas(const gemm_problem<double>&);
template std::string why_not_cblas(const gemm_problem<f16>&);
template std::string why_not_cblas(const gemm_problem<bf16>&);
template void cblas_gemm(const gemm_problem<float>&);
template void cblas_gemm(const gemm_problem<double>&);
template void cblas_gemm(const gemm_problem<f16>&);
template void cblas_gemm(const gemm_problem<bf16>&);

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
