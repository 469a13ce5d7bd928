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

/// Whether sums are so short, or C has so few rows or columns, that it takes as long to copy A and B as to multiply
/// them. The kernel of direct_gemm_host.hpp reads them where they are. Tiles of C in the portable kernel, and
/// libraries, copy them first.
template <class T>
bool is_direct(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 192, few = 96;
  if (!std::is_floating_point_v<T> || is_thin(problem)) return false;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few;
}

/// Whether that kernel is faster than the host's BLAS, too: where sums are shorter still, C is narrower, or C is small.
template <class T>
bool is_direct_for_library(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 64, few = 64, longer_sum = 192, few_entries = std::int64_t{1} << 17;
  if (!is_direct(problem)) return false;
  const bool is_small = problem.k <= longer_sum && problem.m * problem.n <= few_entries;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few || is_small;
}

/// C = act(alpha A B + beta C + bias) of such a problem on a host, in any strides. For f32 and f64.
template <class Exec, class T>
void enqueue_direct_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
