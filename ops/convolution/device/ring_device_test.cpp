// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's convolution with a ring of images, by teams of threads of the host: shapes, rings, and shares of images.

#include "emulated_direct.hpp"
#include "ring_device_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace prumo::backend {
namespace {

using tests::convolution_test_case;
using tests::numbers;

/// A convolution of images without padding, whose rows are loaded in packs.
template <class T>
convolution_problem<T> whole_images(numbers& random, convolution_tile tile, int side) {
  convolution_problem<T> shape;
  do {
    shape.images = random(1, 60);
    shape.in_channels = tile.keeps_weights ? 1 : random(1, 3);
    shape.height = random(tile.filter_rows + side - 1, 18);
    shape.width = 4 * random(2, 5);
    if (tile.most_input_pack == 2 && random(0, 1) == 0) shape.width -= 2;
  } while (shape.width < tile.filter_columns + side - 1 || shape.in_channels * shape.height * shape.width % 4 != 0);
  shape.out_channels = tile.has_constant_weights ? random(1, tile.channels) : random(2, 9);
  shape.filter_rows = tile.filter_rows;
  shape.filter_columns = tile.filter_columns;
  shape.rows = shape.y_rows = shape.height - shape.filter_rows + 1;
  shape.columns = shape.y_columns = shape.width - shape.filter_columns + 1;
  shape.activation = random(0, 1) == 0 ? activation_function::none : activation_function::relu;
  if (side == 1) return shape;
  if (random(0, 2) == 0) shape.activation = activation_function::tanh;
  shape.pooling = convolution_pooling::maximum;
  shape.window = {side, side, side, side, 0, 0, random(0, 1) == 0 ? window_rounding::down : window_rounding::up};
  shape.y_rows = pooled_extent(shape.rows, side, side, 0, shape.window.rounding);
  shape.y_columns = pooled_extent(shape.columns, side, side, 0, shape.window.rounding);
  return shape;
}

team_resources some_resources(numbers& random) {
  team_resources resources;
  resources.multiprocessors = random(1, 5);
  resources.bytes_of_team = random(8, 60) << 10;
  return resources;
}

/// How many rings were run, and what they had.
struct seen_rings {
  int run = 0;
  int reused = 0;  ///< with places that several images came to
  int shared = 0;  ///< with images that teams share
  int whole = 0;   ///< with images that a team has for itself
};

/// Calls run(layout, description) for a ring of as many places as there is room for, and for one of `few`.
template <class T, class Run>
void for_each_ring(int shape, const convolution_problem<T>& problem, direct_device_layout layout, int few,
                   seen_rings& seen, const Run& run) {
  const std::int64_t of_team = problem.images / layout.teams;
  for (const int places : {layout.images, few}) {
    layout.images = places;
    ++seen.run;
    seen.reused += of_team > places;
    seen.shared += problem.images % layout.teams != 0;
    seen.whole += of_team > 0;
    run(layout, "shape " + std::to_string(shape) + ": " + std::to_string(layout.teams) + " teams, " +
                    std::to_string(places) + " places");
  }
}

void expect_all_kinds(const seen_rings& seen, int shapes) {
  EXPECT_GT(seen.run, shapes / 2);
  EXPECT_GT(seen.reused, 0);
  EXPECT_GT(seen.shared, 0);
  EXPECT_GT(seen.whole, 0);
}

/// Random shapes with rings of as many places as there is room for, and of as few as a team needs.
template <class T, class Kernel>
void expect_random_images(int shapes, std::uint32_t seed) {
  numbers random(seed);
  seen_rings seen;
  for (int which = 0; which < shapes; ++which) {
    const auto shape = whole_images<T>(random, Kernel::tile, Kernel::window);
    convolution_test_case<T> test(shape, 0, 0, random(0, 1) == 1, random);
    if (random(0, 2) == 0) test.x.memory[test.x.memory.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    const auto erased = direct_device_problem(test.problem);
    ASSERT_TRUE(Kernel::tile.suits(erased) && Kernel::results::suits(erased));
    const direct_device_choice<T> choice(erased, sizeof(T), Kernel::tile, some_resources(random));
    direct_device_layout layout = choice.ring(32 * static_cast<int>(random(2, 6)));
    if (layout.threads == 0) continue;
    EXPECT_GT(choice.estimate_ring(layout), 0);
    // No turn reaches more images. That across the end of the whole ones reaches two shared ones.
    const int few = layout.threads / layout.tiles_of_group() + 3;
    for_each_ring(which, test.problem, layout, few, seen,
                  [&](const direct_device_layout& of_ring, const std::string& what) {
                    tests::expect_right<Kernel>(test, of_ring, what);
                  });
  }
  expect_all_kinds(seen, shapes);
}

TEST(ring_device_kernel, has_weights_in_constant_memory) {
  constexpr convolution_tile of_seven{4, 2, 4, 7, 7, true, false, 2, true};
  expect_random_images<float, ring_device_kernel<float, of_seven, 1>>(30, 8);
  expect_random_images<float, ring_device_kernel<float, of_seven, 2>>(30, 9);
  expect_random_images<float, ring_device_kernel<float, convolution_tile{6, 2, 4, 5, 5, true, false, 4, true}, 2>>(30,
                                                                                                                   10);
}

TEST(ring_device_kernel, holds_the_rows_that_a_row_of_the_filter_meets) {
  expect_random_images<float, ring_device_kernel<float, convolution_tile{2, 4, 4, 7, 7}, 1>>(30, 3);
  expect_random_images<float, ring_device_kernel<float, convolution_tile{2, 4, 4, 7, 7}, 4>>(30, 4);
  constexpr convolution_tile tile{4, 6, 2, 5, 5, false, false, 2};
  expect_random_images<float, ring_device_kernel<float, tile, 1>>(20, 5);
  expect_random_images<float, ring_device_kernel<float, tile, 2>>(20, 6);
  expect_random_images<double, ring_device_kernel<double, convolution_tile{2, 2, 4, 3, 3, false, false, 2}, 1>>(20, 7);
}

/// Bytes of images, which begin at a multiple of 16 bytes and end there.
struct stored_bytes {
  struct alignas(16) pack {
    std::uint8_t bytes[16];
  };
  std::vector<pack> packs;

  explicit stored_bytes(std::size_t bytes) : packs((bytes + sizeof(pack) - 1) / sizeof(pack)) {}
  std::uint8_t* data() { return packs.front().bytes; }
};

/// Random shapes of one channel. Images begin anywhere in packs of 16 bytes.
template <class Kernel>
void expect_random_bytes(int shapes, std::uint32_t seed) {
  numbers random(seed);
  seen_rings seen;
  int unaligned = 0;
  for (int which = 0; which < shapes; ++which) {
    const auto shape = whole_images<float>(random, Kernel::tile, Kernel::window);
    convolution_test_case<float> test(shape, 0, 0, random(0, 1) == 1, random);
    stored_bytes bytes(test.x.memory.size());
    for (std::size_t at = 0; at < test.x.memory.size(); ++at) {
      bytes.data()[at] = static_cast<std::uint8_t>(random(0, 3));
      test.x.memory[at] = bytes.data()[at];
    }
    auto of_bytes = direct_device_problem(test.problem);
    of_bytes.x.data = reinterpret_cast<const float*>(bytes.data());
    const direct_device_choice<float> choice(of_bytes, sizeof(float), Kernel::tile, some_resources(random));
    direct_device_layout layout = choice.ring(32 * static_cast<int>(random(2, 6)), true);
    if (layout.threads == 0) continue;
    // No two turns reach more images, with those across the end of the whole ones.
    const int few = 2 * layout.threads / layout.tiles_of_group() + 4;
    unaligned += test.problem.x.image_stride % 16 != 0;
    for_each_ring(which, test.problem, layout, few, seen,
                  [&](const direct_device_layout& of_ring, const std::string& what) {
                    test.expect_right(Kernel(of_bytes, of_ring, *byte_numbers::of(1.0)), what);
                  });
  }
  expect_all_kinds(seen, shapes);
  EXPECT_GT(unaligned, 0);
}

TEST(ring_device_kernel, makes_numbers_of_bytes) {
  constexpr convolution_tile of_five{6, 2, 4, 5, 5, true, false, 4, true},
      of_seven{4, 2, 4, 7, 7, true, false, 2, true};
  expect_random_bytes<ring_device_kernel<float, of_five, 2, true>>(30, 11);
  expect_random_bytes<ring_device_kernel<float, of_seven, 2, true>>(30, 12);
}

TEST(byte_numbers, are_rounded_as_in_f64) {
  std::mt19937 random(13);
  int found = 0, declined = 0;
  const auto expect_all = [&](double scale) {
    const auto numbers = byte_numbers::of(scale);
    (numbers ? found : declined) += 1;
    if (!numbers) return;
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(numbers->at(static_cast<std::uint8_t>(byte)), static_cast<float>(std::fma(byte, scale, 0.0)))
          << byte << " * " << scale;
    }
  };
  for (const double scale : {0.0, 1.0, 1.0 / 255, 1.0 / 256, -2.0 / 255, 0.1, 1e-44, 1e-320}) expect_all(scale);
  for (int i = 0; i < 1000; ++i) {
    expect_all(std::ldexp(1 + static_cast<double>(random()) / 4294967296.0, static_cast<int>(random() % 200) - 100));
  }
  EXPECT_GT(found, 900);
  EXPECT_TRUE(byte_numbers::of(1.0 / 255));
  for (const double scale :
       {1e38, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(byte_numbers::of(scale)) << scale;
  }
}

/// Other kernels compute long activations of results that are not pooled, and windows of other sides.
TEST(ring_device_kernel, leaves_other_windows_and_activations_to_items) {
  constexpr convolution_tile tile{2, 4, 4, 7, 7};
  convolution_problem<float> plain;
  EXPECT_TRUE((window_results<float, tile, 1>::suits(plain)));
  EXPECT_FALSE((window_results<float, tile, 2>::suits(plain)));
  plain.activation = activation_function::tanh;
  EXPECT_FALSE((window_results<float, tile, 1>::suits(plain)));
  convolution_problem<float> pooled;
  pooled.pooling = convolution_pooling::maximum;
  pooled.window = {2, 2, 2, 2, 0, 0, window_rounding::down};
  pooled.activation = activation_function::tanh;
  EXPECT_TRUE((window_results<float, tile, 2>::suits(pooled)));
  EXPECT_FALSE((window_results<float, tile, 1>::suits(pooled)));
  EXPECT_FALSE((window_results<float, tile, 4>::suits(pooled)));
  pooled.window.column_stride = 1;
  EXPECT_FALSE((window_results<float, tile, 2>::suits(pooled)));
  pooled.window.column_stride = 2;
  pooled.window.row_padding = 1;
  EXPECT_FALSE((window_results<float, tile, 2>::suits(pooled)));
  pooled.window.row_padding = 0;
  pooled.activation = activation_function::gelu;
  EXPECT_FALSE((window_results<float, tile, 2>::suits(pooled)));
  pooled.activation = activation_function::none;
  pooled.pooling = convolution_pooling::mean;
  EXPECT_FALSE((window_results<float, tile, 2>::suits(pooled)));
}

/// What does not come in bulk copies, or does not fit.
TEST(ring_device_kernel, leaves_other_images_to_items) {
  constexpr convolution_tile tile{2, 4, 4, 7, 7, false, false, 2};
  const auto places = [&](auto change, std::int64_t element_bytes = sizeof(float), int bytes = 60 << 10) {
    numbers random(6);
    convolution_problem<float> shape;
    shape.images = 40;
    shape.in_channels = 2;
    shape.height = shape.width = 16;
    shape.out_channels = 4;
    shape.filter_rows = shape.filter_columns = 7;
    shape.rows = shape.columns = shape.y_rows = shape.y_columns = 10;
    convolution_test_case<float> test(shape, 0, 0, false, random);
    change(test.problem);
    const auto erased = direct_device_problem(test.problem);
    team_resources resources;
    resources.bytes_of_team = bytes;
    return direct_device_choice<float>(erased, element_bytes, tile, resources).ring(64).threads;
  };
  using problem = convolution_problem<float>;
  EXPECT_EQ(places([](problem&) {}), 64);
  EXPECT_EQ(places([](problem&) {}, sizeof(f16)), 0);
  EXPECT_EQ(places([](problem&) {}, sizeof(float), 10 << 10), 0);
  EXPECT_EQ(places([](problem& of) { of.images = 0; }), 0);
  EXPECT_EQ(places([](problem& of) { of.in_channels = 0; }), 0);
  EXPECT_EQ(places([](problem& of) { of.x.data += 1; }), 0);
  EXPECT_EQ(places([](problem& of) { of.x.image_stride += 2; }), 0);
  EXPECT_EQ(places([](problem& of) { of.x.row_stride += 2; }), 0);
  EXPECT_EQ(places([](problem& of) { of.row_padding = 1; }), 0);
  EXPECT_EQ(places([](problem& of) {  // results of windows that overlap go through the scratch memory
              of.pooling = convolution_pooling::maximum;
              of.window = {3, 3, 2, 2, 0, 0, window_rounding::down};
              of.y_rows = of.y_columns = 4;
            }),
            0);
}

}  // namespace
}  // namespace prumo::backend
