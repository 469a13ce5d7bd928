// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "gemm_problem.hpp"

#include <algorithm>

namespace prumo::backend {

/// The same product, transposed if C has fewer rows than columns.
template <class T>
gemm_problem<T> with_few_columns(const gemm_problem<T>& problem) {
  return problem.n <= problem.m ? problem : problem.transposed();
}

/// Whether columns of A are added up instead of rows multiplied: where rows lie closer together than columns, unless
/// there are too few rows for vector registers.
template <class T>
bool takes_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t fewest_rows = 16;
  return problem.m >= fewest_rows && (problem.k == 1 || problem.a.row_stride < problem.a.column_stride);
}

/// Whether sums of 16-bit numbers are so short that their ends take most of the time. The kernel of thin_rows_host.hpp
/// converts the numbers behind the last whole vector of a row again for each column. Tiles of C convert a row once.
template <class T>
bool has_short_sums(const gemm_problem<T>& problem) {
  constexpr std::int64_t vector_elements = 16;
  const std::int64_t columns = std::min(problem.m, problem.n);
  const std::int64_t short_for_a_column = problem.k % vector_elements == 0 ? 16 : 64;
  constexpr std::int64_t fewest_rows = 16;
  return sizeof(T) == 2 && columns > 1 && std::max(problem.m, problem.n) >= fewest_rows &&
         problem.k < short_for_a_column * columns && !takes_columns(with_few_columns(problem));
}

/// Whether C has so few rows or columns that the time goes into reading A or B, and nothing is left to do afterwards.
/// With 8 of them or fewer, the kernels for thin products are faster than tiles of C in the portable kernel, unless
/// sums are short.
template <class T>
bool is_thin(const gemm_problem<T>& problem, std::int64_t most = 8) {
  const std::int64_t fewest = std::min(problem.m, problem.n);
  return fewest > 0 && fewest <= most && !problem.has_epilogue() && !has_short_sums(problem);
}

/// Whether these kernels are faster than the host's library, too. Where rows of A are multiplied, they are faster than
/// the BLAS for a few columns; otherwise, for a single one.
template <class T>
bool is_thin_for_library(const gemm_problem<T>& problem) {
  const bool multiplies_rows = sizeof(T) >= 4 && !takes_columns(with_few_columns(problem));
  return is_thin(problem, multiplies_rows ? 4 : 1);
}

/// C = alpha A B + beta C of a thin problem on a host, in any strides.
template <class Exec, class T>
void enqueue_thin_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
