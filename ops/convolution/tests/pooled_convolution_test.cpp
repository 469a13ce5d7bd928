// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pooling as a convolution's epilogue: windows that overlap, an infinite bias, activations of maxima.

#include "all_scalars.hpp"
#include "each_implementation.hpp"
#include "filling.hpp"
#include <prumo/convolution.hpp>
#include <prumo/error.hpp>
#include <prumo/pooling.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace prumo {
namespace {

using tests::for_each_implementation;
using tests::images;
using tests::set_whole_numbers;
using exec = Kokkos::DefaultExecutionSpace;

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
    const convolution_options pooled{.bias = array_ref(bias), .pooling = convolution_pooling::maximum};
    for_each_implementation(x, w, y, pooled, [&](const convolution_options& options) {
      convolve(ctx, x, w, y, options);
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

template <class T>
class pooled_convolution : public testing::Test {};
TYPED_TEST_SUITE(pooled_convolution, tests::all_scalars);

/// Activations that rise may be taken of maxima alone. Their rounding may fall where x rises, so the results need not
/// have the bits of the maximum of activated results: both are within the bound of the activation, 3 units in the last
/// place at most. A NaN is the maximum of its window whatever follows.
TYPED_TEST(pooled_convolution, activations_of_maxima) {
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

/// Results of small images are collected before a host stores them past its caches.
template <class T>
void expect_the_same_past_the_caches(std::size_t filters, std::size_t side, convolution_options options,
                                     std::size_t rows) {
  constexpr std::size_t count = 7;
  const images<T> x("x", count, 2, side, side), w("w", filters, 2, 3, 3);
  set_whole_numbers(x, 1);
  set_whole_numbers(w, 2);
  const std::size_t elements = count * filters * rows * rows;
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    const auto results_of = [&](std::size_t working_set) {
      const Kokkos::View<T*, exec> whole("y and its neighbours", elements + 64);
      Kokkos::deep_copy(whole, T(77.0f));
      const Kokkos::View<T****, Kokkos::LayoutRight, exec, Kokkos::MemoryUnmanaged> y(whole.data() + begin, count,
                                                                                      filters, rows, rows);
      context<exec> ctx;
      ctx.set_working_set(working_set);
      convolve(ctx, x, w, y, options);
      ctx.fence();
      return tests::host_copy(whole);
    };
    const auto usual = results_of(0), past_the_caches = results_of(std::size_t{1} << 40);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < usual.extent(0); ++i) wrong += usual(i) == past_the_caches(i) ? 0 : 1;
    EXPECT_EQ(wrong, 0u) << filters << " filters, " << rows << " rows, from " << begin;
    EXPECT_EQ(static_cast<float>(past_the_caches(begin + elements)), 77.0f);
  }
}

template <class T>
class convolution_past_the_caches : public testing::Test {};
TYPED_TEST_SUITE(convolution_past_the_caches, tests::all_scalars);

TYPED_TEST(convolution_past_the_caches, has_the_same_bits) {
  for (const std::size_t filters : {1, 3, 6, 16, 17}) {
    for (const std::size_t side : {7, 18, 24, 35}) {
      const convolution_options plain{.activation = activation_function::relu};
      expect_the_same_past_the_caches<TypeParam>(filters, side, plain, side - 2);
      convolution_options pooled = plain;
      pooled.pooling = convolution_pooling::maximum;
      pooled.window = {2, 2, 2, 2, 0, 0, window_rounding::down};
      expect_the_same_past_the_caches<TypeParam>(filters, side, pooled, (side - 2) / 2);
      pooled.pooling = convolution_pooling::mean;
      pooled.window = {3, 3, 1, 1, 0, 0, window_rounding::down};
      expect_the_same_past_the_caches<TypeParam>(filters, side, pooled, side - 4);
    }
  }
}

}  // namespace
}  // namespace prumo
