// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The convolution as an implicit matrix product, by teams of threads of the host: shapes, layouts and slabs, and what
// speaks for and against it.

#include "device/emulated_convolution.hpp"
#include "implicit_gemm_choice.hpp"
#include "implicit_gemm_kernel.hpp"
#include "weight_columns_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::backend {
namespace {

using tests::convolution_test_case;
using tests::numbers;

convolution_problem<float> random_shape(numbers& random, implicit_gemm_tile tile) {
  convolution_problem<float> shape;
  shape.filter_rows = random(1, 5);
  shape.filter_columns = random(0, 2) == 0 ? random(1, 5) : shape.filter_rows;
  shape.row_stride = random(0, 2) == 0 ? random(1, 3) : 1;
  shape.column_stride = random(0, 2) == 0 ? random(1, 3) : 1;
  shape.row_padding = random(0, shape.filter_rows - 1);
  shape.column_padding = random(0, shape.filter_columns - 1);
  shape.images = random(1, 3);
  shape.in_channels = random(1, 9);
  shape.height = random(shape.filter_rows, 12);
  shape.width = random(shape.filter_columns, 12);
  shape.out_channels = random(1, 2 * tile.channels());
  shape.rows = (shape.height + 2 * shape.row_padding - shape.filter_rows) / shape.row_stride + 1;
  shape.columns = (shape.width + 2 * shape.column_padding - shape.filter_columns) / shape.column_stride + 1;
  shape.y_rows = shape.rows;
  shape.y_columns = shape.columns;
  const activation_function functions[] = {activation_function::none, activation_function::relu,
                                           activation_function::tanh};
  shape.activation = functions[random(0, 2)];
  return shape;
}

/// Arranges the weights on the host.
std::vector<float> arranged(const convolution_problem<float>& problem, const implicit_gemm_layout& layout) {
  std::vector<float> weights(static_cast<std::size_t>(problem.taps() * layout.weights_pitch + 8));
  const weight_columns_kernel<float> arrange(problem, layout.weights_pitch, weights.data());
  for (std::int64_t at = 0; at < arrange.blocks(); ++at) arrange(at);
  return weights;
}

/// Slabs of several channels, of one channel, and of a row of a filter.
template <implicit_gemm_tile Tile>
void expect_random_shapes(int shapes, std::uint32_t seed) {
  numbers random(seed);
  int cut_filters = 0, several_channels = 0, packs = 0;
  for (int which = 0; which < shapes; ++which) {
    const auto shape = random_shape(random, Tile);
    convolution_test_case<float> test(shape, static_cast<int>(random(0, 2)), random(0, 1), random(0, 1) == 1, random);
    const implicit_gemm_choice<float> choice(test.problem, team_resources{});
    EXPECT_EQ(choice.why_not(), "");
    implicit_gemm_layout layout = choice.layout_of(0);
    layout.slab_channels = static_cast<int>(random(1, shape.in_channels));
    layout.slab_rows = static_cast<int>(shape.filter_rows);
    if (random(0, 2) == 0) {
      layout.slab_channels = 1;
      layout.slab_rows = static_cast<int>(random(1, shape.filter_rows));
    }
    layout.terms_of_slab = layout.slab_channels * layout.slab_rows * static_cast<int>(shape.filter_columns);
    layout.channel_tiles = static_cast<int>((shape.out_channels + Tile.channels() - 1) / Tile.channels());
    layout.weights_pitch = layout.channel_tiles * Tile.channels();
    cut_filters += layout.slab_rows < shape.filter_rows;
    several_channels += layout.slab_channels > 1;
    packs += layout.stores_packs;
    const std::vector<float> weights = arranged(test.problem, layout);
    test.expect_right(implicit_gemm_kernel<float, Tile>(test.problem, layout, weights.data()),
                      "shape " + std::to_string(which));
  }
  EXPECT_GT(cut_filters, 0);
  EXPECT_GT(several_channels, 0);
  EXPECT_GT(packs, 0);
}

TEST(implicit_gemm_kernel, computes_any_shape) {
  expect_random_shapes<implicit_gemm_tile{4, 8}>(40, 1);   // two places a thread are copied
  expect_random_shapes<implicit_gemm_tile{2, 16}>(40, 2);  // a warp has two rows of threads
  expect_random_shapes<implicit_gemm_tile{16, 8}>(20, 3);  // two threads copy the elements of a place
}

/// The layouts that are chosen, with the tiles that are compiled for devices.
template <std::size_t Which>
void expect_chosen_layout(std::uint32_t seed) {
  numbers random(seed);
  constexpr implicit_gemm_tile tile = implicit_gemm_tiles[Which];
  for (int shapes = 0; shapes < 3; ++shapes) {
    const auto shape = random_shape(random, tile);
    convolution_test_case<float> test(shape, 0, 0, true, random);
    team_resources resources;
    resources.bytes_of_team = resources.bytes_of_multiprocessor = 227 << 10;
    const auto layout = implicit_gemm_choice<float>(test.problem, resources).layout_of(Which);
    const std::vector<float> weights = arranged(test.problem, layout);
    const implicit_gemm_kernel<float, tile> kernel(test.problem, layout, weights.data());
    EXPECT_LE(static_cast<std::int64_t>(kernel.scratch_bytes()) * tile.resident_teams(), resources.bytes_of_team);
    test.expect_right(kernel, "tile " + std::to_string(Which) + ", shape " + std::to_string(shapes));
  }
}

TEST(implicit_gemm_kernel, computes_chosen_layouts) {
  expect_chosen_layout<0>(4);
  expect_chosen_layout<1>(5);
  expect_chosen_layout<2>(6);
  expect_chosen_layout<3>(7);
}

convolution_problem<float> square_images(std::int64_t images, std::int64_t in_channels, std::int64_t side,
                                         std::int64_t out_channels, std::int64_t filter) {
  convolution_problem<float> problem;
  problem.images = images;
  problem.in_channels = in_channels;
  problem.height = problem.width = side;
  problem.out_channels = out_channels;
  problem.filter_rows = problem.filter_columns = filter;
  problem.rows = problem.columns = problem.y_rows = problem.y_columns = side - filter + 1;
  problem.y = {nullptr, out_channels * problem.rows * problem.rows, problem.rows * problem.rows, problem.rows, 1};
  return problem;
}

team_resources large_device() {
  team_resources resources;
  resources.multiprocessors = 132;
  resources.bytes_of_team = 227 << 10;
  resources.bytes_of_multiprocessor = 228 << 10;
  return resources;
}

TEST(implicit_gemm_choice, takes_tiles_that_the_channels_fill) {
  const auto tile_for = [](std::int64_t out_channels) {
    const auto problem = square_images(100, 64, 56, out_channels, 3);
    return implicit_gemm_choice<float>(problem, large_device()).best().layout.tile;
  };
  EXPECT_EQ(implicit_gemm_tiles[static_cast<std::size_t>(tile_for(16))].channels(), 16);
  EXPECT_EQ(implicit_gemm_tiles[static_cast<std::size_t>(tile_for(32))].channels(), 32);
  EXPECT_EQ(implicit_gemm_tiles[static_cast<std::size_t>(tile_for(64))].channels(), 64);
}

TEST(implicit_gemm_choice, declines_what_its_numbers_do_not_hold) {
  const auto refusal = [](const convolution_problem<float>& problem) {
    return std::string(implicit_gemm_choice<float>(problem, large_device()).why_not());
  };
  EXPECT_EQ(refusal(square_images(100, 64, 56, 64, 3)), "");
  EXPECT_EQ(refusal(square_images(100, 0, 56, 64, 3)), "there is no input channel");
  EXPECT_EQ(refusal(square_images((std::int64_t{1} << 30) + 1, 1, 1, 1, 1)),
            "there are more than 2^30 results of a channel, or a side is longer");
  EXPECT_EQ(refusal(square_images(2, 1, 32768, 1, 1)),
            "there are more than 2^30 results of a channel, or a side is longer");
  auto wide = square_images(1, 1, 500, 1, 1);
  wide.filter_columns = 33;
  EXPECT_EQ(refusal(wide), "a filter has more than 32 columns");
  // A row of this filter does not fit into the scratch memory of a small device.
  wide.filter_columns = 32;
  team_resources small;
  small.bytes_of_team = small.bytes_of_multiprocessor = 8 << 10;
  EXPECT_EQ(implicit_gemm_choice<float>(wide, small).best().layout.tile, -1);
}

}  // namespace
}  // namespace prumo::backend
