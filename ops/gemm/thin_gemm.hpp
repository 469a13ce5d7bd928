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

/// Whether tiles of C are faster than the kernel of thin_rows_host.hpp because C has several columns and sums of 16-bit
/// numbers are short. That kernel converts the last numbers of a row, which do not fill a vector, again for each
/// column. For short sums this takes most of its time. Tiles convert each row once.
template <class T>
bool has_short_sums(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_for_a_column = 16, fewest_rows = 16;
  const std::int64_t columns = std::min(problem.m, problem.n);
  return sizeof(T) == 2 && columns > 1 && std::max(problem.m, problem.n) >= fewest_rows &&
         problem.k < short_for_a_column * columns && !takes_columns(with_few_columns(problem));
}

/// Whether C has so few columns that rows of A, which lie in memory, are best multiplied by each of them. The more
/// columns there are, the longer the sums must be, or the time goes into adding up the lanes of vectors. Columns of B
/// with gaps are copied, which is little work beside many rows, or if they stay in a nearest cache.
template <class T>
bool multiplies_few_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t few = 6, most = 14, products_of_a_column = 12, many_rows = 64, near_elements = 8192;
  if (problem.a.column_stride != 1 || problem.k == 1) return false;
  if (problem.n == 1) return true;
  const bool is_copied_for_few_rows = problem.b.row_stride != 1 && problem.m < many_rows;
  if (is_copied_for_few_rows && (problem.m < 2 * problem.n || problem.n * problem.k > near_elements)) return false;
  if (problem.n <= few) return problem.k >= products_of_a_column * problem.n;
  constexpr std::int64_t lanes = simd_bytes / sizeof(T), products_of_empty_lanes = 40;
  // Tiles that write whole rows of C are faster, from memory by half, until B no longer fits beside them.
  constexpr std::int64_t some = 8, longest_of_some = 160, longest = 256;
  if (problem.m >= many_rows && problem.k <= (problem.n <= some ? longest_of_some : longest)) return false;
  return lanes == 16 && problem.n <= most && problem.k * (lanes - problem.n) >= products_of_empty_lanes * problem.n;
}

/// Whether sums of 16-bit numbers are so long, and rows so many beside columns, that a tile of few columns, most of
/// whose lanes are empty, takes longer than rows that are multiplied by each column. Measured with AVX-512: 20 x 4 x
/// 1000 takes 4.9 us in place of 9.4, but 10 x 5 x 700 takes 4.8 in place of 3.3.
template <class T>
bool has_long_sums_of_few_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t long_sum = 256, many_products = std::int64_t{1} << 16;
  return simd_bytes >= 64 && problem.k >= long_sum && 2 * problem.m >= 5 * problem.n &&
         problem.m * problem.n * problem.k >= many_products;
}

/// Whether C has so few columns that rows of 16-bit numbers are best multiplied by each of them. Columns of B are
/// widened first, which is little work beside many rows, or where sums are long. Beside many rows they are read again
/// for each row, so all of them must fit into a second-level cache.
template <class T>
bool multiplies_few_narrow_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t few = 2, most = 8, many_rows = 128, cached_elements = std::int64_t{1} << 17;
  if (problem.a.column_stride != 1 && problem.k != 1) return false;
  if (problem.n <= few) return true;
  if (problem.n > most) return false;
  return problem.m >= many_rows ? problem.n * problem.k <= cached_elements : has_long_sums_of_few_columns(problem);
}

/// Whether C has so few columns that columns of A, which hold 16-bit numbers, are best added up for all of them at
/// once. With AVX-512, wide rows and short sums take tiles of C less time: 2 x 10000 x 40 took 20 us, and would
/// take 30.
template <class T>
bool adds_few_columns(const gemm_problem<T>& problem) {
  constexpr std::int64_t most_always = simd_bytes >= 64 ? 1 : 2, most = simd_bytes >= 64 ? 3 : 2;
  constexpr std::int64_t long_sum = 256, few_entries = 2048;
  return problem.n <= most_always ||
         (problem.n <= most && problem.k >= long_sum && problem.m * problem.n <= few_entries);
}

/// Whether C has so few rows or columns that the time goes into reading A or B. Other products of few rows or columns
/// are computed by the kernel of direct_gemm_host.hpp.
template <class T>
bool is_thin(const gemm_problem<T>& given) {
  if (std::min(given.m, given.n) == 0) return false;
  const gemm_problem<T> problem = with_few_columns(given);
  if constexpr (std::is_floating_point_v<T>) {
    return multiplies_few_columns(problem);
  } else {
    if (has_short_sums(given)) return false;
    return takes_columns(problem) ? adds_few_columns(problem) : multiplies_few_narrow_columns(problem);
  }
}

/// Whether these kernels are faster than the host's library, too. Units for matrix products multiply bf16 faster,
/// unless there are one or two rows or columns, or up to four with few of the others. A Zen 5 has no such units: oneDNN
/// reads a long A more slowly there, from memory by a factor of up to six. 5000 x 3 x 500 takes 46 us from the caches
/// and 68 us from memory; oneDNN takes 126 and 396 us. 9000 x 8 x 130 takes 71 us from the caches and 86 us from
/// memory; oneDNN takes 50 and 147 us.
template <class T>
bool is_thin_for_library(const gemm_problem<T>& problem) {
  constexpr std::int64_t most_of_bf16 = 2, more_of_bf16 = 4, many = 128, few_on_zen = 5, long_sum_on_zen = 256;
  if (!is_thin(problem)) return false;
  if constexpr (!std::is_same_v<T, bf16>) return true;
  const std::int64_t columns = std::min(problem.m, problem.n), rows = std::max(problem.m, problem.n);
  if (columns <= (rows < many ? more_of_bf16 : most_of_bf16)) return true;
  return prumo::detail::compiled_for_zen && !takes_columns(with_few_columns(problem)) &&
         (columns <= few_on_zen || problem.k >= long_sum_on_zen);
}

/// C = alpha A B + beta C of a thin problem on a host, in any strides.
template <class Exec, class T>
void enqueue_thin_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
