// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thin_gemm.hpp"

#include <algorithm>
#include <type_traits>

namespace prumo::backend {

/// The product or its transpose, whichever the direct kernel computes faster: short sums are written along rows of C,
/// and for long ones rows of B are read without a copy.
template <class T>
gemm_problem<T> turned_for_direct(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 64;
  const gemm_problem<T> turned = problem.transposed();
  const auto has_rows = [](const auto& matrix) { return matrix.column_stride == 1; };
  if (problem.k > short_sum && has_rows(problem.b) != has_rows(turned.b)) {
    return has_rows(problem.b) ? problem : turned;
  }
  return !has_rows(problem.c) && has_rows(turned.c) ? turned : problem;
}

/// The types that the direct kernel multiplies: not those that count.
template <class T>
inline constexpr bool has_direct_kernel =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// Whether sums are so short, or C has so few rows or columns, that it takes as long to copy A and B as to multiply
/// them. The kernel of direct_gemm_host.hpp reads them where they are. Tiles of C in the portable kernel, and
/// libraries, copy them first.
template <class T>
bool is_direct(const gemm_problem<T>& problem) {
  constexpr bool is_narrow = sizeof(T) == 2;
  constexpr std::int64_t short_sum = is_narrow ? 64 : 192, few = is_narrow ? 64 : 96;
  if (!has_direct_kernel<T> || is_thin(problem)) return false;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few;
}

/// Whether that kernel multiplies 16-bit numbers faster than oneDNN with AVX-512: measured on an Intel Emerald Rapids,
/// which has units for products of bf16, and multiplies f16 as f32. A call of oneDNN takes microseconds. It copies a
/// wide B for three rows, too, and does not cut the long sums of a small C into parts for its threads.
template <class T>
bool is_direct_for_narrow_library(const gemm_problem<T>& problem) {
  constexpr bool is_f16 = std::is_same_v<T, f16>;
  constexpr std::int64_t few_products = std::int64_t{1} << (is_f16 ? 18 : 15);
  constexpr std::int64_t long_sum = 1024, few_entries = 4096, few_rows = 3;
  if (problem.m * problem.n * problem.k * problem.batch <= few_products) return true;
  if (is_f16 && problem.k >= long_sum && problem.m * problem.n <= few_entries) return true;
  const gemm_problem<T> turned = turned_for_direct(problem);
  return turned.m <= few_rows && turned.b.column_stride == 1;
}

/// Whether that kernel is faster than the host's BLAS, too: where sums are shorter still, C is narrower, or C is small.
template <class T>
bool is_direct_for_library(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 64, few = 64, longer_sum = 192, few_entries = std::int64_t{1} << 17;
  if (!is_direct(problem)) return false;
  if (sizeof(T) == 2) return is_direct_for_narrow_library(problem);
  const bool is_small = problem.k <= longer_sum && problem.m * problem.n <= few_entries;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few || is_small;
}

/// Whether oneDNN, where it is linked, is faster still. It was measured with AVX-512 only, on a server whose last-level
/// cache is far away, and with one or two threads. A call of oneDNN takes microseconds. Where C is small, it does not
/// cut sums into parts for its threads. If C has few rows, B comes from memory and is not copied, the kernel for direct
/// products reads it faster, and the one for up to six columns reads A faster. Short sums, too, are written faster by
/// us.
template <class T>
bool is_direct_for_onednn(const gemm_problem<T>& given) {
  constexpr std::int64_t short_sum = 32, long_sum = 1024, few_columns = 6, few_rows = 24;
  constexpr std::int64_t few_products = std::int64_t{1} << 20, few_entries = 4096;
  if (!std::is_same_v<T, float> || simd_bytes < 64 || given.batch != 1 || given.has_epilogue()) return false;
  if (given.k < short_sum || given.m * given.n * given.k < few_products) return false;
  if (given.k >= long_sum && given.m * given.n <= few_entries) return false;
  if (is_thin(given) && std::min(given.m, given.n) <= few_columns) return false;
  const gemm_problem<T> problem = turned_for_direct(given);
  constexpr std::int64_t far_elements = std::int64_t{1} << 20, colliding_rows = 1024 / sizeof(T);
  const bool reads_b_once = problem.m <= few_rows && problem.n >= 8 * problem.m && problem.b.column_stride == 1 &&
                            problem.b.row_stride % colliding_rows != 0;
  return !reads_b_once || problem.k * problem.n <= far_elements;
}

/// C = act(alpha A B + beta C + bias) of such a problem on a host, in any strides.
template <class Exec, class T>
void enqueue_direct_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
