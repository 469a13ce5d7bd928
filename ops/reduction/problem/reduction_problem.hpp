// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of reductions are given, and the loops of an array that is reduced whole or over some of its axes.

#include <prumo/detail/loop_nest.hpp>
#include <prumo/reduction.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// What a reduction of elements of T results in.
template <reduction Kind, class T>
using reduced_t = std::conditional_t<finds_index(Kind), std::int64_t, T>;

/// Enqueues a reduction over axes, without checks: a result for each element of `kept`, which is x without the reduced
/// axes, of the elements of `reduced`, which is x without the others. `results` has the extents of `kept`. It is
/// instantiated beside the other reductions of its kind, which share its kernels.
template <reduction Kind>
void enqueue_axes_reduction(const context_ref& ctx, const array_ref& kept, const array_ref& reduced,
                            const array_ref& results);

/// results[r * result_stride] = the reduction of row r: elements source[r * row_stride + c * column_stride].
template <class T, class Result>
struct row_reduction_problem {
  const T* source = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  Result* results = nullptr;
  std::int64_t result_stride = 1;
  bool is_far = false;  ///< no cache of a host holds the source
};

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

/// A reduction over some axes: the dimensions that stay, in order of x, and those that are reduced.
template <class Policy>
struct axes_reduction_problem {
  const typename Policy::stored* source;
  loop_nest<2> kept;  ///< of x and of the results
  reduction_nest<Policy> reduced;
  typename Policy::result* results;

  struct place {
    std::int64_t source, result;
  };
  /// Where a result's elements begin in x, and where the result is.
  KOKKOS_FUNCTION place place_of(std::int64_t which) const {
    place found{0, 0};
    for (int dimension = kept.rank - 1; dimension >= 0; --dimension) {
      const std::int64_t index = which % kept.extents[dimension];
      which /= kept.extents[dimension];
      found.source += index * kept.strides[0][dimension];
      found.result += index * kept.strides[1][dimension];
    }
    return found;
  }
};

/// Whether the rows of a matrix lie side by side, so that reading columns is reading in order.
template <class T, class Result>
bool is_column_major(const row_reduction_problem<T, Result>& problem) {
  return problem.row_stride == 1 && problem.column_stride != 1 && problem.columns > 1 && problem.rows > 1;
}

}  // namespace prumo::detail
