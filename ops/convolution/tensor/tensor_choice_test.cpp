// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_choice.hpp"

#include "tensor_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <tuple>

namespace prumo::backend {
namespace {

/// A device such as an H200.
team_resources large_device() {
  team_resources resources;
  resources.multiprocessors = 132;
  resources.threads_of_team = 256;
  resources.bytes_of_team = std::int64_t{227} * 1024;
  resources.bytes_of_multiprocessor = std::int64_t{228} * 1024;
  return resources;
}

struct extents {
  std::int64_t images, in_channels, height, width, out_channels, filter_rows, filter_columns, row_stride, column_stride,
      padding;
};

/// A convolution without gaps. Nothing is read or written.
template <class T>
convolution_problem<T> problem_of(const extents& given, std::int64_t window) {
  convolution_problem<T> problem;
  problem.images = given.images;
  problem.in_channels = given.in_channels;
  problem.height = given.height;
  problem.width = given.width;
  problem.out_channels = given.out_channels;
  problem.filter_rows = given.filter_rows;
  problem.filter_columns = given.filter_columns;
  problem.row_stride = given.row_stride;
  problem.column_stride = given.column_stride;
  problem.row_padding = problem.column_padding = given.padding;
  problem.rows = (given.height + 2 * given.padding - given.filter_rows) / given.row_stride + 1;
  problem.columns = (given.width + 2 * given.padding - given.filter_columns) / given.column_stride + 1;
  problem.y_rows = (problem.rows + window - 1) / window;
  problem.y_columns = (problem.columns + window - 1) / window;
  if (window > 1) {
    problem.pooling = convolution_pooling::maximum;
    problem.window = {window, window, window, window, 0, 0, window_rounding::up};
  }
  const std::int64_t plane = given.height * given.width, y_plane = problem.y_rows * problem.y_columns;
  problem.x = {nullptr, given.in_channels * plane, plane, given.width, 1};
  problem.y = {nullptr, given.out_channels * y_plane, y_plane, problem.y_columns, 1};
  return problem;
}

/// Each weight meets its element once, and no step reads behind the copies of the images.
template <class T>
void expect_all_products(const convolution_problem<T>& problem, const tensor_layout& layout) {
  using form = tensor_form<T>;
  const auto inputs = static_cast<int>(problem.in_channels),
             unit = layout.stacked_rows * static_cast<int>(problem.row_stride);
  std::int64_t farthest = 0;
  for (int stacked = 0; stacked < layout.stacked_rows; ++stacked) {
    std::set<std::tuple<int, int, int>> met;
    for (int run = 0; run < layout.runs; ++run) {
      for (int which = 0; which < tensor_layout::lines_of_step; ++which) {
        const auto line = tensor_line::of(layout, inputs, unit, run, which);
        if (!line.is_there) continue;
        for (int step = 0; step < layout.run_steps; ++step) {
          const int row = line.row + step * unit - stacked * static_cast<int>(problem.row_stride);
          if (row < 0 || row >= problem.filter_rows) continue;
          EXPECT_TRUE(met.insert({row, line.input, line.segment}).second)
              << "row " << row << ", input " << line.input << ", segment " << line.segment;
        }
        // A unit more than those of the last step is loaded.
        const std::int64_t last_row = (layout.band_rows() - layout.rows_of_block()) * problem.row_stride + line.row +
                                      std::int64_t{layout.run_steps + tensor_layout::block_units - 1} * unit;
        const std::int64_t last_column =
            (std::int64_t{layout.block_columns_of_row} * tensor_layout::block_columns - 1) * problem.column_stride +
            (line.segment + 1) * form::line_taps - 1;
        const std::int64_t element = (layout.images - 1) * std::int64_t{layout.image_elements} +
                                     line.input * std::int64_t{layout.plane_elements} + last_row * layout.pitch +
                                     last_column;
        farthest = std::max(farthest, element);
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(problem.filter_rows * problem.in_channels * layout.segments))
        << "stacked row " << stacked;
  }
  EXPECT_LT(farthest, std::int64_t{layout.copy_words} * form::elements_of_word);
  EXPECT_GE(layout.segments * form::line_taps, problem.filter_columns);
}

template <class T>
void expect_complete_layout(const extents& given, std::int64_t window) {
  SCOPED_TRACE("channels " + std::to_string(given.in_channels) + " to " + std::to_string(given.out_channels) + ", " +
               std::to_string(given.height) + " x " + std::to_string(given.width) + ", filter " +
               std::to_string(given.filter_rows) + " x " + std::to_string(given.filter_columns) + ", strides " +
               std::to_string(given.row_stride) + " and " + std::to_string(given.column_stride) + ", images " +
               std::to_string(given.images) + ", window " + std::to_string(window));
  const auto problem = problem_of<T>(given, window);
  const auto resources = large_device();
  const tensor_layout layout = best_tensor_layout(problem, resources);
  if (layout.images == 0) return;
  EXPECT_LE(std::int64_t{layout.scratch_words<T>()} * 4 + 16, resources.bytes_of_team);
  EXPECT_GE(std::int64_t{layout.bands} * layout.band_rows(), problem.rows);
  EXPECT_GE(std::int64_t{layout.parts} * layout.part_tiles * tensor_layout::unit_rows,
            layout.stacked_rows == 1 ? problem.out_channels : layout.stacked_rows * problem.out_channels);
  EXPECT_EQ(layout.band_rows() % window, 0);
  EXPECT_TRUE(layout.bands == 1 || layout.images == 1);
  expect_all_products(problem, layout);
}

template <class T>
class tensor_choice : public ::testing::Test {};
using tensor_types = ::testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(tensor_choice, tensor_types);

TYPED_TEST(tensor_choice, steps_have_each_product_once_and_stay_in_the_copies) {
  std::mt19937 random(20261128);
  const auto draw = [&](int least, int most) {
    return static_cast<std::int64_t>(std::uniform_int_distribution<int>(least, most)(random));
  };
  for (int which = 0; which < 400; ++which) {
    extents given{};
    given.images = draw(0, 3) == 0 ? draw(1, 5) : draw(1, 3000);
    given.in_channels = draw(1, draw(0, 1) == 0 ? 4 : 40);
    given.filter_rows = draw(1, 9);
    given.filter_columns = draw(1, 9);
    given.height = given.filter_rows + draw(0, 60);
    given.width = given.filter_columns + draw(0, 60);
    given.out_channels = draw(1, draw(0, 1) == 0 ? 16 : 70);
    given.row_stride = draw(1, 4);
    given.column_stride = draw(1, 4);
    given.padding = draw(0, 2);
    const std::int64_t windows[] = {1, 1, 2, 4};
    expect_complete_layout<TypeParam>(given, windows[draw(0, 3)]);
  }
}

TEST(tensor_choice_of_nets, has_no_layout_for_what_no_memory_holds) {
  for (const extents& given :
       {extents{1, 30000, 1, 32000, 1, 1, 31000, 1, 1, 0}, extents{1, 3000, 32000, 3, 16, 10, 3, 30000, 1, 0},
        extents{1, 1, 32000, 32000, 1, 31000, 31000, 1, 1, 0}}) {
    EXPECT_EQ(best_tensor_layout(problem_of<f16>(given, 1), large_device()).images, 0)
        << given.in_channels << " channels, " << given.height << " x " << given.width;
  }
}

TEST(tensor_choice_of_nets, has_layouts_for_the_layers_of_nets) {
  // Images, channels in, height and width, channels out, filter, strides, padding.
  for (const extents& given :
       {extents{10000, 1, 48, 48, 6, 5, 5, 1, 1, 0}, extents{10000, 6, 22, 22, 16, 5, 5, 1, 1, 0},
        extents{100, 1, 86, 86, 4, 7, 7, 1, 1, 0}, extents{1000, 4, 40, 40, 16, 7, 7, 1, 1, 0},
        extents{100, 3, 224, 224, 64, 7, 7, 2, 2, 3}, extents{1, 16, 32, 32, 32, 3, 3, 1, 1, 1}}) {
    for (const std::int64_t window : {1, 2, 4}) {
      EXPECT_GT(best_tensor_layout(problem_of<f16>(given, window), large_device()).images, 0)
          << given.in_channels << " to " << given.out_channels << " channels, window " << window;
    }
  }
}

}  // namespace
}  // namespace prumo::backend
