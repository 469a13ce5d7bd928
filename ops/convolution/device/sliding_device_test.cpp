// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's sliding convolution with teams of threads of the host: shapes, strides, and every way to share the rows.

#include "emulated_direct.hpp"
#include "sliding_device_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace prumo::backend {
namespace {

using tests::convolution_test_case;
using tests::numbers;

/// A full convolution of rows that are loaded in packs.
template <class T>
convolution_problem<T> full_shape(numbers& random, sliding_tile tile) {
  convolution_problem<T> shape;
  shape.images = random(1, 6);
  shape.out_channels = random(1, 3);
  shape.in_channels = shape.out_channels == 1 ? random(3, 4) : 4;
  shape.height = random(1, 14);
  shape.width = 4 * random(1, 6);
  shape.filter_rows = tile.filter_rows;
  shape.filter_columns = tile.filter_columns;
  shape.row_padding = tile.filter_rows - 1;
  shape.column_padding = tile.filter_columns - 1;
  shape.rows = shape.y_rows = convolved_extent(shape.height, shape.filter_rows, 1, shape.row_padding);
  shape.columns = shape.y_columns = convolved_extent(shape.width, shape.filter_columns, 1, shape.column_padding);
  return shape;
}

template <class T, class Kernel>
using choice_of = sliding_device_choice<compute_t<T>, Kernel>;

/// Random shapes, whose rows are shared out among as many teams as is best, and any other number of them.
template <class T, class Kernel>
void expect_random_gradients(int shapes, std::uint32_t seed) {
  numbers random(seed);
  int inside = 0, above = 0, odd = 0;
  for (int which = 0; which < shapes; ++which) {
    const auto shape = full_shape<T>(random, Kernel::tile);
    convolution_test_case<T> test(shape, 0, 4 * random(0, 2), false, random);
    const auto erased = direct_device_problem(test.problem);
    team_resources resources;
    resources.multiprocessors = static_cast<int>(random(1, 3));
    const choice_of<T, Kernel> choice(erased, sizeof(T), resources);
    ASSERT_TRUE(choice.suits());
    EXPECT_GT(choice.estimate(choice.layout()), 0);
    for (const int teams : {0, static_cast<int>(random(1, 9))}) {
      direct_device_layout layout = choice.layout();
      if (teams > 0) layout.teams = teams;
      const std::int64_t rows = Kernel::all_rows(erased, layout);
      for (int team = 1; team < layout.teams; ++team) {
        const std::int64_t row = rows * team / layout.teams % erased.rows;
        inside += row > 0;
        above += row > erased.height;
        odd += row % 2 == 1;
      }
      tests::expect_right<Kernel>(test, layout,
                                  "shape " + std::to_string(which) + ", " + std::to_string(layout.teams) + " teams");
    }
  }
  EXPECT_GT(inside, 0);  // teams that begin inside of images, and below them
  EXPECT_GT(above, 0);
  EXPECT_GT(odd, 0);
}

TEST(sliding_device_kernel, goes_down_images_of_any_type) {
  expect_random_gradients<float, sliding_device_kernel<float, sliding_tile{7, 7, 8}>>(10, 1);
  expect_random_gradients<f16, sliding_device_kernel<float, sliding_tile{7, 7, 8}>>(5, 2);
  expect_random_gradients<bf16, sliding_device_kernel<float, sliding_tile{7, 7, 8}>>(5, 3);
}

TEST(sliding_device_kernel, takes_other_filters_and_columns) {
  expect_random_gradients<float, sliding_device_kernel<float, sliding_tile{5, 5, 4}>>(8, 4);
  expect_random_gradients<float, sliding_device_kernel<float, sliding_tile{3, 7, 4}>>(8, 5);
}

/// Everything that the kernel does not compute, or not at once.
TEST(sliding_device_kernel, leaves_other_convolutions_to_tiles) {
  using kernel = sliding_device_kernel<float, sliding_tile{7, 7, 8}>;
  numbers random(6);
  const auto suits = [&](auto change, int order = 0, std::int64_t gap = 0) {
    auto shape = full_shape<float>(random, kernel::tile);
    shape.height = 9;
    convolution_test_case<float> test(shape, order, gap, false, random);
    change(test.problem);
    const auto erased = direct_device_problem(test.problem);
    return choice_of<float, kernel>(erased, sizeof(float), {}).suits();
  };
  using problem = convolution_problem<float>;
  const float bias[3] = {};
  EXPECT_TRUE(suits([](problem&) {}));
  EXPECT_FALSE(suits([](problem& of) { of.in_channels = 2; }));
  EXPECT_FALSE(suits([](problem& of) { of.in_channels = 5; }));
  EXPECT_FALSE(suits([](problem& of) {
    of.in_channels = 3;
    of.out_channels = 2;
  }));
  EXPECT_FALSE(suits([](problem& of) { of.filter_rows = 6; }));
  EXPECT_FALSE(suits([](problem& of) { of.filter_columns = 5; }));
  EXPECT_FALSE(suits([](problem& of) { of.row_stride = 2; }));
  EXPECT_FALSE(suits([](problem& of) { of.column_stride = 2; }));
  EXPECT_FALSE(suits([](problem& of) { of.row_padding = 5; }));
  EXPECT_FALSE(suits([](problem& of) { of.column_padding = 4; }));
  EXPECT_FALSE(suits([](problem& of) { of.width += 1; }));
  EXPECT_FALSE(suits([](problem& of) { of.x.data += 1; }));
  EXPECT_FALSE(suits([&](problem& of) { of.bias = bias; }));
  EXPECT_FALSE(suits([](problem& of) { of.activation = activation_function::relu; }));
  EXPECT_FALSE(suits([](problem& of) { of.pooling = convolution_pooling::maximum; }));
  EXPECT_FALSE(suits([](problem&) {}, 1));
  EXPECT_FALSE(suits([](problem&) {}, 2));
}

}  // namespace
}  // namespace prumo::backend
