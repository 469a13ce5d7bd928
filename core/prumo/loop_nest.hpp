// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Several arrays of the same extents, walked together: dimensions are ordered by the output's strides and merged
/// where every array allows it, so that kernels see as few and as long loops as there are.

#include <prumo/array.hpp>

#include <cstdint>

namespace prumo::detail {

/// The dimensions of a loop over `Count` arrays, slowest first; the last one is the inner loop.
template <int Count>
struct loop_nest {
  int rank = 0;
  std::int64_t extents[max_rank];  ///< so many as the rank; the rest is left as it is, and so are the strides
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
template <class First, class... Rest>
loop_nest<1 + static_cast<int>(sizeof...(Rest))> make_loop_nest(const array<First>& first, const array<Rest>&... rest) {
  constexpr int count = 1 + static_cast<int>(sizeof...(Rest));
  loop_nest<count> nest;
  nest.rank = first.rank;
  for (int dimension = 0; dimension < first.rank; ++dimension) nest.extents[dimension] = first.extents[dimension];
  int which = 0;
  const auto take = [&](const auto& source) {
    for (int dimension = 0; dimension < first.rank; ++dimension)
      nest.strides[which][dimension] = source.strides[dimension];
    ++which;
  };
  take(first);
  (take(rest), ...);
  nest.rank = normalise_loop_nest(count, nest.rank, nest.extents, nest.strides);
  return nest;
}

}  // namespace prumo::detail
