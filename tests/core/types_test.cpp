// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/types.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo {
namespace {

/// The value of a 16-bit float by its definition: sign, exponent, fraction.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

template <class T>
struct exponent_bits;
template <>
struct exponent_bits<f16> : std::integral_constant<int, 5> {};
template <>
struct exponent_bits<bf16> : std::integral_constant<int, 8> {};

template <class T>
class half_types : public testing::Test {};
using all_half_types = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(half_types, all_half_types);

TYPED_TEST(half_types, every_bit_pattern_converts_exactly_and_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    TypeParam half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(half);
    const double expected = value_of(half.bits, exponent_bits<TypeParam>::value);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(TypeParam(value).bits, half.bits);
    }
  }
}

TYPED_TEST(half_types, rounds_to_nearest_even_between_every_pair_of_neighbours) {
  constexpr int fraction_bits = 15 - exponent_bits<TypeParam>::value;
  const std::uint32_t largest = (((1u << exponent_bits<TypeParam>::value) - 1) << fraction_bits) - 1;
  for (std::uint32_t bits = 0; bits < largest; ++bits) {
    TypeParam low, high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const float middle = static_cast<float>(low) / 2 + static_cast<float>(high) / 2;  // their sum may overflow
    const TypeParam even = bits % 2 == 0 ? low : high;
    ASSERT_EQ(TypeParam(middle).bits, even.bits) << bits;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0f)).bits, low.bits) << bits;
    ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, high.bits) << bits;
    ASSERT_EQ(TypeParam(-middle).bits, even.bits | 0x8000) << bits;
  }
}

TYPED_TEST(half_types, overflow_becomes_infinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(TypeParam(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-infinity)), -infinity);
}

TEST(types, names_and_sizes) {
  EXPECT_EQ(dtype_name(dtype::bf16), "bf16");
  EXPECT_EQ(dtype_size(dtype::f64), 8u);
  EXPECT_EQ(unit_roundoff<float>(), 0x1p-24);
  EXPECT_EQ(unit_roundoff<f16>(), 0x1p-11);
}

}  // namespace
}  // namespace prumo
