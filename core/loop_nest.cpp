// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/loop_nest.hpp>

#include <algorithm>
#include <utility>

namespace prumo::detail {

int normalise_loop_nest(int count, int rank, std::int64_t* extents, std::int64_t (*strides)[max_rank]) {
  int order[max_rank];
  int kept = 0;
  for (int dimension = 0; dimension < rank; ++dimension) {
    if (extents[dimension] != 1) order[kept++] = dimension;
  }
  // Sorts by insertion, because std::stable_sort would allocate a buffer at every call of an operation.
  for (int step = 1; step < kept; ++step) {
    for (int at = step; at > 0 && strides[0][order[at - 1]] < strides[0][order[at]]; --at) {
      std::swap(order[at - 1], order[at]);
    }
  }

  std::int64_t merged_extents[max_rank] = {1};
  std::int64_t merged_strides[max_rank][max_rank];
  for (int which = 0; which < count; ++which) merged_strides[which][0] = 1;
  int merged = 0;
  for (int step = 0; step < kept; ++step) {
    const int dimension = order[step];
    bool joins = merged > 0;
    for (int which = 0; joins && which < count; ++which) {
      joins = merged_strides[which][merged - 1] == strides[which][dimension] * extents[dimension];
    }
    if (!joins) merged_extents[merged++] = 1;
    merged_extents[merged - 1] *= extents[dimension];
    for (int which = 0; which < count; ++which) merged_strides[which][merged - 1] = strides[which][dimension];
  }
  merged = std::max(merged, 1);
  std::copy_n(merged_extents, merged, extents);
  for (int which = 0; which < count; ++which) std::copy_n(merged_strides[which], merged, strides[which]);
  return merged;
}

}  // namespace prumo::detail
