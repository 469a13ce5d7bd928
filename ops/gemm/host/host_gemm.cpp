// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix product on the host through the C interface of the BLAS, and the list of the host's libraries.
#include "blas_form.hpp"
#include "gemm_completion.hpp"
#include "openmp_threads.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#if defined(PRUMO_HAS_CBLAS)
#include "blas_threads.hpp"
#include "cblas_integer.hpp"
#include "openblas_kernels.hpp"
#endif
#if defined(PRUMO_HAS_ONEDNN)
#include "onednn_gemm.hpp"
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

/// Why the BLAS is so slow that the next candidate is better. That one uses the processor's vectors if it asks for them
/// at run time, as oneDNN does, or if this was compiled for them.
template <class Exec, class T>
std::string_view why_cblas_is_not_chosen(const Exec&, const gemm_problem<T>&) {
#if defined(PRUMO_CBLAS_IS_OPENBLAS) && (defined(__AVX2__) || defined(PRUMO_HAS_ONEDNN))
  static const std::string reason = why_openblas_is_slow(openblas_get_corename(), vectors_of_this_processor());
  return reason;
#else
  return {};
#endif
}

/// A rectangle of C in one matrix of a batch.
struct product_part {
  std::int64_t batch;
  std::int64_t row, rows;
  std::int64_t column, columns;
};

template <class T>
void multiply_part(const blas_form<T>& form, const product_part& part) {
  const auto& [a, b, c] = std::tie(form.problem.a, form.problem.b, form.problem.c);
  const auto transpose_of = [](const blas_operand& operand) { return operand.transposed ? CblasTrans : CblasNoTrans; };
  multiply(CblasRowMajor, transpose_of(form.a), transpose_of(form.b), narrowed(part.rows), narrowed(part.columns),
           narrowed(form.problem.k), form.problem.alpha, a.data + part.batch * a.batch_stride + part.row * a.row_stride,
           narrowed(form.a.leading_dimension), b.data + part.batch * b.batch_stride + part.column * b.column_stride,
           narrowed(form.b.leading_dimension), form.problem.beta,
           c.data + part.batch * c.batch_stride + part.row * c.row_stride + part.column * c.column_stride,
           narrowed(form.leading_dimension_of_c));
}

/// The parts of each matrix of C, in rows and columns.
struct product_grid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;

  /// Of all grids with this number of parts, the one whose parts read least of A and B.
  static product_grid of(std::int64_t m, std::int64_t n, std::int64_t parts) {
    product_grid best;
    double least = 0;
    for (std::int64_t rows = 1; rows <= parts; ++rows) {
      if (parts % rows != 0 || rows > m || parts / rows > n) continue;
      const double read = static_cast<double>(m) / static_cast<double>(rows) +
                          static_cast<double>(n) * static_cast<double>(rows) / static_cast<double>(parts);
      if (least != 0 && read >= least) continue;
      least = read;
      best = {rows, parts / rows};
    }
    return best;
  }
};

/// Computes the product without its epilogue, each part on the thread of OpenMP that calls the BLAS for it.
template <class T>
void multiply_in_parts(const blas_form<T>& form, std::int64_t parts_of_a_matrix) {
  const gemm_problem<T>& problem = form.problem;
  const auto grid = product_grid::of(problem.m, problem.n, parts_of_a_matrix);
  const std::int64_t parts = problem.batch * grid.rows * grid.columns;
  const auto begin_of = [](std::int64_t extent, std::int64_t which, std::int64_t count) {
    return extent / count * which + std::min(which, extent % count);
  };
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t batch = part / (grid.rows * grid.columns);
    const std::int64_t across = part % grid.columns;
    const std::int64_t down = part / grid.columns % grid.rows;
    const std::int64_t row = begin_of(problem.m, down, grid.rows);
    const std::int64_t column = begin_of(problem.n, across, grid.columns);
    multiply_part(form, {batch, row, begin_of(problem.m, down + 1, grid.rows) - row, column,
                         begin_of(problem.n, across + 1, grid.columns) - column});
  }
}

/// Computes the product without its epilogue.
///
/// A BLAS that uses OpenMP opens regions of its own, except for small products of a batch: these are computed side by
/// side, each on the thread that calls. (cblas_?gemm_batch_strided is no part of the interface that all of them have.)
/// A BLAS with threads of its own is called by the threads of OpenMP in its place.
template <class T>
void multiply_all(const blas_form<T>& form, [[maybe_unused]] int threads) {
  const gemm_problem<T>& problem = form.problem;
#if defined(_OPENMP)
  // The multiply-adds of a product that more threads would hardly speed up.
  constexpr std::int64_t largest_on_one_thread = std::int64_t{1} << 21;
  const bool is_small = problem.m * problem.n * problem.k < largest_on_one_thread;
  const blas_threading threading = threading_of_blas();
  if (threading == blas_threading::own_threads) {
    const calling_thread_scope scope;
    return multiply_in_parts(form, is_small ? 1 : std::max<std::int64_t>(1, threads / problem.batch));
  }
  if (threading == blas_threading::openmp && is_small && problem.batch > 1) return multiply_in_parts(form, 1);
#endif
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    multiply_part(form, {batch, 0, problem.m, 0, problem.n});
  }
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  if constexpr (has_product<T>) {
    {
      const int threads = concurrency_of(ctx.instance());
      const openmp_threads_scope scope(threads);
      multiply_all(form, threads);
    }
    complete_product(ctx, form.problem, form.problem.c.data);
  }
}

}  // namespace
#endif

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates(bool) {
  static const std::vector<gemm_candidate<Exec, T>> candidates = [] {
    std::vector<gemm_candidate<Exec, T>> list;
#if defined(PRUMO_HAS_CBLAS)
    list.push_back({"cblas", prepare_cblas<Exec, T>, run_cblas<Exec, T>, false, false,
                    has_product<T> ? why_cblas_is_not_chosen<Exec, T> : nullptr});
#endif
#if defined(PRUMO_HAS_ONEDNN)
    // Its instructions for 16-bit numbers are not those that the peak of the vector unit is reckoned from.
    constexpr bool is_narrow = sizeof(T) == 2;
    list.push_back({"onednn", prepare_onednn<Exec, T>, run_onednn<Exec, T>, false, is_narrow});
#endif
    return list;
  }();
  return candidates;
}

#define PRUMO_INSTANTIATE_HOST_GEMM(Space, T) \
  template std::span<const gemm_candidate<Space, T>> vendor_gemm_candidates<Space, T>(bool);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f8_e4m3)

}  // namespace prumo::backend
