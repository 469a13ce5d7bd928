// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies of images' rows for kernels on hosts.

#include "pooling_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The rows of one channel of an image.
template <class T>
struct image_rows {
  const T* plane;
  std::int64_t height;
  std::int64_t width;
  std::int64_t row_stride;
  std::int64_t column_stride;

  /// Copies the elements `origin`, `origin` + step, ... of row `row` to `count` places. What lies beside the image is
  /// zero.
  template <class C>
  void copy(std::int64_t row, std::int64_t origin, std::int64_t step, std::int64_t count, C* to) const {
    if (row < 0 || row >= height) {
      std::fill(to, to + count, C(0));
      return;
    }
    // The elements [begin, end) lie inside the image.
    const std::int64_t begin = std::min(count, origin < 0 ? (-origin + step - 1) / step : 0);
    const std::int64_t end = std::clamp((width - origin + step - 1) / step, begin, count);
    const std::int64_t distance = step * column_stride;
    const T* const from = plane + row * row_stride + origin * column_stride;
    std::fill(to, to + begin, C(0));
    if (distance == 1) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = begin; j < end; ++j) to[j] = static_cast<C>(from[j]);
    } else {
      for (std::int64_t j = begin; j < end; ++j) to[j] = static_cast<C>(from[j * distance]);
    }
    std::fill(to + end, to + count, C(0));
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
