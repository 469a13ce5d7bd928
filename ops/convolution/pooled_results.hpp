// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Pooling as a pass of its own, for implementations that cannot pool while they compute.

#include "convolution_problem.hpp"
#include "pooling_kernel.hpp"

namespace prumo::backend {

/// y = pool(results), where the results are row-major without gaps.
template <class X, class T>
prumo::detail::pooling_problem<X, T> pooling_of(const convolution_problem<T>& problem, const X* results) {
  const std::int64_t plane = problem.rows * problem.columns;
  return {{results, problem.out_channels * plane, plane, problem.columns, 1},
          problem.y,
          problem.images,
          problem.out_channels,
          problem.rows,
          problem.columns,
          problem.y_rows,
          problem.y_columns,
          problem.window};
}

template <class Exec, class X, class T>
void enqueue_pooling(const Exec& instance, const convolution_problem<T>& problem, const X* results) {
  using prumo::detail::pooling_kind;
  if (problem.pooling == convolution_pooling::maximum) {
    prumo::detail::launch_pooling<pooling_kind::maximum>(instance, pooling_of(problem, results));
  } else {
    prumo::detail::launch_pooling<pooling_kind::mean>(instance, pooling_of(problem, results));
  }
}

}  // namespace prumo::backend
