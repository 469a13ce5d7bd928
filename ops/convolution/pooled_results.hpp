// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Pooling as a pass of its own, for implementations that cannot pool while they compute.

#include "convolution_problem.hpp"
#include "pooling_kernel.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::backend {

/// The images whose results are kept until they are pooled. They should not leave the device's cache.
template <class T>
std::int64_t images_before_pooling(const convolution_problem<T>& problem) {
  constexpr std::int64_t cached_bytes = std::int64_t{24} << 20;
  const std::int64_t bytes = problem.out_channels * problem.rows * problem.columns * std::int64_t{sizeof(T)};
  return std::clamp<std::int64_t>(cached_bytes / std::max<std::int64_t>(1, bytes), 1,
                                  std::max<std::int64_t>(1, problem.images));
}

/// The convolution alone of some images, with results without gaps at `results`.
template <class T>
convolution_problem<T> without_pooling(const convolution_problem<T>& problem, T* results) {
  convolution_problem<T> plain = problem;
  const std::int64_t plane = problem.rows * problem.columns;
  plain.pooling = convolution_pooling::none;
  plain.y = {results, problem.out_channels * plane, plane, problem.columns, 1};
  plain.y_rows = problem.rows;
  plain.y_columns = problem.columns;
  return plain;
}

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
