// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's gradient of filters with teams of threads of the host: shapes, strides, and every way to cut them.

#include "device_weights_choice.hpp"
#include "device_weights_kernel.hpp"
#include "emulated_team.hpp"
#include "partial_sums.hpp"
#include "stored_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace prumo::backend {
namespace {

using tests::numbers;
using tests::stored_images;

/// Images of small whole numbers, whose sums are exact, with gaps of NaN.
template <class T>
stored_images<T> random_images(std::int64_t images, std::int64_t channels, std::int64_t rows, std::int64_t columns,
                               int order, std::int64_t gap, numbers& random) {
  stored_images<T> result(images, channels, rows, columns, order, gap, T(std::numeric_limits<float>::quiet_NaN()));
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t k = 0; k < columns; ++k) result.at(n, c, r, k) = T(static_cast<float>(random(-2, 2)));
      }
    }
  }
  return result;
}

template <class T>
struct weights_test_case {
  using C = compute_t<T>;
  backward_weights_problem<T> problem;
  stored_images<T> x, dy;
  std::vector<double> expected;

  weights_test_case(const backward_weights_problem<T>& shape, int order, std::int64_t gap, numbers& random)
      : problem(shape),
        x(random_images<T>(shape.images, shape.in_channels, shape.height, shape.width, order, gap, random)),
        dy(random_images<T>(shape.images, shape.out_channels, shape.rows, shape.columns, order, gap, random)),
        expected(static_cast<std::size_t>(shape.outputs())) {
    problem.x = x.input();
    problem.dy = dy.input();
    for (std::int64_t output = 0; output < problem.weights(); ++output) {
      const std::int64_t q = output % problem.filter_columns, p = output / problem.filter_columns % problem.filter_rows;
      const std::int64_t plane = output / problem.filter_columns / problem.filter_rows;
      expected[static_cast<std::size_t>(output)] = sum(plane / problem.in_channels, plane % problem.in_channels, p, q);
    }
    for (std::int64_t output = problem.weights(); output < problem.outputs(); ++output) {
      double total = 0;
      for_each_place(
          [&](auto n, auto i, auto j) { total += static_cast<double>(dy.at(n, output - problem.weights(), i, j)); });
      expected[static_cast<std::size_t>(output)] = total;
    }
  }

  double sum(std::int64_t m, std::int64_t c, std::int64_t p, std::int64_t q) const {
    double total = 0;
    for_each_place([&](std::int64_t n, std::int64_t i, std::int64_t j) {
      const std::int64_t row = i * problem.row_stride - problem.row_padding + p;
      const std::int64_t column = j * problem.column_stride - problem.column_padding + q;
      if (row < 0 || row >= problem.height || column < 0 || column >= problem.width) return;
      total += static_cast<double>(dy.at(n, m, i, j)) * static_cast<double>(x.at(n, c, row, column));
    });
    return total;
  }

  template <class Visit>
  void for_each_place(const Visit& visit) const {
    for (std::int64_t n = 0; n < problem.images; ++n) {
      for (std::int64_t i = 0; i < problem.rows; ++i) {
        for (std::int64_t j = 0; j < problem.columns; ++j) visit(n, i, j);
      }
    }
  }

