// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: strides and paddings that differ by direction, channels in the last place, windows that
// overlap, agreement of the implementations, many threads for few images, several contexts, refusals.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include "own_instance.hpp"
#include <prumo/convolution.hpp>
#include <prumo/error.hpp>
#include <prumo/images.hpp>
#include <prumo/spaces.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

namespace prumo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::channels_last;
using tests::images;
using exec = Kokkos::DefaultExecutionSpace;

/// Small whole numbers, whose sums are exact in every type.
template <class View>
auto set_whole_numbers(const View& view, std::size_t salt) {
  return tests::set_elements(view, [&](std::size_t n, std::size_t c, std::size_t r, std::size_t k) {
    return typename View::value_type(static_cast<float>((salt + n * 3 + c * 5 + r * 7 + k * 11 + r * k) % 5) - 2.0f);
  });
}

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

/// Calls visit(options) for each implementation that can compute the convolution.
template <class X, class W, class Y, class Visitor>
void for_each_implementation(const X& x, const W& w, const Y& y, convolution_options options, const Visitor& visit) {
  const exec space;
  const instance_ref instance(space);
  const array_ref x_array(x), w_array(w), y_array(y);
  for (const std::string_view name : convolution_implementations(instance.space(), y_array.type)) {
    options.implementation = name;
    try {
      convolution_implementation(instance, x_array, w_array, y_array, options);
    } catch (const unsupported_error&) {
      continue;
    }
    visit(options);
  }
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

void expect_that_it_pools_windows_that_overlap(std::size_t filters) {
  context<exec> ctx;
  const images<float> x("x", 2, 1, 21, 40), w("w", filters, 1, 3, 3), plain("plain", 2, filters, 19, 38);
  const pooling_window window{3, 5, 2, 3, 1, 1, window_rounding::down};
  const Kokkos::View<float*, exec> bias("bias", filters);
  tests::set_uniform(x, 1);
  tests::set_uniform(w, 2);
  tests::set_uniform(bias, 3);
  ASSERT_EQ(pooled_extent(19, 3, 2, 1, window_rounding::down), 10);
  ASSERT_EQ(pooled_extent(38, 5, 3, 1, window_rounding::down), 12);
  for (const convolution_pooling pooling : {convolution_pooling::maximum, convolution_pooling::mean}) {
    // The tanh of a maximum need not have the bits of the largest tanh.
    const bool is_exact = pooling == convolution_pooling::mean;
    convolution_options options{.bias = array_ref(bias),
                                .activation = is_exact ? activation_function::tanh : activation_function::relu};
    for_each_implementation(x, w, plain, options, [&](convolution_options with_name) {
      const images<float> pooled("pooled", 2, filters, 10, 12), separate("separate", 2, filters, 10, 12);
      convolve(ctx, x, w, plain, with_name);
      if (pooling == convolution_pooling::maximum) {
        max_pool(ctx, plain, separate, window);
      } else {
        average_pool(ctx, plain, separate, window);
      }
      with_name.pooling = pooling;
      with_name.window = window;
      convolve(ctx, x, w, pooled, with_name);
      ctx.fence();
      const auto one = tests::host_copy(pooled), two = tests::host_copy(separate);
      tests::for_each_index(pooled, [&](auto... at) { EXPECT_EQ(one(at...), two(at...)) << with_name.implementation; });
    });
  }
}

/// Few filters, and as many as hosts take into the lanes of registers.
TEST(convolve, pools_windows_that_overlap_and_have_a_padding) {
  for (const std::size_t filters : {3U, 16U}) expect_that_it_pools_windows_that_overlap(filters);
}

/// An infinite bias makes a NaN of an infinite sum of the other sign, and that is the maximum of its window.
TEST(convolve, adds_an_infinite_bias_before_it_takes_maxima) {
  context<exec> ctx;
  for (const std::size_t filters : {3U, 16U}) {
    const images<float> x("x", 1, 1, 20, 21), w("w", filters, 1, 1, 1), y("y", 1, filters, 10, 10);
    const Kokkos::View<float*, exec> bias("bias", filters);
    auto source = set_whole_numbers(x, 1);
    source(0, 0, 5, 7) = -std::numeric_limits<float>::infinity();
    tests::write_back(x, source);
    tests::set_elements(w, [](auto...) { return 1.0f; });
    Kokkos::deep_copy(bias, std::numeric_limits<float>::infinity());
    for_each_implementation(x, w, images<float>("plain", 1, filters, 20, 21), {}, [&](convolution_options options) {
      options.bias = array_ref(bias);
      options.pooling = convolution_pooling::maximum;
      try {
        convolve(ctx, x, w, y, options);
      } catch (const unsupported_error&) {
        return;
      }
      ctx.fence();
      const auto result = tests::host_copy(y);
      std::int64_t wrong = 0;
      tests::for_each_index(y, [&](auto, auto m, auto r, auto k) {
        wrong += std::isnan(result(0, m, r, k)) == (r == 2 && k == 3) ? 0 : 1;
      });
      EXPECT_EQ(wrong, 0) << options.implementation << ", " << filters << " filters";
    });
  }
}

/// Activations that rise may be taken of maxima alone. Their rounding may fall where x rises, so the results need not
/// have the bits of the maximum of activated results: both are within the bound of the activation, 3 units in the last
/// place at most. A NaN is the maximum of its window whatever follows.
TYPED_TEST(convolution_types, activations_of_maxima) {
  context<exec> ctx;
  const images<TypeParam> x("x", 3, 2, 24, 29), w("w", 6, 2, 5, 5), plain("plain", 3, 6, 20, 25),
      pooled("pooled", 3, 6, 10, 12), separate("separate", 3, 6, 10, 12);
  auto source = tests::set_elements(x, [](auto n, auto c, auto r, auto k) {
    return TypeParam(static_cast<float>((n * 3 + c * 5 + r * 7 + k * 11 + r * k) % 17) / 64.0f - 0.125f);
  });
  set_whole_numbers(w, 3);
  source(1, 0, 11, 13) = TypeParam(std::numeric_limits<float>::quiet_NaN());
  tests::write_back(x, source);
  constexpr double bound = 3 * 2 * unit_roundoff<TypeParam>();
  for (const auto activation : {activation_function::relu, activation_function::sigmoid, activation_function::tanh,
                                activation_function::gelu}) {
    for_each_implementation(x, w, plain, {.activation = activation}, [&](convolution_options options) {
      convolve(ctx, x, w, plain, options);
      max_pool(ctx, plain, separate);
      options.pooling = convolution_pooling::maximum;
      try {
        convolve(ctx, x, w, pooled, options);
      } catch (const unsupported_error&) {
        return;
      }
      ctx.fence();
      const auto one = tests::host_copy(pooled), two = tests::host_copy(separate);
      std::int64_t wrong = 0, not_numbers = 0;
      tests::for_each_index(pooled, [&](auto... at) {
        const auto got = static_cast<double>(one(at...)), wanted = static_cast<double>(two(at...));
        not_numbers += std::isnan(got);
        wrong +=
            std::isnan(got) == std::isnan(wanted) && !(std::abs(got - wanted) > 2 * bound * std::abs(wanted)) ? 0 : 1;
      });
      EXPECT_EQ(wrong, 0) << options.implementation << ", " << activation_name(activation);
      // The filter's places see the element in rows 7 to 11 and columns 9 to 13.
      EXPECT_EQ(not_numbers, 6 * 3 * 3) << options.implementation << ", " << activation_name(activation);
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

/// A GPU has one place for weights in constant memory. Contexts that are used in turns, or one after the other, must
/// not see each other's.
TEST(convolve, contexts_have_weights_of_their_own) {
  const images<float> x("x", 600, 1, 28, 28);
  set_whole_numbers(x, 1);
  for (const auto& [filters, side, pooled] : {std::tuple{6U, 5U, true}, {4U, 7U, false}, {3U, 7U, true}}) {
    const std::size_t rows = (28 - side + 1) / (pooled ? 2 : 1);
    convolution_options options{.pooling = pooled ? convolution_pooling::maximum : convolution_pooling::none};
    images<float> w[2], y[2], expected[2];
    for (std::size_t i = 0; i < 2; ++i) {
      w[i] = images<float>("w", filters, 1, side, side);
      y[i] = images<float>("y", 600, filters, rows, rows);
      expected[i] = images<float>("expected", 600, filters, rows, rows);
      set_whole_numbers(w[i], 3 + i);
      context<exec> ctx;
      options.implementation = "portable";
      convolve(ctx, x, w[i], expected[i], options);
      ctx.fence();
    }
    options.implementation = "direct";
    const auto expect_all = [&](const std::string& what) {
      for (std::size_t i = 0; i < 2; ++i) {
        const auto got = tests::host_copy(y[i]), wanted = tests::host_copy(expected[i]);
        std::int64_t wrong = 0;
        tests::for_each_index(y[i], [&](auto... at) { wrong += got(at...) == wanted(at...) ? 0 : 1; });
        EXPECT_EQ(wrong, 0) << what << ", filters of " << side << ", context " << i;
        Kokkos::deep_copy(y[i], -1.0f);
      }
    };
    const auto other_instance = tests::make_own_instance<exec>();
    {
      context<exec> first, second(other_instance);
      for (int turn = 0; turn < 3; ++turn) {
        convolve(first, x, w[0], y[0], options);
        convolve(second, x, w[1], y[1], options);
      }
      first.fence();
      second.fence();
      expect_all("in turns");
    }
    {
      context<exec> first;
      convolve(first, x, w[0], y[0], options);
    }  // its work may still be under way
    context<exec> second(other_instance);
    convolve(second, x, w[1], y[1], options);
    exec().fence();
    second.fence();
    expect_all("one after the other");
  }
}

/// Images of bytes give the bits of their numbers, where one kernel takes them, and nothing is done elsewhere.
TEST(convolve, takes_images_of_bytes) {
  struct layer {
    std::size_t images, filters, side, filter;
    activation_function activation;
  };
  std::mt19937 random(31);
  for (const layer& of : {layer{700, 6, 48, 5, activation_function::tanh},
                          {500, 4, 86, 7, activation_function::relu},
                          {336, 3, 30, 7, activation_function::none},
                          {3, 6, 48, 5, activation_function::tanh},
                          {400, 7, 48, 5, activation_function::relu}}) {
    using bytes_view = Kokkos::View<std::uint8_t****, Kokkos::LayoutRight, exec>;
    const std::size_t rows = (of.side - of.filter + 1) / 2;
    const bytes_view bytes("bytes", of.images, 1, of.side, of.side);
    tests::set_elements(bytes, [&](auto...) { return static_cast<std::uint8_t>(random() % 256); });
    const images<float> x("x", of.images, 1, of.side, of.side), w("w", of.filters, 1, of.filter, of.filter),
        y("y", of.images, of.filters, rows, rows), expected("expected", of.images, of.filters, rows, rows);
    const Kokkos::View<float*, exec> bias("bias", of.filters);
    const auto number = [&](auto...) { return static_cast<float>(random() % 1000) / 500.0f - 1.0f; };
    tests::set_elements(w, number);
    tests::set_elements(bias, number);
    Kokkos::deep_copy(y, -7.0f);
    context<exec> ctx;
    const convolution_options options{.bias = array_ref(bias),
                                      .activation = of.activation,
                                      .pooling = convolution_pooling::maximum,
                                      .window = {2, 2, 2, 2, 0, 0, window_rounding::down}};
    constexpr double scale = 1.0 / 255;
    const bool is_taken = convolve_bytes(ctx, array_ref(bytes), scale, array_ref(w), array_ref(y), options);
    if (is_taken) {
      convert_images(ctx.instance(), bytes, x, {.scale = scale});
      convolve(ctx, x, w, expected, options);
    } else {
      Kokkos::deep_copy(ctx.instance(), expected, -7.0f);
    }
    ctx.fence();
    const auto got = tests::host_copy(y), wanted = tests::host_copy(expected);
    std::int64_t wrong = 0;
    tests::for_each_index(y, [&](auto... at) { wrong += got(at...) == wanted(at...) ? 0 : 1; });
    EXPECT_EQ(wrong, 0) << of.images << " images of " << of.side << ", taken: " << is_taken;
    EXPECT_TRUE(!is_host_space<exec> || !is_taken);
#if defined(KOKKOS_ENABLE_CUDA) && defined(KOKKOS_ARCH_HOPPER)
    EXPECT_TRUE(is_taken || of.images < 500) << of.images << " images of " << of.side;
#endif
    EXPECT_THAT(tests::message_of<argument_error>(
                    [&] { convolve_bytes(ctx, array_ref(x), scale, array_ref(w), array_ref(y), options); }),
                AllOf(StartsWith("prumo::convolve"), HasSubstr("images of u8")));
  }
}

TEST(convolve, takes_no_memory_when_it_is_called_again) {
  context<exec> ctx;
  const images<float> x("x", 4, 3, 20, 20), w("w", 6, 3, 5, 5), y("y", 4, 6, 16, 16);
  convolve(ctx, x, w, y);
  const std::size_t bytes = ctx.workspace_bytes();
  convolve(ctx, x, w, y);
  EXPECT_EQ(ctx.workspace_bytes(), bytes);
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
