// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: windows that are no squares, channels in the last place, NaN, extents by hand, refusals.

#include "operation_test.hpp"
#include <prumo/pooling.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace prumo {
namespace {

using namespace tests;

TEST(pooled_extent, is_that_of_the_formula) {
  using enum window_rounding;
  EXPECT_EQ(pooled_extent(44, 2, 2, 0, down), 22);
  EXPECT_EQ(pooled_extent(34, 4, 4, 0, down), 8);
  EXPECT_EQ(pooled_extent(34, 4, 4, 0, up), 9);
  EXPECT_EQ(pooled_extent(7, 3, 2, 1, down), 4);
  EXPECT_EQ(pooled_extent(2, 3, 1, 0, up), 0);
  // The third window would begin behind the image.
  EXPECT_EQ(pooled_extent(4, 2, 3, 1, up), 2);
  EXPECT_EQ(pooled_extent(5, 2, 3, 1, up), 2);
  EXPECT_EQ(pooled_extent(6, 2, 3, 1, up), 3);
}

template <class T>
class pooling_types : public testing::Test {};
TYPED_TEST_SUITE(pooling_types, tests::all_scalars);

constexpr pooling_window oblong{3, 5, 2, 4, 1, 2, window_rounding::up};

/// The largest element of a window, element by element.
template <class Source>
double largest_in(const Source& x, std::size_t n, std::size_t c, std::int64_t row, std::int64_t column) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t r = row * 2 - 1; r < row * 2 + 2; ++r) {
    for (std::int64_t k = column * 4 - 2; k < column * 4 + 3; ++k) {
      if (r < 0 || k < 0 || r >= static_cast<std::int64_t>(x.extent(2)) ||
          k >= static_cast<std::int64_t>(x.extent(3))) {
        continue;
      }
      largest =
          std::max(largest, static_cast<double>(x(n, c, static_cast<std::size_t>(r), static_cast<std::size_t>(k))));
    }
  }
  return largest;
}

template <class X, class Y>
void expect_largest(const X& x, const Y& y) {
  context<exec> ctx;
  const auto source = tests::set_elements(x, [](std::size_t n, std::size_t c, std::size_t r, std::size_t k) {
    return typename X::value_type(static_cast<float>((n * 7 + c * 31 + r * 57 + k * 103) % 211) - 100.0f);
  });
  max_pool(ctx, x, y, oblong);
  ctx.fence();
  const auto result = tests::host_copy(y);
  std::int64_t wrong = 0;
  tests::for_each_index(y, [&](auto n, auto c, auto r, auto k) {
    const double expected = largest_in(source, n, c, static_cast<std::int64_t>(r), static_cast<std::int64_t>(k));
    wrong += static_cast<double>(result(n, c, r, k)) == expected ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0) << x.extent(2) << " x " << x.extent(3);
}

TYPED_TEST(pooling_types, windows_that_are_no_squares_in_any_layout) {
  for (const std::size_t width : {1UL, 2UL, 7UL, 8UL, 33UL}) {
    const auto rows = static_cast<std::size_t>(pooled_extent(9, 3, 2, 1, window_rounding::up));
    const auto columns =
        static_cast<std::size_t>(pooled_extent(static_cast<std::int64_t>(width), 5, 4, 2, window_rounding::up));
    const images<TypeParam> x("x", 2, 3, 9, width), y("y", 2, 3, rows, columns);
    expect_largest(x, y);
    expect_largest(channels_last<TypeParam>(2, 3, 9, width), channels_last<TypeParam>(2, 3, rows, columns));
    expect_largest(channels_last<TypeParam>(2, 3, 9, width), y);
  }
}

TEST(max_pool, hands_nan_on_and_takes_infinities) {
  context<exec> ctx;
  const images<float> x("x", 1, 1, 2, 6), y("y", 1, 1, 1, 3);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float values[2][6] = {{1, nan, -infinity, -infinity, 3, infinity}, {2, 0, -infinity, -infinity, 4, 5}};
  tests::set_elements(x, [&](std::size_t, std::size_t, std::size_t r, std::size_t c) { return values[r][c]; });
  max_pool(ctx, x, y);
  ctx.fence();
  const auto result = tests::host_copy(y);
  EXPECT_TRUE(std::isnan(result(0, 0, 0, 0)));
  EXPECT_EQ(result(0, 0, 0, 1), -infinity);
  EXPECT_EQ(result(0, 0, 0, 2), infinity);
}

TEST(average_pool, divides_by_the_elements_inside_the_image) {
  context<exec> ctx;
  const images<double> x("x", 1, 1, 3, 3), y("y", 1, 1, 2, 2);
  tests::set_elements(
      x, [](std::size_t, std::size_t, std::size_t r, std::size_t c) { return static_cast<double>(3 * r + c); });
  average_pool(ctx, x, y, {.rounding = window_rounding::up});
  ctx.fence();
  const auto result = tests::host_copy(y);
  EXPECT_EQ(result(0, 0, 0, 0), 2);    // 0 1 3 4
  EXPECT_EQ(result(0, 0, 0, 1), 3.5);  // 2 5
  EXPECT_EQ(result(0, 0, 1, 0), 6.5);  // 6 7
  EXPECT_EQ(result(0, 0, 1, 1), 8);
}

TEST(max_pool, refuses_windows_and_shapes_that_do_not_fit) {
  context<exec> ctx;
  const images<float> x("my x", 2, 3, 8, 8), y("my y", 2, 3, 4, 3);
  EXPECT_THAT(tests::message_of<shape_error>([&] { max_pool(ctx, x, y); }),
              AllOf(StartsWith("prumo::max_pool: "), HasSubstr("4 rows and 4 columns"), HasSubstr("'my y'")));
  EXPECT_THAT(tests::message_of<shape_error>([&] { max_pool(ctx, x, y, {.height = 9}); }),
              HasSubstr("images that are not smaller than the window of 9 x 2"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { max_pool(ctx, x, y, {.row_stride = 0}); }),
              HasSubstr("got height 2 (stride 0, padding 0)"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { average_pool(ctx, x, y, {.column_padding = 2}); }),
              AllOf(StartsWith("prumo::average_pool: "), HasSubstr("paddings that are smaller than the window")));
  EXPECT_THROW(max_pool(ctx, x, x, {1, 1, 1, 1}), alias_error);
}

}  // namespace
}  // namespace prumo
