// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thin_gemm.hpp"

#include <algorithm>
#include <type_traits>

namespace prumo::backend {

/// The longest sums of shallow products. A panel of B that is as deep as this, and a few rows of A, fit into a
/// first-level cache.
inline constexpr std::int64_t shallow_depth = 256;

/// Whether sums are so short that the time goes into reading A and B and writing C. A library copies A and B first, as
/// it does for long sums, and a copy costs as much as the product then. The kernel of shallow_gemm_host.hpp reads them
/// where they are. The kernels for thin products are faster for one column, and for up to three of them by which rows
/// of A are multiplied.
template <class T>
bool is_shallow(const gemm_problem<T>& problem) {
  if (!std::is_floating_point_v<T> || problem.k > shallow_depth || std::min(problem.m, problem.n) <= 1) return false;
  return !is_thin(problem, 3) || takes_columns(with_few_columns(problem));
}

/// Whether that kernel is faster than the host's BLAS, too: where sums are shorter still, or C has few rows or columns.
template <class T>
bool is_shallow_for_library(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 64, few = 64;
  return is_shallow(problem) && (problem.k <= short_sum || std::min(problem.m, problem.n) <= few);
}

/// C = act(alpha A B + beta C + bias) of a shallow problem on a host, in any strides. It is fast where rows of C lie in
/// memory.
template <class Exec, class T>
void enqueue_shallow_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
