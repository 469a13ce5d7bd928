// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "gemm_problem.hpp"
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <type_traits>

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

/// Whether C has so few columns that rows of A, which lie in memory, are best multiplied by each of them. The more
/// columns there are, the longer the sums must be, or the time goes into adding up the lanes of vectors. Columns of B
/// with gaps are copied, which is little work beside many rows only.
template <class T>
bool multiplies_few_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t most = 6, products_of_a_column = 12, many_rows = 64;
  if (problem.a.column_stride != 1 || problem.k == 1) return false;
  if (problem.n == 1) return true;
  if (problem.b.row_stride != 1 && problem.m < many_rows) return false;
  if (problem.n <= most) return problem.k >= products_of_a_column * problem.n;
  constexpr std::int64_t lanes = simd_bytes / sizeof(T), products_of_empty_lanes = 128, longest = 8192;
  return lanes == 16 && problem.n <= 2 * most && problem.k <= longest &&
         problem.k * (lanes - problem.n) >= products_of_empty_lanes * problem.n;
}

/// Whether C has so few rows or columns that the time goes into reading A or B, and nothing is left to do afterwards.
/// Of f32 and f64, other products of few rows or columns are computed by the kernel of direct_gemm_host.hpp. Of 16-bit
/// types, the kernels for thin products are faster than tiles of C in the portable kernel for 8 of them or fewer,
/// unless sums are short.
template <class T>
bool is_thin(const gemm_problem<T>& problem, std::int64_t most = 8) {
  const std::int64_t fewest = std::min(problem.m, problem.n);
  if (fewest == 0 || problem.has_epilogue()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    return multiplies_few_columns(with_few_columns(problem));
  } else {
    return fewest <= most && !has_short_sums(problem);
  }
}

/// Whether these kernels are faster than the host's library, too: of 16-bit types, for a single row or column.
template <class T>
bool is_thin_for_library(const gemm_problem<T>& problem) {
  return is_thin(problem, std::is_floating_point_v<T> ? 8 : 1);
}

/// C = alpha A B + beta C of a thin problem on a host, in any strides.
template <class Exec, class T>
void enqueue_thin_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
