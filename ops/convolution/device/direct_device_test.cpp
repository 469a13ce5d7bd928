// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's direct convolution with teams of threads of the host: shapes, strides, and every way to cut them.

#include "direct_device_kernel.hpp"
#include "emulated_direct.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace prumo::backend {
namespace {

using tests::convolution_test_case;
using tests::numbers;

template <class T>
convolution_problem<T> random_shape(numbers& random, convolution_tile tile) {
  convolution_problem<T> shape;
  const int filter = tile.filter_columns;
  do {
    shape.images = random(1, 5);
    shape.in_channels = tile.keeps_weights ? 1 : random(0, 20) == 0 ? 0 : random(1, 5);
    shape.height = random(1, 24);
    shape.width = random(1, 24);
    shape.out_channels = tile.channels == 1 && !tile.keeps_weights ? 1 : random(1, 19);
    if (tile.has_constant_weights) shape.out_channels = random(1, tile.channels);
    shape.filter_rows = tile.filter_rows > 0 ? tile.filter_rows : random(1, 6);
    shape.filter_columns = filter > 0 ? filter : random(1, 7);
    shape.row_stride = tile.filter_rows > 0 ? 1 : random(1, 4);
    shape.column_stride = filter > 0 ? 1 : random(1, 4);
    shape.row_padding = random(0, 1) == 0 ? 0 : random(0, shape.filter_rows - 1);
    shape.column_padding = random(0, 1) == 0 ? 0 : random(0, shape.filter_columns - 1);
    if (random(0, 1) == 0) {  // what is copied in packs
      const std::int64_t pack = random(0, 1) == 0 ? 4 : 2;
      shape.width = pack * random(1, 24 / pack);
      const bool is_padded = random(0, 1) == 0;
      shape.row_padding = is_padded ? random(0, shape.filter_rows - 1) : 0;
      shape.column_padding = is_padded ? (shape.filter_columns - 1) / pack * pack : 0;
    }
    if (tile.spreads) {
      if (random(0, 2) == 0) shape.width = tile.columns * random(1, 4);
      shape.row_stride = shape.column_stride = 1;
      shape.row_padding = shape.filter_rows - 1;
      shape.column_padding = shape.filter_columns - 1;
      if (shape.height < shape.row_padding) shape.height += shape.row_padding;
    }
    shape.rows = convolved_extent(shape.height, shape.filter_rows, shape.row_stride, shape.row_padding);
    shape.columns = convolved_extent(shape.width, shape.filter_columns, shape.column_stride, shape.column_padding);
  } while (shape.rows < 1 || shape.columns < 1);
  shape.y_rows = shape.rows;
  shape.y_columns = shape.columns;
  constexpr activation_function activations[] = {activation_function::none,    activation_function::relu,
                                                 activation_function::relu,    activation_function::tanh,
                                                 activation_function::sigmoid, activation_function::gelu};
  shape.activation = activations[random(0, 5)];
  if (tile.spreads || random(0, 1) == 0) return shape;
  pooling_window window;
  do {
    window.height = random(1, 4);
    window.width = random(1, 4);
    window.row_stride = random(1, 4);
    window.column_stride = random(1, 4);
    window.row_padding = random(0, window.height / 2);
    window.column_padding = random(0, window.width / 2);
    if (random(0, 1) == 0) {  // what a tile may pool by itself
      window.height = window.width = window.row_stride = window.column_stride = 2 * random(1, 2);
      window.row_padding = window.column_padding = 0;
    }
    window.rounding = random(0, 1) == 0 ? window_rounding::down : window_rounding::up;
    shape.y_rows = pooled_extent(shape.rows, window.height, window.row_stride, window.row_padding, window.rounding);
    shape.y_columns =
        pooled_extent(shape.columns, window.width, window.column_stride, window.column_padding, window.rounding);
  } while (shape.y_rows < 1 || shape.y_columns < 1);
  shape.pooling = random(0, 1) == 0 ? convolution_pooling::maximum : convolution_pooling::mean;
  shape.window = window;
  return shape;
}

/// Random shapes, each cut in some random ways and in the way that is chosen.
template <class T, class Kernel>
void expect_random_shapes(int shapes, std::uint32_t seed) {
  using C = compute_t<T>;
  numbers random(seed);
  int run = 0, in_chunks = 0, in_packs = 0, in_padded_rows = 0, in_bands = 0, in_streams = 0, in_rounds = 0;
  for (int which = 0; which < shapes; ++which) {
    auto shape = random_shape<T>(random, Kernel::tile);
    if constexpr (Kernel::window > 0) {
      while (!window_results<C, Kernel::tile, Kernel::window>::suits(shape)) {
        shape = random_shape<T>(random, Kernel::tile);
      }
    }
    // Compilers evaluate arguments in any order, and all shall test the same shapes.
    const bool has_bias = random(0, 1) == 1;
    const std::int64_t gap = random(0, 1) == 0 ? 0 : random(0, 5);
    const int order = random(0, 2) == 0 ? static_cast<int>(random(1, 2)) : 0;
    convolution_test_case<T> test(shape, order, gap, has_bias, random);
    if (Kernel::tile.has_constant_weights) test.close_gaps_of_weights(random);
    if (random(0, 2) == 0) {  // it is the maximum of its windows, and what is made of it
      const auto element = static_cast<std::size_t>(random(0, static_cast<std::int64_t>(test.x.memory.size()) - 1));
      test.x.memory[element] = T(std::numeric_limits<float>::quiet_NaN());
    }
    const auto erased = direct_device_problem(test.problem);
    team_resources resources;
    resources.multiprocessors = random(1, 3);
    resources.bytes_of_team = random(0, 1) == 0 ? random(1000, 8000) : 200 << 10;
    resources.bytes_of_multiprocessor = resources.bytes_of_team * random(1, 4);
    resources.threads_of_multiprocessor = 128;
    resources.threads_of_team = static_cast<int>(random(1, 3)) * 32;
    const direct_device_choice<C> choice(erased, sizeof(T), Kernel::tile, resources);
    const auto check = [&](const direct_device_layout& layout) {
      ++run;
      in_chunks += layout.chunks > 1;
      in_packs += layout.staging == staging_kind::images || layout.staging == staging_kind::planes;
      in_padded_rows += layout.staging == staging_kind::rows && test.problem.is_padded();
      in_rounds += layout.tiles_of_image() * layout.images > 2 * layout.tiles_at_once();
      in_bands += layout.bands > 1;
      in_streams += layout.is_stream;
      tests::expect_right<Kernel>(test, layout,
                                  "shape " + std::to_string(which) + ": " + std::to_string(layout.images) +
                                      " images, " + std::to_string(layout.bands) + " bands, " +
                                      std::to_string(layout.parts) + " parts, " + std::to_string(layout.chunks) +
                                      " chunks, " + std::to_string(layout.buffers) + " buffers");
    };
    if (const auto found = choice.best(); found.layout.threads > 0) check(found.layout);
    for (int cut = 0; cut < 3; ++cut) {
      const std::int64_t images = random(1, shape.images), parts = random(1, 3);
      const bool is_whole = Kernel::tile.spreads || images > 1;
      const std::int64_t rows = is_whole ? shape.y_rows : random(1, shape.y_rows);
      auto layout = choice.of(images, rows, parts, static_cast<int>(random(1, 2)));
      if (layout.threads == 0) continue;
      layout.teams = static_cast<int>(random(1, 3));
      check(layout);
    }
    const int threads = 32 * static_cast<int>(random(1, 3)), rounds = static_cast<int>(random(1, 3));
    const int steps = 1 + which % 2;
    auto stream = choice.stream(threads, rounds, random(1, 3), steps);
    if (stream.threads == 0) continue;
    stream.teams = static_cast<int>(random(1, 5));
    check(stream);
  }
  EXPECT_GT(run, shapes);
  EXPECT_EQ(in_chunks > 0, !Kernel::tile.keeps_weights && !Kernel::tile.spreads);
  EXPECT_EQ(in_streams > 0, !Kernel::tile.keeps_weights);
  EXPECT_GT(in_packs, 0);
  EXPECT_GT(in_padded_rows, 0);
  EXPECT_EQ(in_bands > 0, !Kernel::tile.spreads);
  EXPECT_GT(in_rounds, 0);
}

TEST(direct_device_kernel, computes_any_filter_and_stride) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{4, 3, 1, 0}>>(60, 1);
  expect_random_shapes<double, direct_device_kernel<double, convolution_tile{4, 4, 1, 0}>>(30, 2);
}

