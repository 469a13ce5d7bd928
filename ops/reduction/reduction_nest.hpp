// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops of an array that is reduced whole, and when rows are taken column by column.

#include "reduction_problem.hpp"
#include <prumo/detail/loop_nest.hpp>

namespace prumo::detail {

/// For a policy that wants positions, row-major order gives a second set of strides.
template <class Policy>
using reduction_nest = loop_nest<Policy::indexed ? 2 : 1>;

template <class Policy>
reduction_nest<Policy> make_reduction_nest(const array_ref& source) {
  if constexpr (Policy::indexed) {
    array_ref positions = source;
    std::int64_t stride = 1;
    for (int dimension = source.rank - 1; dimension >= 0; --dimension) {
      positions.strides[dimension] = stride;
      stride *= source.extents[dimension];
    }
    return make_loop_nest(source, positions);
  } else {
    return make_loop_nest(source);
  }
}

/// Whether the rows of a matrix lie side by side, so that reading columns is reading in order.
template <class T, class Result>
bool is_column_major(const row_reduction_problem<T, Result>& problem) {
  return problem.row_stride == 1 && problem.column_stride != 1 && problem.columns > 1 && problem.rows > 1;
}

}  // namespace prumo::detail
