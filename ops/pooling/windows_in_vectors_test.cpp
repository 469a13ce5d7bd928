// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of a host against one window after the other, to the bit: images with few columns in many layouts, and
// windows of all kinds. The arrays have no room behind them, so a sanitizer notices any access beside them.

#include "pooling_host_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace prumo::detail {
namespace {

/// What a test draws. The same numbers on every platform.
class draws {
 public:
  explicit draws(std::uint32_t seed) : engine_(seed) {}
  /// From `least` to `most`.
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(engine_()) % (most - least + 1);
  }
  bool coin() { return number(0, 1) == 1; }

 private:
  std::mt19937 engine_;
};

/// Few different numbers, zeros of both signs, infinities and NaN.
template <class X>
std::vector<X> elements(draws& draw, std::int64_t count) {
  std::vector<X> result(static_cast<std::size_t>(count));
  const std::int64_t specials = draw.number(0, 3) * 5;
  for (X& it : result) {
    const std::int64_t special = draw.number(0, 99);
    float value = static_cast<float>(draw.number(-99, 99)) / 8;
    if (special < specials) {
      value = special % 5 == 0   ? std::numeric_limits<float>::quiet_NaN()
              : special % 5 == 1 ? std::numeric_limits<float>::infinity()
                                 : -0.0f;
    }
    it = static_cast<X>(value);
  }
  return result;
}

/// Dense images, or with gaps behind rows and planes, or with the channels last.
template <class T>
image_array<T> layout_of(draws& draw, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  const std::int64_t kind = draw.number(0, 5);
  if (kind == 0) return {nullptr, rows * columns * channels, 1, columns * channels, channels};
  const std::int64_t pitch = columns + (kind == 1 ? draw.number(0, 3) : 0);
  const std::int64_t plane = rows * pitch + (kind == 2 ? draw.number(0, 9) : 0);
  return {nullptr, channels * plane, plane, pitch, 1};
}

/// From the first element to the last one.
template <class T>
std::int64_t elements_of(const image_array<T>& array, std::int64_t images, std::int64_t channels, std::int64_t rows,
                         std::int64_t columns) {
  return (images - 1) * array.image_stride + (channels - 1) * array.channel_stride + (rows - 1) * array.row_stride +
         (columns - 1) * array.column_stride + 1;
}

pooling_window window_of(draws& draw) {
  pooling_window window{};
  if (draw.number(0, 3) == 0) return window;
  window.height = draw.number(1, 5);
  window.width = draw.number(1, 7);
  window.row_stride = draw.coin() ? window.height : draw.number(1, 6);
  window.column_stride = draw.coin() ? window.width : draw.number(1, 6);
  window.row_padding = draw.coin() ? 0 : draw.number(0, window.height - 1);
  window.column_padding = draw.coin() ? 0 : draw.number(0, window.width - 1);
  window.rounding = draw.coin() ? window_rounding::up : window_rounding::down;
  return window;
}

/// A problem without its arrays, or with no windows.
template <class X, class T>
pooling_problem<X, T> problem_of(draws& draw) {
  pooling_problem<X, T> problem;
  problem.images = draw.number(1, 3);
  problem.channels = draw.number(1, 4);
  problem.height = draw.number(1, draw.coin() ? 8 : 60);
  problem.width = draw.number(1, draw.coin() ? 8 : draw.coin() ? 40 : draw.coin() ? 200 : 2000);
  const pooling_window window = window_of(draw);
  problem.window = window;
  problem.rows = pooled_extent(problem.height, window.height, window.row_stride, window.row_padding, window.rounding);
  problem.columns =
      pooled_extent(problem.width, window.width, window.column_stride, window.column_padding, window.rounding);
  problem.x = layout_of<const X>(draw, problem.channels, problem.height, problem.width);
  problem.y = layout_of<T>(draw, problem.channels, problem.rows, problem.columns);
  return problem;
}

/// y, computed one window after the other. What is no result is a 9.
template <pooling_kind Kind, class X, class T>
std::vector<T> plain_results(const pooling_problem<X, T>& problem, std::size_t count) {
  std::vector<T> y(count, static_cast<T>(9.0f));
  image_array<T> results = problem.y;
  results.data = y.data();
  const pooling_window& window = problem.window;
  for (std::int64_t index = 0; index < problem.images * problem.channels * problem.rows * problem.columns; ++index) {
    const std::int64_t column = index % problem.columns, row = index / problem.columns % problem.rows;
    const std::int64_t plane = index / problem.columns / problem.rows;
    const std::int64_t image = plane / problem.channels, channel = plane % problem.channels;
    const window_range rows(row, window.row_stride, window.row_padding, window.height, problem.height);
    const window_range columns(column, window.column_stride, window.column_padding, window.width, problem.width);
    results.plane(image, channel)[row * results.row_stride + column * results.column_stride] =
        static_cast<T>(pooled_window<Kind, compute_t<T>>(problem.x.plane(image, channel), problem.x.row_stride,
                                                         problem.x.column_stride, rows, columns));
  }
  return y;
}

/// Whether all bits are equal. NaNs of any bits are.
template <class T>
bool are_same(T a, T b) {
  const auto x = static_cast<compute_t<T>>(a), y = static_cast<compute_t<T>>(b);
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (x != x && y != y);
}

template <pooling_kind Kind, class X, class T>
void expect_plain_results(std::uint32_t seed) {
  draws draw(seed);
  auto problem = problem_of<X, T>(draw);
  if (problem.rows == 0 || problem.columns == 0) return;
  const auto x =
      elements<X>(draw, elements_of(problem.x, problem.images, problem.channels, problem.height, problem.width));
  problem.x.data = x.data();
  const auto expected =
      plain_results<Kind>(problem, static_cast<std::size_t>(elements_of(problem.y, problem.images, problem.channels,
                                                                        problem.rows, problem.columns)));
  std::vector<T> y(expected.size(), static_cast<T>(9.0f));
  problem.y.data = y.data();
  const pooling_host_kernel<Kind, X, T> kernel(problem);
  // The blocks may run in any order.
  for (std::int64_t block = kernel.blocks() - 1; block >= 0; --block) kernel(block);
  for (std::size_t k = 0; k < y.size(); ++k) {
    ASSERT_TRUE(are_same(y[k], expected[k]))
        << "seed " << seed << ", place " << k << ": " << static_cast<float>(y[k]) << " instead of "
        << static_cast<float>(expected[k]) << "; " << problem.height << " x " << problem.width << ", windows of "
        << problem.window.height << " x " << problem.window.width;
  }
}

template <class From, class To>
struct types {
  using x = From;
  using y = To;
};

template <class Types>
class windows_in_vectors_types : public testing::Test {};
using all_types = testing::Types<types<float, float>, types<double, double>, types<f16, f16>, types<bf16, bf16>,
                                 types<float, f16>, types<float, bf16>>;
TYPED_TEST_SUITE(windows_in_vectors_types, all_types);

TYPED_TEST(windows_in_vectors_types, are_those_of_one_after_the_other) {
  constexpr std::uint32_t problems = 1500;
  for (std::uint32_t seed = 0; seed < problems && !this->HasFatalFailure(); ++seed) {
    expect_plain_results<pooling_kind::maximum, typename TypeParam::x, typename TypeParam::y>(seed);
    expect_plain_results<pooling_kind::mean, typename TypeParam::x, typename TypeParam::y>(seed);
  }
}

}  // namespace
}  // namespace prumo::detail
