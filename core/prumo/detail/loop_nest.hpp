// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Several arrays of the same extents, walked together: dimensions are ordered by the first array's strides and merged
/// where every array allows it, so that kernels see few and long loops.

#include <prumo/array_ref.hpp>

#include <concepts>
#include <cstdint>

namespace prumo::detail {

/// The dimensions of a loop over `Count` arrays, slowest first; the last one is the inner loop.
template <int Count>
struct loop_nest {
  int rank = 0;
  std::int64_t extents[max_rank];  ///< only those below `rank` are set, and so it is with strides
  std::int64_t strides[Count][max_rank];

  /// The dimension of the inner loop.
  KOKKOS_FUNCTION int inner() const { return rank > 0 ? rank - 1 : 0; }

  /// All elements of all arrays lie in one run, in the same order.
  KOKKOS_FUNCTION bool contiguous() const {
    if (rank != 1) return false;
    for (int which = 0; which < Count; ++which) {
      if (strides[which][0] != 1 && extents[0] != 1) return false;
    }
    return true;
  }

  KOKKOS_FUNCTION std::int64_t size() const {
    std::int64_t product = 1;
    for (int dimension = 0; dimension < max_rank && dimension < rank; ++dimension) product *= extents[dimension];
    return product;
  }
};

/// Orders and merges: `strides` holds `count` rows of max_rank. Returns the new rank, at least 1.
int normalise_loop_nest(int count, int rank, std::int64_t* extents, std::int64_t (*strides)[max_rank]);

/// The loop nest of arrays with equal extents; the first one, the output, decides the order.
template <std::same_as<array_ref>... Rest>
loop_nest<1 + static_cast<int>(sizeof...(Rest))> make_loop_nest(const array_ref& first, const Rest&... rest) {
  constexpr int count = 1 + static_cast<int>(sizeof...(Rest));
  loop_nest<count> nest;
  nest.rank = first.rank;
  for (int dimension = 0; dimension < first.rank; ++dimension) nest.extents[dimension] = first.extents[dimension];
  int which = 0;
  const auto take = [&](const array_ref& source) {
    for (int dimension = 0; dimension < first.rank; ++dimension) {
      nest.strides[which][dimension] = source.strides[dimension];
    }
    ++which;
  };
  take(first);
  (take(rest), ...);
  nest.rank = normalise_loop_nest(count, nest.rank, nest.extents, nest.strides);
  return nest;
}

}  // namespace prumo::detail
