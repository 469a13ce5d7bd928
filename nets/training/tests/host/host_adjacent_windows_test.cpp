// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of windows that lie side by side, in the steps of a host.

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include "fused/host/host_adjacent_windows.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace prumo::nets {
namespace {

using windows = adjacent_windows;

step_layer layer_of(int in_width, int filter_width) {
  step_layer layer;
  layer.filter_height = layer.row_stride = 2;
  layer.filter_width = layer.column_stride = filter_width;
  layer.in_width = in_width;
  layer.out_width = in_width / filter_width;
  return layer;
}

template <class C>
void expect_row(const step_layer& it) {
  constexpr int lanes = simd<C>::lanes, behind = 64;
  constexpr C untouched = -1;
  std::vector<C> dy, row(windows::most_columns + behind, untouched);
  for (int i = 0; i < it.out_width + lanes; ++i) dy.push_back(static_cast<C>(i + 1));
  windows::repeat_row(it, dy.data(), row.data());
  const auto expected = [&](int column) {
    const int window = column / it.filter_width;
    return window < it.out_width ? dy[static_cast<std::size_t>(window)] : C(0);
  };
  // A vector that begins at the last column where one can begin.
  const int needed = it.in_width % lanes == 0 ? it.in_width : it.in_width + lanes - 1;
  for (int i = 0; i < needed; ++i) {
    ASSERT_EQ(row[static_cast<std::size_t>(i)], expected(i % it.in_width))
        << "windows of " << it.filter_width << " in " << it.in_width << " columns, column " << i;
  }
  for (int i = windows::most_columns; i < windows::most_columns + behind; ++i) {
    ASSERT_EQ(row[static_cast<std::size_t>(i)], untouched)
        << "windows of " << it.filter_width << " in " << it.in_width << " columns, column " << i;
  }
}

TEST(host_adjacent_windows, repeat_rows_for_vectors_that_begin_anywhere) {
  for (int in_width = 1; windows::are_those_of(layer_of(in_width, 1)); ++in_width) {
    for (int filter_width = 1; filter_width <= in_width; ++filter_width) {
      const step_layer layer = layer_of(in_width, filter_width);
      ASSERT_TRUE(windows::are_those_of(layer));
      expect_row<float>(layer);
      expect_row<double>(layer);
    }
  }
  EXPECT_FALSE(windows::are_those_of(layer_of(windows::most_columns, 4)));
}

}  // namespace
}  // namespace prumo::nets
#endif
