// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: strides and paddings that differ by direction, channels in the last place, elements that
// are not finite, agreement of the implementations, refusals.

#include "all_scalars.hpp"
#include "each_implementation.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include <prumo/convolution.hpp>
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>

namespace prumo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::channels_last;
using tests::for_each_implementation;
using tests::images;
using tests::set_whole_numbers;
using exec = Kokkos::DefaultExecutionSpace;

/// One place of the filter, element by element.
template <class X, class W>
double sum_at(const X& x, const W& w, const convolution_options& options, std::size_t n, std::size_t m,
              std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::size_t c = 0; c < w.extent(1); ++c) {
    for (std::size_t p = 0; p < w.extent(2); ++p) {
      for (std::size_t q = 0; q < w.extent(3); ++q) {
        const std::int64_t r = row * options.row_stride + static_cast<std::int64_t>(p) - options.row_padding;
        const std::int64_t k = column * options.column_stride + static_cast<std::int64_t>(q) - options.column_padding;
        if (r < 0 || k < 0 || r >= static_cast<std::int64_t>(x.extent(2)) ||
            k >= static_cast<std::int64_t>(x.extent(3))) {
          continue;
        }
        sum += static_cast<double>(w(m, c, p, q)) *
               static_cast<double>(x(n, c, static_cast<std::size_t>(r), static_cast<std::size_t>(k)));
      }
    }
  }
  return sum;
}

