// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/loop_nest.hpp>

namespace prumo::detail {
namespace {

/// The stride of an array in a dimension of the first array, to which it broadcasts.
std::int64_t stride_of(const array_ref& array, const array_ref& first, int dimension) {
  const int own = dimension - (first.rank - array.rank);
  return own < 0 || array.extents[own] == 1 ? 0 : array.strides[own];
}

}  // namespace

int fill_loop_nest(int count, const array_ref* const* arrays, std::int64_t* extents,
                   std::int64_t (*strides)[max_rank]) {
  const array_ref& first = *arrays[0];
  const auto move_dimension = [&](int from, int to) {
    extents[to] = extents[from];
    for (int which = 0; which < count; ++which) strides[which][to] = strides[which][from];
  };

  int rank = 0;
  for (int dimension = 0; dimension < first.rank; ++dimension) {
    const std::int64_t extent = first.extents[dimension];
    if (extent == 1) continue;
    int place = rank++;
    for (; place > 0 && strides[0][place - 1] < first.strides[dimension]; --place) move_dimension(place - 1, place);
    extents[place] = extent;
    for (int which = 0; which < count; ++which) strides[which][place] = stride_of(*arrays[which], first, dimension);
  }
  if (rank == 0) {
    extents[0] = 1;
    for (int which = 0; which < count; ++which) strides[which][0] = 1;
    return 1;
  }

  int last = 0;
  for (int dimension = 1; dimension < rank; ++dimension) {
    bool joins = true;
    for (int which = 0; joins && which < count; ++which) {
      joins = strides[which][last] == strides[which][dimension] * extents[dimension];
    }
    const std::int64_t merged = joins ? extents[last] : 1;
    if (!joins) ++last;
    move_dimension(dimension, last);
    extents[last] *= merged;
  }
  return last + 1;
}

}  // namespace prumo::detail
