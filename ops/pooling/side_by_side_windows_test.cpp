// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows that lie side by side, computed in registers, against one window after the other. The arrays have no room
// behind them, so a sanitizer notices any access beside them.

#include "side_by_side_windows.hpp"

#include "uniform_numbers.hpp"
#include "window_joins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace prumo::detail {
namespace {

template <pooling_kind Kind, class C>
C plain_window(const C* from, std::int64_t pitch, std::int64_t height, std::int64_t width) {
  C joined = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    C of_column = from[k];
    for (std::int64_t r = 1; r < height; ++r) of_column = joined_in_window<Kind>(of_column, from[r * pitch + k]);
    joined = k == 0 ? of_column : joined_in_window<Kind>(joined, of_column);
  }
  return finished_window<Kind>(joined, height * width);
}

template <pooling_kind Kind, class C>
void expect_plain_windows(std::int64_t width, std::int64_t height, std::int64_t row_stride, std::int64_t gap,
                          std::int64_t rows, std::int64_t columns) {
  const std::int64_t pitch = columns * width + gap, plane_rows = (rows - 1) * row_stride + height;
  const auto plane = tests::uniform_numbers<C>(static_cast<std::size_t>((plane_rows - 1) * pitch + columns * width), 7);
  pooling_window window{};
  window.height = height;
  window.width = width;
  window.row_stride = row_stride;
  window.column_stride = width;
  std::vector<C> values(static_cast<std::size_t>(rows * columns), C(-9));
  if (!pool_side_by_side<Kind>(plane.data(), pitch, window, plane_rows, columns * width, rows, columns,
                               values.data())) {
    EXPECT_LT(columns, simd<C>::lanes / 4);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      ASSERT_EQ(values[static_cast<std::size_t>(row * columns + column)],
                (plain_window<Kind, C>(plane.data() + row * row_stride * pitch + column * width, pitch, height, width)))
          << rows << " x " << columns << " windows of " << height << " x " << width << ", window " << row << ", "
          << column;
    }
  }
}

template <class C>
class side_by_side_windows : public testing::Test {};
TYPED_TEST_SUITE(side_by_side_windows, tests::compute_types);

TYPED_TEST(side_by_side_windows, are_those_of_one_after_the_other) {
  using C = TypeParam;
  for (const std::int64_t width : {2, 4}) {
    for (const std::int64_t height : {1, 2, 3, 4}) {
      for (const std::int64_t row_stride : {height, std::int64_t{1}}) {
        for (const std::int64_t gap : {0, 3}) {
          for (const std::int64_t rows : {1, 2, 5, 20}) {
            for (std::int64_t columns = 1; columns <= 40; ++columns) {
              expect_plain_windows<pooling_kind::maximum, C>(width, height, row_stride, gap, rows, columns);
              expect_plain_windows<pooling_kind::mean, C>(width, height, row_stride, gap, rows, columns);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace prumo::detail