TEST(direct_device_kernel, computes_filters_whose_columns_are_known) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{6, 2, 4, 3}>>(40, 3);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{4, 3, 6, 5}>>(40, 4);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{1, 4, 4, 5}>>(30, 9);
  expect_random_shapes<double, direct_device_kernel<double, convolution_tile{3, 1, 4, 3}>>(30, 7);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{4, 2, 6, 7}>>(40, 15);
}

TEST(direct_device_kernel, holds_whole_filters_in_registers) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{1, 8, 4, 5, 5}>>(40, 10);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{2, 3, 4, 3, 3}>>(30, 11);
}

TEST(direct_device_kernel, keeps_weights_in_registers) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{3, 1, 4, 5, 5, true}>>(40, 12);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{1, 4, 4, 3, 3, true}>>(40, 13);
  expect_random_shapes<bf16, direct_device_kernel<float, convolution_tile{2, 4, 4, 3, 3, true}>>(40, 14);
}

TEST(direct_device_kernel, is_compiled_for_one_window) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{3, 1, 4, 5, 5, true}, 1>>(40, 19);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{2, 4, 4, 5, 5, true}, 2>>(40, 20);
  expect_random_shapes<double, direct_device_kernel<double, convolution_tile{1, 4, 4, 3, 3, true}, 4>>(30, 21);
}