  /// Computes the partial sums, each of which must be written, joins them, and compares the results, which are exact.
  template <class Kernel>
  void expect_right(const direct_weights_layout& layout, const std::string& what) const {
    const auto outputs = static_cast<std::size_t>(problem.outputs());
    std::vector<C> sums(outputs * static_cast<std::size_t>(layout.groups), std::numeric_limits<C>::quiet_NaN());
    tests::run_emulated_teams(Kernel(weights_inputs<C>(problem), dtype_of<T>(), layout, sums.data()));
    std::vector<T> results(outputs, T(std::numeric_limits<float>::quiet_NaN()));
    backward_weights_problem<T> joined = problem;
    const std::int64_t filter = problem.filter_rows * problem.filter_columns;
    joined.dw = {results.data(), problem.taps(), filter, problem.filter_columns, 1};
    joined.bias = results.data() + problem.weights();
    tests::run_emulated_teams(team_joining_kernel<T>(joined, sums.data(), layout.groups));
    std::int64_t wrong = 0;
    for (std::size_t output = 0; output < outputs; ++output) {
      const auto result = static_cast<float>(T(static_cast<float>(expected[output])));
      wrong += static_cast<float>(results[output]) == result ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << what << ": " << layout.bands << " bands, " << layout.channel_parts << " x "
                        << layout.input_parts << " parts, " << layout.groups << " groups, " << layout.slices
                        << " slices, " << layout.buffers << " buffers";
  }
};

template <class T>
backward_weights_problem<T> random_shape(numbers& random, int filter) {
  backward_weights_problem<T> shape;
  do {
    shape.images = random(1, 5);
    shape.has_bias = random(0, 1) == 1;
    shape.in_channels = shape.has_bias && random(0, 10) == 0 ? 0 : random(1, 5);
    shape.height = random(1, 24);
    shape.width = random(0, 1) == 0 ? random(1, 24) : 4 * random(1, 6);
    shape.out_channels = random(1, 19);
    shape.filter_rows = random(1, 6);
    shape.filter_columns = filter > 0 ? filter : random(1, 7);
    shape.row_stride = random(1, 4);
    shape.column_stride = filter > 0 ? 1 : random(1, 4);
    shape.row_padding = random(0, 1) == 0 ? 0 : random(0, shape.filter_rows - 1);
    shape.column_padding = random(0, 1) == 0 ? 0 : random(0, shape.filter_columns - 1);
    shape.rows = convolved_extent(shape.height, shape.filter_rows, shape.row_stride, shape.row_padding);
    shape.columns = convolved_extent(shape.width, shape.filter_columns, shape.column_stride, shape.column_padding);
  } while (shape.rows < 1 || shape.columns < 1);
  return shape;
}

/// Random shapes, each cut in the way that is chosen and in some random ways.
template <class T, class Kernel>
void expect_random_shapes(int filter, int shapes, std::uint32_t seed) {
  using C = compute_t<T>;
  numbers random(seed);
  int run = 0, in_parts = 0, in_bands = 0, in_packs = 0, with_one_buffer = 0;
  for (int which = 0; which < shapes; ++which) {
    const auto shape = random_shape<T>(random, filter);
    // Compilers evaluate arguments in any order, and all shall test the same shapes.
    const std::int64_t gap = random(0, 1) == 0 ? 0 : random(0, 5);
    const int order = random(0, 2) == 0 ? static_cast<int>(random(1, 2)) : 0;
    const weights_test_case<T> test(shape, order, gap, random);
    team_resources resources;
    resources.bytes_of_team = random(0, 1) == 0 ? random(4000, 16000) : 200 << 10;
    resources.bytes_of_multiprocessor = resources.bytes_of_team * random(1, 4);
    resources.threads_of_team = static_cast<int>(random(1, 2)) * 32;
    const device_weights_choice<C> choice(weights_inputs<C>(test.problem), sizeof(T), Kernel::tile, resources);
    const auto check = [&](const direct_weights_layout& layout) {
      if (layout.threads == 0) return;
      ++run;
      in_parts += layout.parts() > 1;
      in_bands += layout.bands > 1;
      in_packs += layout.x_pack > 1;
      with_one_buffer += layout.buffers == 1;
      test.template expect_right<Kernel>(layout, "shape " + std::to_string(which));
    };
    check(choice.best());
    const auto split = choice.best_split();
    if (split.channel_tiles == 0) continue;
    for (int cut = 0; cut < 2; ++cut) {
      const auto part = [&](std::int64_t extent) { return extent == 0 ? 0 : random(1, extent); };
      const std::int64_t rows = random(1, shape.rows);
      auto layout =
          choice.of({part(split.channel_tiles), part(split.in_channels)}, rows, static_cast<int>(random(1, 2)));
      layout.groups = static_cast<int>(random(1, std::min<std::int64_t>(shape.images * layout.bands, 5)));
      check(layout);
    }
  }
  EXPECT_GT(run, shapes);
  EXPECT_GT(in_parts, 0);
  EXPECT_GT(in_bands, 0);
  EXPECT_GT(in_packs, 0);
  EXPECT_GT(with_one_buffer, 0);
}

TEST(device_weights_kernel, computes_any_filter_and_stride) {
  expect_random_shapes<float, device_weights_kernel<float, weights_tile{4, 0}>>(0, 20, 1);
  expect_random_shapes<float, device_weights_kernel<float, weights_tile{8, 0}>>(0, 12, 2);
  expect_random_shapes<double, device_weights_kernel<double, weights_tile{4, 0}>>(0, 12, 3);
}

TEST(device_weights_kernel, computes_filters_whose_columns_are_known) {
  expect_random_shapes<float, device_weights_kernel<float, weights_tile{8, 3}>>(3, 15, 4);
  expect_random_shapes<float, device_weights_kernel<float, weights_tile{6, 5}>>(5, 20, 5);
  expect_random_shapes<float, device_weights_kernel<float, weights_tile{4, 7}>>(7, 15, 6);
}

TEST(device_weights_kernel, converts_types_of_16_bits) {
  expect_random_shapes<f16, device_weights_kernel<float, weights_tile{4, 0}>>(0, 12, 7);
  expect_random_shapes<bf16, device_weights_kernel<float, weights_tile{8, 3}>>(3, 12, 8);
}

/// A device with the memory of an H100's multiprocessors.
team_resources large_device() {
  team_resources resources;
  resources.bytes_of_team = 227 << 10;
  resources.bytes_of_multiprocessor = 228 << 10;
  return resources;
}

/// A layer of square images and filters without padding.
weights_inputs<float> layer_of(std::int64_t images, int in_channels, int size, int out_channels, int side) {
  weights_inputs<float> inputs;
  inputs.images = images;
  inputs.in_channels = in_channels;
  inputs.height = inputs.width = size;
  inputs.out_channels = out_channels;
  inputs.filter_rows = inputs.filter_columns = side;
  inputs.rows = inputs.columns = size - side + 1;
  return inputs;
}

/// What a caller gets for the layers of nets: all of a device has something to do, for few images too.
TEST(device_weights_choice, shares_out_few_images) {
  const team_resources resources = large_device();
  weights_inputs<float> inputs = layer_of(64, 6, 14, 16, 5);
  const auto layout = device_weights_choice<float>(inputs, 4, weights_tile{8, 5}, resources).best();
  EXPECT_EQ(layout.threads, 256);
  EXPECT_EQ(layout.buffers, 2);
  EXPECT_GE(layout.groups, 128);
  inputs.images = 10000;
  EXPECT_EQ(device_weights_choice<float>(inputs, 4, weights_tile{8, 5}, resources).best().groups, 264);
}

/// 80 rows of 20 segments for 36 slices: three bands take 45 turns, four take 48.
TEST(device_weights_choice, cuts_images_so_that_few_turns_are_idle) {
  const team_resources resources = large_device();
  weights_inputs<float> inputs = layer_of(10000, 1, 86, 4, 7);
  constexpr std::int64_t width = 86, y_width = 80;
  inputs.x = {nullptr, width * width, width * width, width, 1};
  inputs.dy = {nullptr, 4 * y_width * y_width, y_width * y_width, y_width, 1};
  const auto layout = device_weights_choice<float>(inputs, 4, weights_tile{4, 7}, resources).best();
  EXPECT_EQ(layout.buffers, 2);
  EXPECT_EQ(layout.bands, 3);
  // Elements that are copied one by one need the cache beside the scratch memory.
  inputs.x.column_stride = 2;
  EXPECT_EQ(device_weights_choice<float>(inputs, 4, weights_tile{4, 7}, resources).best().bands, 4);
}

}  // namespace
}  // namespace prumo::backend