template <class X, class W, class Y>
void expect_exact(const X& x, const W& w, const Y& y, const convolution_options& options) {
  using value_type = typename Y::non_const_value_type;
  context<exec> ctx;
  const auto source = set_whole_numbers(x, 1), filters = set_whole_numbers(w, 3);
  convolve(ctx, x, w, y, options);
  ctx.fence();
  const auto result = tests::host_copy(y);
  std::int64_t wrong = 0;
  tests::for_each_index(y, [&](auto n, auto m, auto r, auto k) {
    const double expected =
        sum_at(source, filters, options, n, m, static_cast<std::int64_t>(r), static_cast<std::int64_t>(k));
    wrong += result(n, m, r, k) == value_type(static_cast<float>(expected)) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0) << options.implementation << ", " << y.extent(2) << " x " << y.extent(3);
}

template <class T>
class convolution_types : public testing::Test {};
TYPED_TEST_SUITE(convolution_types, tests::all_scalars);

TYPED_TEST(convolution_types, strides_and_paddings_that_differ_by_direction) {
  const images<TypeParam> x("x", 2, 3, 13, 23), w("w", 5, 3, 4, 3), y("y", 2, 5, 8, 9);
  const convolution_options options{.row_stride = 2, .column_stride = 3, .row_padding = 3, .column_padding = 2};
  ASSERT_EQ(convolved_extent(13, 4, 2, 3), 8);
  ASSERT_EQ(convolved_extent(23, 3, 3, 2), 9);
  for_each_implementation(x, w, y, options, [&](const convolution_options& each) { expect_exact(x, w, y, each); });
}

TYPED_TEST(convolution_types, channels_in_the_last_place) {
  const auto x = channels_last<TypeParam>(3, 4, 10, 12), w = channels_last<TypeParam>(9, 4, 3, 3);
  expect_exact(x, w, channels_last<TypeParam>(3, 9, 8, 10), {});
  expect_exact(x, w, images<TypeParam>("y", 3, 9, 10, 12), {.row_padding = 1, .column_padding = 1});
}

TYPED_TEST(convolution_types, a_filter_that_is_larger_than_its_stride_and_one_that_is_smaller) {
  const images<TypeParam> x("x", 1, 2, 30, 31);
  expect_exact(x, images<TypeParam>("w", 3, 2, 7, 5), images<TypeParam>("y", 1, 3, 6, 7),
               {.row_stride = 4, .column_stride = 4});
  expect_exact(x, images<TypeParam>("w", 3, 2, 1, 2), images<TypeParam>("y", 1, 3, 8, 6),
               {.row_stride = 4, .column_stride = 5});
}

/// An infinite element reaches the sums that it is part of, and no other one. Kernels that compute with a filter of
/// more taps, whose weights are zero, would spread it.
TYPED_TEST(convolution_types, what_is_not_finite_reaches_its_own_sums_alone) {
  context<exec> ctx;
  for (const std::size_t filters : {3U, 6U, 17U}) {
    const images<TypeParam> x("x", 5, 2, 14, 21), w("w", filters, 2, 3, 5), y("y", 5, filters, 12, 17);
    auto source = set_whole_numbers(x, 1);
    tests::set_elements(w, [](auto...) { return TypeParam(1.0f); });
    source(3, 1, 7, 9) = TypeParam(std::numeric_limits<float>::infinity());
    tests::write_back(x, source);
    for_each_implementation(x, w, y, {}, [&](const convolution_options& options) {
      convolve(ctx, x, w, y, options);
      ctx.fence();
      const auto result = tests::host_copy(y);
      std::int64_t wrong = 0;
      tests::for_each_index(y, [&](auto n, auto m, auto r, auto k) {
        const bool is_reached = n == 3 && r >= 5 && r <= 7 && k >= 5 && k <= 9;
        wrong += std::isinf(static_cast<double>(result(n, m, r, k))) == is_reached ? 0 : 1;
      });
      EXPECT_EQ(wrong, 0) << options.implementation << ", " << filters << " filters";
    });
  }
}

/// Many shapes, whose sums are exact: widths that are odd, filters wider than 8, strides, paddings, fewer output
/// channels than a matrix unit has rows, and more.
TYPED_TEST(convolution_types, shapes_that_nobody_chose) {
  std::minstd_rand random(7);
  const auto between = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto size = [](auto value) { return static_cast<std::size_t>(value); };
  for (int number = 0; number < 25; ++number) {
    const int fh = between(1, 7), fw = between(1, 12);
    convolution_options options{.row_stride = between(1, 3), .column_stride = between(1, 3)};
    options.row_padding = between(0, fh - 1);
    options.column_padding = between(0, 1) * between(0, fw - 1);
    const int height = fh + between(0, 20), width = fw + between(0, 40);
    const int images_of_x = between(1, 5), inputs = between(1, 5), outputs = between(1, 20);
    const images<TypeParam> x("x", size(images_of_x), size(inputs), size(height), size(width)),
        w("w", size(outputs), size(inputs), size(fh), size(fw)),
        y("y", size(images_of_x), size(outputs),
          size(convolved_extent(height, fh, options.row_stride, options.row_padding)),
          size(convolved_extent(width, fw, options.column_stride, options.column_padding)));
    for_each_implementation(x, w, y, options, [&](const convolution_options& each) {
      SCOPED_TRACE("shape " + std::to_string(number));
      expect_exact(x, w, y, each);
    });
  }
}

/// What an output channel gets does not depend on the other images and channels, nor on how they are cut.
TEST(convolve, gives_the_same_bits_for_an_image_alone) {
  context<exec> ctx;
  const images<float> x("x", 5, 3, 40, 33), w("w", 21, 3, 5, 5), all("all", 5, 21, 36, 29),
      alone("alone", 1, 21, 36, 29);
  tests::set_uniform(x, 1);
  tests::set_uniform(w, 2);
  const convolution_options options{.implementation = "direct"};
  convolve(ctx, x, w, all, options);
  convolve(ctx, Kokkos::subview(x, std::pair{3, 4}, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL), w, alone, options);
  ctx.fence();
  const auto one = tests::host_copy(alone), five = tests::host_copy(all);
  std::int64_t different = 0;
  tests::for_each_index(alone, [&](auto, auto m, auto r, auto k) { different += one(0, m, r, k) != five(3, m, r, k); });
  EXPECT_EQ(different, 0);
}

TEST(convolve, refuses_what_does_not_fit) {
  context<exec> ctx;
  const images<float> x("my x", 2, 3, 8, 9), w("my w", 4, 3, 3, 3), y("my y", 2, 4, 6, 7);
  const auto message = [&](const images<float>& images_of_y, const convolution_options& options) {
    return tests::message_of<error>([&] { convolve(ctx, x, w, images_of_y, options); });
  };
  EXPECT_THAT(
      message(images<float>("y", 2, 4, 6, 6), {}),
      AllOf(StartsWith("prumo::convolve: "), HasSubstr("y [images x out_channels x 6 x 7]"), HasSubstr("'my w'")));
  EXPECT_THAT(message(y, {.row_stride = 0}), HasSubstr("strides of 1 or more (got 0, 1)"));
  EXPECT_THAT(message(y, {.column_padding = 3}), HasSubstr("smaller than the filter (got 0, 3)"));
  EXPECT_THAT(message(y, {.pooling = convolution_pooling::mean}), HasSubstr("x out_channels x 3 x 3]"));
  EXPECT_THAT(message(y, {.pooling = convolution_pooling::mean, .window = {.height = 0}}),
              HasSubstr("expected a window and strides of 1 or more"));
  EXPECT_THAT(message(y, {.mode = gemm_mode::fast_bf16}),
              AllOf(HasSubstr("nothing computes f32 2 images"), HasSubstr("strides 1 x 1, mode fast_bf16"),
                    HasSubstr("portable: it computes in mode strict only")));
  EXPECT_THAT(message(y, {.implementation = "magic"}), HasSubstr("no implementation is called 'magic'"));
  const Kokkos::View<float*, exec> bias("my bias", 3);
  EXPECT_THAT(message(y, {.bias = array_ref(bias)}), HasSubstr("a bias with an entry for each output channel"));
  EXPECT_THROW(convolve(ctx, y, images<float>("w", 4, 4, 1, 1), y), alias_error);
  EXPECT_THAT(tests::message_of<shape_error>(
                  [&] { convolve(ctx, x, images<float>("w", 4, 3, 9, 1), images<float>("y", 2, 4, 0, 9)); }),
              HasSubstr("the image with its padding is not smaller than the filter"));
}

}  // namespace
}  // namespace prumo
