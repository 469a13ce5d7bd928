// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accuracy that <prumo/math.hpp> promises, on the host, over the whole range of each type.

#include <prumo/case/rounding.hpp>
#include <prumo/math.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace prumo {
namespace {

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Every `step`-th value of T with both signs, so all exponents and evenly many fractions of each.
template <class T, class Function>
void for_values(bits_of<T> step, const Function& function) {
  const bits_of<T> last = std::bit_cast<bits_of<T>>(std::numeric_limits<T>::infinity());
  for (bits_of<T> bits = 0; bits < last - step; bits += step) {
    const T value = std::bit_cast<T>(bits);
    function(value);
    function(-value);
  }
}

template <class T>
struct sweep {
  static constexpr bits_of<T> step = sizeof(T) == 8 ? bits_of<T>(0x0000'0fff'1234'5677u) : bits_of<T>(1537);
};

/// The largest error in ulps of `computed` against `exact`, over the sweep.
template <class T, class Computed, class Exact>
double largest_ulps(const Computed& computed, const Exact& exact) {
  double largest = 0;
  T worst = 0;
  for_values<T>(sweep<T>::step, [&](T x) {
    const long double expected = exact(static_cast<long double>(x));
    const T result = computed(x);
    if (static_cast<long double>(result) == expected) return;
    const T nearest = static_cast<T>(expected);
    if (std::isinf(nearest) && result == nearest) return;
    const auto ulps = static_cast<double>(std::fabs(static_cast<long double>(result) - expected) /
                                          cases::ulp(scalar_traits<T>::type, expected));
    if (!(ulps <= largest)) {
      largest = ulps;
      worst = x;
    }
  });
  testing::Test::RecordProperty("largest_ulps", std::to_string(largest));
  testing::Test::RecordProperty("worst_argument", std::to_string(worst));
  return largest;
}

/// The error of a result, which may overflow where the nearest number does.
template <class T>
double ulps_from(T result, long double exact) {
  if (std::isinf(static_cast<T>(exact)) && result == static_cast<T>(exact)) return 0;
  return static_cast<double>(std::fabs(static_cast<long double>(result) - exact) /
                             cases::ulp(scalar_traits<T>::type, exact));
}

/// The `count` numbers on either side of x, and x.
template <class T, class Function>
void for_neighbours(T x, int count, const Function& function) {
  const T infinity = std::numeric_limits<T>::infinity();
  function(x);
  T below = x, above = x;
  for (int i = 0; i < count; ++i) {
    below = std::nextafter(below, -infinity);
    above = std::nextafter(above, infinity);
    function(below);
    function(above);
  }
}

template <class T>
class math_types : public testing::Test {};
using all_types = testing::Types<float, double>;
TYPED_TEST_SUITE(math_types, all_types);

TYPED_TEST(math_types, exp_is_within_one_ulp) {
  EXPECT_LE(
      (largest_ulps<TypeParam>([](TypeParam x) { return prumo::exp(x); }, [](long double x) { return std::exp(x); })),
      1.0);
}

/// Every number next to where exp overflows, becomes subnormal and becomes zero, and where its reduced argument changes
/// sign.
TYPED_TEST(math_types, exp_is_within_one_ulp_at_hard_arguments) {
  using limits = std::numeric_limits<TypeParam>;
  const TypeParam ln_2 = std::log(TypeParam(2));
  std::vector<TypeParam> points{std::log(limits::max()), std::log(limits::min()), std::log(limits::denorm_min()),
                                std::log(limits::denorm_min()) - ln_2};
  for (int n = limits::min_exponent - limits::digits; n <= limits::max_exponent; ++n) {
    points.push_back((static_cast<TypeParam>(n) + TypeParam(0.5)) * ln_2);
  }
  double largest = 0, largest_of_nonpositive = 0;
  for (const TypeParam point : points) {
    for_neighbours(point, 500, [&](TypeParam x) {
      largest = std::max(largest, ulps_from(prumo::exp(x), std::exp(static_cast<long double>(x))));
      if (x > TypeParam(0)) return;
      const TypeParam result = detail::exp_of_nonpositive(x);
      largest_of_nonpositive =
          std::max(largest_of_nonpositive, ulps_from(result, std::exp(static_cast<long double>(x))));
    });
  }
  EXPECT_LE(largest, 1.0);
  EXPECT_LE(largest_of_nonpositive, 1.0);
}

TYPED_TEST(math_types, exp_of_nonpositive_is_within_one_ulp) {
  EXPECT_LE((largest_ulps<TypeParam>([](TypeParam x) { return detail::exp_of_nonpositive(-std::fabs(x)); },
                                     [](long double x) { return std::exp(-std::fabs(x)); })),
            1.0);
  EXPECT_EQ(detail::exp_of_nonpositive(TypeParam(0)), TypeParam(1));
  EXPECT_EQ(detail::exp_of_nonpositive(-std::numeric_limits<TypeParam>::infinity()), TypeParam(0));
  EXPECT_TRUE(std::isnan(detail::exp_of_nonpositive(std::numeric_limits<TypeParam>::quiet_NaN())));
}

TYPED_TEST(math_types, log_is_within_one_ulp) {
  EXPECT_LE((largest_ulps<TypeParam>([](TypeParam x) { return prumo::log(std::fabs(x)); },
                                     [](long double x) { return std::log(std::fabs(x)); })),
            1.0);
}

/// Around 1, where the logarithm itself is small.
TYPED_TEST(math_types, log_is_within_one_ulp_near_one) {
  double largest = 0;
  for (int i = -100000; i <= 100000; ++i) {
    const TypeParam x = TypeParam(1) + static_cast<TypeParam>(i) * TypeParam(4e-6);
    const long double expected = std::log(static_cast<long double>(x));
    const long double distance = std::fabs(static_cast<long double>(prumo::log(x)) - expected);
    largest = std::max(largest, static_cast<double>(distance / cases::ulp(scalar_traits<TypeParam>::type, expected)));
  }
  EXPECT_LE(largest, 1.0);
}

TYPED_TEST(math_types, rsqrt_is_within_one_and_a_half_ulps) {
  EXPECT_LE((largest_ulps<TypeParam>([](TypeParam x) { return prumo::rsqrt(std::fabs(x)); },
                                     [](long double x) { return 1 / std::sqrt(std::fabs(x)); })),
            1.5);
}

TYPED_TEST(math_types, gelu_is_within_two_epsilon_x) {
  const long double epsilon = std::numeric_limits<TypeParam>::epsilon();
  for_values<TypeParam>(sweep<TypeParam>::step, [&](TypeParam x) {
    const auto wide = static_cast<long double>(x);
    const long double smallest = std::numeric_limits<TypeParam>::denorm_min();
    const long double by_erf = wide / 2 * std::erfc(-wide * std::sqrt(0.5L));
    ASSERT_LE(std::fabs(static_cast<long double>(prumo::gelu(x)) - by_erf), 2 * epsilon * std::fabs(wide) + smallest)
        << x;
    const long double inner = 2 * std::sqrt(2 / std::acos(-1.0L)) * wide * (1 + 0.044715L * wide * wide);
    const long double by_tanh = wide / (1 + std::exp(-inner));
    ASSERT_LE(std::fabs(static_cast<long double>(prumo::gelu_by_tanh(x)) - by_tanh),
              2 * epsilon * std::fabs(wide) + smallest)
        << x;
  });
}

TYPED_TEST(math_types, tanh_is_within_two_ulps) {
  EXPECT_LE(
      (largest_ulps<TypeParam>([](TypeParam x) { return prumo::tanh(x); }, [](long double x) { return std::tanh(x); })),
      2.0);
}

/// Where the exponent that is taken out changes, where the two forms of the quotient meet (tanh(x) = 1/2), where the
/// result is 1, and next to zero.
TYPED_TEST(math_types, tanh_is_within_two_ulps_at_hard_arguments) {
  const TypeParam ln_2 = std::log(TypeParam(2));
  std::vector<TypeParam> points{TypeParam(0), std::log(TypeParam(3)) / 2, TypeParam(20)};
  for (int n = 0; n < 58; ++n) points.push_back((static_cast<TypeParam>(n) - TypeParam(1) / 128) * ln_2 / 2);
  double largest = 0;
  for (const TypeParam point : points) {
    for_neighbours(point, 2000, [&](TypeParam x) {
      largest = std::max(largest, ulps_from(prumo::tanh(x), std::tanh(static_cast<long double>(x))));
    });
  }
  EXPECT_LE(largest, 2.0);
}

/// Where the result is subnormal, becomes zero, is 1/2 and becomes 1.
TYPED_TEST(math_types, sigmoid_is_within_three_ulps_at_hard_arguments) {
  using limits = std::numeric_limits<TypeParam>;
  double largest = 0;
  for (const TypeParam point : {std::log(limits::min()), std::log(limits::denorm_min()), TypeParam(0), TypeParam(40),
                                -std::log(limits::epsilon()), std::log(limits::denorm_min()) - TypeParam(0.7)}) {
    for_neighbours(point, 20000, [&](TypeParam x) {
      largest = std::max(largest, ulps_from(prumo::sigmoid(x), 1 / (1 + std::exp(-static_cast<long double>(x)))));
    });
  }
  EXPECT_LE(largest, 3.0);
}

TYPED_TEST(math_types, sigmoid_is_within_three_ulps) {
  EXPECT_LE((largest_ulps<TypeParam>([](TypeParam x) { return prumo::sigmoid(x); },
                                     [](long double x) { return 1 / (1 + std::exp(-x)); })),
            3.0);
}

TYPED_TEST(math_types, special_values) {
  using limits = std::numeric_limits<TypeParam>;
  const TypeParam infinity = limits::infinity();
  const TypeParam nan = limits::quiet_NaN();
  EXPECT_EQ(prumo::exp(infinity), infinity);
  EXPECT_EQ(prumo::exp(-infinity), TypeParam(0));
  EXPECT_EQ(prumo::exp(TypeParam(0)), TypeParam(1));
  EXPECT_TRUE(std::isnan(prumo::exp(nan)));
  EXPECT_EQ(prumo::log(infinity), infinity);
  EXPECT_EQ(prumo::log(TypeParam(0)), -infinity);
  EXPECT_EQ(prumo::log(TypeParam(-0.0)), -infinity);
  EXPECT_TRUE(std::isnan(prumo::log(TypeParam(-1))));
  EXPECT_TRUE(std::isnan(prumo::log(-infinity)));
  EXPECT_TRUE(std::isnan(prumo::log(nan)));
  EXPECT_EQ(prumo::rsqrt(TypeParam(-0.0)), -infinity);
  EXPECT_EQ(prumo::gelu(infinity), infinity);
  EXPECT_TRUE(std::signbit(prumo::gelu(-infinity)));
  EXPECT_TRUE(std::isnan(prumo::gelu(nan)));
  EXPECT_TRUE(std::isnan(prumo::gelu_by_tanh(nan)));
  EXPECT_EQ(prumo::tanh(infinity), TypeParam(1));
  EXPECT_EQ(prumo::tanh(-infinity), TypeParam(-1));
  EXPECT_TRUE(std::isnan(prumo::tanh(nan)));
  EXPECT_TRUE(std::signbit(prumo::tanh(TypeParam(-0.0))));
  EXPECT_EQ(prumo::sigmoid(infinity), TypeParam(1));
  EXPECT_EQ(prumo::sigmoid(-infinity), TypeParam(0));
  EXPECT_TRUE(std::isnan(prumo::sigmoid(nan)));
}

/// Whatever a NaN carries in its fraction, no bit of it may get into an exponent.
TYPED_TEST(math_types, every_nan_gives_nan) {
  using bits = bits_of<TypeParam>;
  const bits infinity = std::bit_cast<bits>(std::numeric_limits<TypeParam>::infinity());
  for (int place = 0; place < std::numeric_limits<TypeParam>::digits - 1; ++place) {
    for (const bits low : {bits(0), bits(1), bits(0x155)}) {
      const TypeParam positive = std::bit_cast<TypeParam>(static_cast<bits>(infinity | (bits(1) << place) | low));
      for (const TypeParam nan : {positive, -positive}) {
        EXPECT_TRUE(std::isnan(prumo::exp(nan))) << place;
        EXPECT_TRUE(std::isnan(detail::exp_of_nonpositive(nan))) << place;
        EXPECT_TRUE(std::isnan(prumo::log(nan))) << place;
        EXPECT_TRUE(std::isnan(prumo::sigmoid(nan))) << place;
        EXPECT_TRUE(std::isnan(prumo::tanh(nan))) << place;
        EXPECT_TRUE(std::isnan(prumo::gelu(nan))) << place;
        EXPECT_TRUE(std::isnan(prumo::gelu_by_tanh(nan))) << place;
      }
    }
  }
}

TYPED_TEST(math_types, maximum_and_minimum_let_nan_through) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const TypeParam one = 1, two = 2;
  EXPECT_EQ(prumo::maximum(one, two), two);
  EXPECT_EQ(prumo::minimum(one, two), one);
  EXPECT_TRUE(std::isnan(prumo::maximum(nan, one)));
  EXPECT_TRUE(std::isnan(prumo::maximum(one, nan)));
  EXPECT_TRUE(std::isnan(prumo::minimum(nan, one)));
  EXPECT_TRUE(std::isnan(prumo::minimum(one, nan)));
}

}  // namespace
}  // namespace prumo
