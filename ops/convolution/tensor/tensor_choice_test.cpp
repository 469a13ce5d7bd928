// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_choice.hpp"

#include "tensor_test_problem.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace prumo::backend {
namespace {

filter_extents layer(std::int64_t images, std::int64_t in_channels, std::int64_t side, std::int64_t out_channels,
                     std::int64_t filter, std::int64_t stride, std::int64_t padding) {
  filter_extents given;
  given.images = images;
  given.in_channels = in_channels;
  given.height = given.width = side;
  given.out_channels = out_channels;
  given.filter_rows = given.filter_columns = filter;
  given.row_stride = given.column_stride = stride;
  given.row_padding = given.column_padding = padding;
  return given;
}

TEST(tensor_choice, has_no_layout_for_what_no_memory_holds) {
  filter_extents wide, long_filters, large;
  wide.in_channels = 30000;
  wide.width = 32000;
  wide.filter_columns = 31000;
  long_filters.height = long_filters.filter_rows = 30000;
  long_filters.out_channels = 16;
  large.height = large.width = 32000;
  large.filter_rows = large.filter_columns = 31000;
  for (const filter_extents& given : {wide, long_filters, large}) {
    EXPECT_EQ(best_tensor_layout(problem_of<f16>(given), device_with_matrix_units()).images, 0) << given.described();
  }
}

TEST(tensor_choice, has_no_layout_for_results_that_lie_too_far_apart) {
  auto problem = problem_of<f16>(layer(10, 3, 20, 8, 3, 1, 0));
  EXPECT_GT(best_tensor_layout(problem, device_with_matrix_units()).images, 0);
  problem.y.channel_stride = std::int64_t{1} << 30;
  EXPECT_EQ(best_tensor_layout(problem, device_with_matrix_units()).images, 0);
  problem = problem_of<f16>(layer(10, 3, 20, 8, 3, 1, 0));
  problem.y.row_stride = -problem.y.row_stride;
  EXPECT_EQ(best_tensor_layout(problem, device_with_matrix_units()).images, 0);
}

TEST(tensor_choice, has_layouts_for_the_layers_of_nets) {
  for (filter_extents given :
       {layer(10000, 1, 48, 6, 5, 1, 0), layer(10000, 6, 22, 16, 5, 1, 0), layer(100, 1, 86, 4, 7, 1, 0),
        layer(1000, 4, 40, 16, 7, 1, 0), layer(100, 3, 224, 64, 7, 2, 3), layer(1, 16, 32, 32, 3, 1, 1),
        layer(100, 64, 56, 64, 3, 1, 1), layer(100, 512, 7, 512, 3, 1, 1), layer(20, 64, 224, 64, 3, 1, 1),
        layer(100, 256, 56, 64, 1, 1, 0), layer(8, 2048, 7, 512, 1, 1, 0)}) {
    for (const std::int64_t window : {1, 2, 4}) {
      given.window = window;
      EXPECT_GT(best_tensor_layout(problem_of<f16>(given), device_with_matrix_units()).images, 0) << given.described();
      EXPECT_GT(best_tensor_layout(problem_of<float>(given), device_with_matrix_units()).images, 0)
          << given.described();
    }
  }
}

TEST(tensor_choice, gives_parts_of_a_batch_the_same_order_of_sums) {
  alignas(16) static const f16 elements[8] = {};  // whose addresses alone are looked at
  for (filter_extents given :
       {layer(0, 1, 48, 6, 5, 1, 0), layer(0, 1, 86, 4, 7, 1, 0), layer(0, 4, 40, 16, 7, 1, 0),
        layer(0, 64, 56, 64, 3, 1, 1), layer(0, 512, 7, 512, 3, 1, 1), layer(0, 3, 20, 2, 3, 1, 1)}) {
    given.images = 10000;
    const tensor_layout whole = best_tensor_layout(problem_of<f16>(given), device_with_matrix_units());
    for (const std::int64_t images : {1, 7, 100, 1000, 4096}) {
      given.images = images;
      auto problem = problem_of<f16>(given);
      problem.x.data = elements + images % 3;
      const tensor_layout part = best_tensor_layout(problem, device_with_matrix_units());
      ASSERT_GT(part.images, 0) << given.described();
      EXPECT_EQ(part.stacked_rows, whole.stacked_rows) << given.described();
      EXPECT_EQ(part.stacked_columns, whole.stacked_columns) << given.described();
      EXPECT_EQ(part.cell_channels, whole.cell_channels) << given.described();
      EXPECT_EQ(part.slices, whole.slices) << given.described();
    }
  }
}

TEST(tensor_choice, stacks_what_fits_into_a_tile) {
  const auto of = [](const filter_extents& given) {
    return best_tensor_layout(problem_of<f16>(given), device_with_matrix_units());
  };
  // Filters of 5 and 7 columns leave room for a second column of results in cells of 8 columns, those of 8 do not.
  EXPECT_EQ(of(layer(10000, 1, 48, 6, 5, 1, 0)).stacked_columns, 2);
  EXPECT_EQ(of(layer(10000, 1, 86, 4, 7, 1, 0)).stacked_columns, 2);
  EXPECT_EQ(of(layer(10000, 1, 86, 4, 8, 1, 0)).stacked_columns, 1);
  EXPECT_EQ(of(layer(10000, 6, 22, 16, 5, 1, 0)).stacked_columns, 1);
  EXPECT_EQ(of(layer(10000, 6, 22, 16, 5, 1, 0)).stacked_rows, 1);
}

}  // namespace
}  // namespace prumo::backend
