// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: ties and NaN, windows that are no squares, channels in the last place, that the gradient
// is the adjoint of pooling, refusals.

#include "operation_test.hpp"
#include <prumo/pooling_backward.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace prumo {
namespace {

using namespace tests;

template <class T>
class pooling_backward_types : public testing::Test {};
TYPED_TEST_SUITE(pooling_backward_types, tests::all_scalars);

struct extents {
  std::size_t height, width;
  pooling_window window;

  std::size_t rows() const {
    return static_cast<std::size_t>(pooled_extent(static_cast<std::int64_t>(height), window.height, window.row_stride,
                                                  window.row_padding, window.rounding));
  }
  std::size_t columns() const {
    return static_cast<std::size_t>(pooled_extent(static_cast<std::int64_t>(width), window.width, window.column_stride,
                                                  window.column_padding, window.rounding));
  }
};

/// Windows side by side, with gaps, with padding, beyond the edge, overlapping in one direction and in both.
const extents all_extents[] = {
    {8, 10, {}},
    {9, 11, {}},
    {9, 11, {.rounding = window_rounding::up}},
    {2, 2, {}},
    {4, 28, {}},
    {5, 75, {.rounding = window_rounding::up}},
    {2, 262, {}},
    {34, 35, {4, 4, 4, 4, 0, 0, window_rounding::up}},
    {13, 14, {2, 3, 4, 5, 1, 2, window_rounding::up}},
    {7, 1100, {1, 2, 1, 2, 0, 1, window_rounding::up}},
    {9, 9, {3, 5, 2, 4, 1, 2, window_rounding::up}},
    {9, 12, {3, 3, 2, 2, 1, 1}},
    {6, 6, {2, 2, 1, 1}},
    {5, 7, {5, 7, 1, 1}},
    {1, 1, {1, 1, 3, 3}},
};

/// dx of a window's first largest element gets dy, in the order of the windows.
template <class X, class DY>
std::vector<double> expected_of_maxima(const extents& of, const X& x, const DY& dy, std::size_t n, std::size_t c) {
  std::vector<double> result(of.height * of.width);
  const pooling_window& window = of.window;
  for (std::size_t i = 0; i < of.rows(); ++i) {
    for (std::size_t j = 0; j < of.columns(); ++j) {
      const auto top = static_cast<std::int64_t>(i) * window.row_stride - window.row_padding;
      const auto left = static_cast<std::int64_t>(j) * window.column_stride - window.column_padding;
      std::size_t place = of.height * of.width;
      double largest = 0;
      for (std::int64_t r = top; r < top + window.height; ++r) {
        for (std::int64_t k = left; k < left + window.width; ++k) {
          if (r < 0 || k < 0 || r >= static_cast<std::int64_t>(of.height) || k >= static_cast<std::int64_t>(of.width)) {
            continue;
          }
          const auto row = static_cast<std::size_t>(r), column = static_cast<std::size_t>(k);
          const auto value = static_cast<double>(static_cast<float>(x(n, c, row, column)));
          if (place == of.height * of.width || value > largest || (std::isnan(value) && !std::isnan(largest))) {
            place = row * of.width + column;
            largest = value;
          }
        }
      }
      result[place] += static_cast<double>(static_cast<float>(dy(n, c, i, j)));
    }
  }
  return result;
}

template <class T, class X, class DY, class DX>
void expect_gradients_of_maxima(const extents& of, const X& x, const DY& dy, const DX& dx) {
  context<exec> ctx;
  // Few different numbers, so that many windows have several largest ones, and some NaN.
  const auto source = tests::set_elements(x, [](std::size_t n, std::size_t c, std::size_t r, std::size_t k) {
    const std::size_t number = (n * 7 + c * 31 + r * 57 + k * 103) % 23;
    return number == 22 ? static_cast<T>(std::numeric_limits<float>::quiet_NaN())
                        : static_cast<T>(static_cast<float>(number % 5));
  });
  const auto gradients = tests::set_elements(dy, [](std::size_t n, std::size_t c, std::size_t i, std::size_t j) {
    return static_cast<T>(static_cast<float>((n * 5 + c * 3 + i * 7 + j) % 13) - 6.0f);
  });
  max_pool_backward(ctx, x, dy, dx, of.window);
  ctx.fence();
  const auto result = tests::host_copy(dx);
  std::int64_t wrong = 0;
  for (std::size_t n = 0; n < x.extent(0); ++n) {
    for (std::size_t c = 0; c < x.extent(1); ++c) {
      const std::vector<double> expected = expected_of_maxima(of, source, gradients, n, c);
      for (std::size_t r = 0; r < of.height; ++r) {
        for (std::size_t k = 0; k < of.width; ++k) {
          const auto found = static_cast<double>(static_cast<float>(result(n, c, r, k)));
          wrong += found == expected[r * of.width + k] ? 0 : 1;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << of.height << " x " << of.width;
}

TYPED_TEST(pooling_backward_types, the_first_of_the_largest_gets_the_gradient) {
  for (const extents& of : all_extents) {
    const images<TypeParam> x("x", 2, 3, of.height, of.width), dx("dx", 2, 3, of.height, of.width);
    const images<TypeParam> dy("dy", 2, 3, of.rows(), of.columns());
    expect_gradients_of_maxima<TypeParam>(of, x, dy, dx);
    const auto last_x = channels_last<TypeParam>(2, 3, of.height, of.width);
    const auto last_dx = channels_last<TypeParam>(2, 3, of.height, of.width);
    const auto last_dy = channels_last<TypeParam>(2, 3, of.rows(), of.columns());
    expect_gradients_of_maxima<TypeParam>(of, last_x, last_dy, last_dx);
    expect_gradients_of_maxima<TypeParam>(of, x, last_dy, dx);
    expect_gradients_of_maxima<TypeParam>(of, last_x, dy, dx);
  }
}

double inner_product(const images<double>& a, const images<double>& b) {
  const auto x = tests::host_copy(a), y = tests::host_copy(b);
  double sum = 0;
  tests::for_each_index(x, [&](auto... indices) { sum += x(indices...) * y(indices...); });
  return sum;
}

/// <pool(x), dy> = <x, pool_backward(dy)>: a mean is linear in x, and a maximum too while its places stay.
TEST(pooling_backward, is_the_adjoint_of_pooling) {
  context<exec> ctx;
  for (const extents& of : all_extents) {
    const images<double> x("x", 2, 3, of.height, of.width), dx("dx", 2, 3, of.height, of.width);
    const images<double> y("y", 2, 3, of.rows(), of.columns()), dy("dy", 2, 3, of.rows(), of.columns());
    tests::set_uniform(x, 1);
    tests::set_uniform(dy, 2);
    for (const bool is_maximum : {true, false}) {
      if (is_maximum) {
        max_pool(ctx, x, y, of.window);
        max_pool_backward(ctx, x, dy, dx, of.window);
      } else {
        average_pool(ctx, x, y, of.window);
        average_pool_backward(ctx, dy, dx, of.window);
      }
      ctx.fence();
      // Some thousand products below 1, each with few roundings.
      EXPECT_NEAR(inner_product(y, dy), inner_product(x, dx), 1e-11) << of.height << " x " << of.width;
    }
  }
}

TEST(average_pool_backward, divides_by_the_elements_inside_the_image) {
  context<exec> ctx;
  const images<float> dy("dy", 1, 1, 2, 2), dx("dx", 1, 1, 3, 3);
  tests::set_elements(dy, [](std::size_t, std::size_t, std::size_t i, std::size_t j) {
    return static_cast<float>(4 * (2 * i + j + 1));
  });
  average_pool_backward(ctx, dy, dx, {.rounding = window_rounding::up});
  ctx.fence();
  const auto result = tests::host_copy(dx);
  const float expected[3][3] = {{1, 1, 4}, {1, 1, 4}, {6, 6, 16}};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result(0, 0, r, k), expected[r][k]) << r << " " << k;
  }
}

TEST(pooling_backward, refuses_windows_and_shapes_that_do_not_fit) {
  context<exec> ctx;
  const images<float> x("my x", 2, 3, 8, 8), dx("my dx", 2, 3, 8, 8), dy("my dy", 2, 3, 4, 3), fits("fits", 2, 3, 4, 4);
  const images<float> other("other", 2, 3, 8, 9);
  const images<double> doubles("doubles", 2, 3, 8, 8);
  EXPECT_THAT(
      tests::message_of<shape_error>([&] { max_pool_backward(ctx, x, dy, dx); }),
      AllOf(StartsWith("prumo::max_pool_backward: expected dy with the images and channels of dx, 4 rows and 4"),
            HasSubstr("'my dy': f32 [2 x 3 x 4 x 3]")));
  EXPECT_THAT(tests::message_of<shape_error>([&] { max_pool_backward(ctx, other, fits, dx); }),
              AllOf(HasSubstr("dx with the extents of x"), HasSubstr("'other'")));
  EXPECT_THAT(tests::message_of<shape_error>([&] { average_pool_backward(ctx, dy, dx, {.height = 9}); }),
              AllOf(StartsWith("prumo::average_pool_backward: "), HasSubstr("images that are not smaller")));
  EXPECT_THAT(tests::message_of<argument_error>([&] { average_pool_backward(ctx, fits, dx, {.row_stride = 0}); }),
              HasSubstr("got height 2 (stride 0, padding 0)"));
  EXPECT_THAT(tests::message_of<argument_error>(
                  [&] { max_pool_backward(instance_ref(ctx), array_ref(doubles), array_ref(fits), array_ref(dx)); }),
              HasSubstr("arrays of the same type"));
  EXPECT_THROW(max_pool_backward(ctx, x, fits, x), alias_error);
  EXPECT_THROW(average_pool_backward(ctx, x, x, {1, 1, 1, 1}), alias_error);
}

}  // namespace
}  // namespace prumo