TEST(direct_device_kernel, has_weights_in_constant_memory) {
  constexpr convolution_tile tile{6, 2, 4, 5, 5, true, false, 4, true};
  expect_random_shapes<float, direct_device_kernel<float, tile, 1>>(40, 22);
  expect_random_shapes<float, direct_device_kernel<float, tile, 2>>(40, 23);
}

TEST(direct_device_kernel, spreads_elements_over_the_sums_that_neighbours_share) {
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{3, 1, 6, 5, 0, false, true}>>(24, 16);
  expect_random_shapes<float, direct_device_kernel<float, convolution_tile{2, 1, 6, 7, 0, false, true}>>(20, 17);
  expect_random_shapes<bf16, direct_device_kernel<float, convolution_tile{2, 1, 4, 3, 0, false, true}>>(20, 18);
}

/// Maxima of windows in a tile stay in registers, and are activated there. Means are of activated results, which wait
/// in the scratch memory.
TEST(direct_device_kernel, activates_maxima_in_its_tiles) {
  numbers random(9);
  team_resources resources;
  resources.threads_of_team = 64;
  for (const std::int64_t side : {2, 4}) {
    for (const auto activation : {activation_function::relu, activation_function::sigmoid, activation_function::tanh,
                                  activation_function::gelu}) {
      for (const auto pooling : {convolution_pooling::maximum, convolution_pooling::mean}) {
        convolution_problem<float> shape;
        shape.images = 3;
        shape.in_channels = 2;
        shape.height = 18;
        shape.width = 20;
        shape.out_channels = 7;
        shape.filter_rows = shape.filter_columns = 5;
        shape.rows = 14;
        shape.columns = 16;
        shape.activation = activation;
        shape.pooling = pooling;
        shape.window = {side, side, side, side, 0, 0, window_rounding::up};
        shape.y_rows = pooled_extent(14, side, side, 0, window_rounding::up);
        shape.y_columns = 16 / side;
        convolution_test_case<float> test(shape, 0, 0, true, random);
        test.x.at(1, 0, 9, 9) = std::numeric_limits<float>::quiet_NaN();
        const auto erased = direct_device_problem(test.problem);
        constexpr convolution_tile tile{3, 4, 4, 5};
        const direct_device_choice<float> choice(erased, sizeof(float), tile, resources);
        const auto layout = choice.best().layout;
        const bool is_in_tiles = activation == activation_function::relu ||
                                 (pooling == convolution_pooling::maximum && activation != activation_function::gelu);
        EXPECT_EQ(layout.tile_window, is_in_tiles ? side : 0);
        EXPECT_NE(layout.keeps_results, is_in_tiles);
        tests::expect_right<direct_device_kernel<float, tile>>(test, layout, std::string(activation_name(activation)));
      }
    }
  }
}

TEST(direct_device_kernel, converts_types_of_16_bits) {
  expect_random_shapes<f16, direct_device_kernel<float, convolution_tile{4, 3, 1, 0}>>(30, 5);
  expect_random_shapes<bf16, direct_device_kernel<float, convolution_tile{8, 2, 2, 3}>>(30, 6);
  expect_random_shapes<f16, direct_device_kernel<float, convolution_tile{2, 1, 4, 5}>>(30, 8);
}

}  // namespace
}  // namespace prumo::backend
