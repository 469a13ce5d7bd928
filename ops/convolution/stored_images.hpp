// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Random images in the host's memory, for the tests of a device's kernels on the host.

#include "pooling_problem.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace prumo::tests {

/// Numbers from `low` to `high`, the same on every platform.
class numbers {
 public:
  explicit numbers(std::uint32_t seed) : engine_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(high - low + 1));
  }

 private:
  std::mt19937 engine_;
};

/// Images in memory whose elements may lie in any order, with gaps.
template <class T>
struct stored_images {
  std::vector<T> memory;
  prumo::detail::image_array<T> array;

  /// Order 0: row-major; 1: channels last; 2: gaps at the end of rows and between columns. All is `filling` at first.
  stored_images(std::int64_t images, std::int64_t channels, std::int64_t rows, std::int64_t columns, int order,
                std::int64_t gap, T filling) {
    const std::int64_t step = order == 1 ? channels + gap : order == 2 ? 2 : 1;
    const std::int64_t row = columns * step + (order == 2 ? 3 : 0);
    const std::int64_t plane = order == 1 ? 1 : rows * row + gap;
    const std::int64_t image = order == 1 ? rows * row : channels * plane;
    memory.assign(static_cast<std::size_t>(images * image + channels + 1), filling);
    array = {memory.data(), image, plane, row, step};
  }

  prumo::detail::image_array<const T> input() const {
    return {array.data, array.image_stride, array.channel_stride, array.row_stride, array.column_stride};
  }

  T& at(std::int64_t n, std::int64_t c, std::int64_t r, std::int64_t k) const {
    return array.plane(n, c)[r * array.row_stride + k * array.column_stride];
  }
};

}  // namespace prumo::tests
