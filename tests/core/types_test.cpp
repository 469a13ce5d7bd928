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

/// The table of the OCP specification: value of a code, from its definition.
double e4m3_value(int code) {
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  const double sign = code & 0x80 ? -1 : 1;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
}

/// The code of the nearest number by search, the even one of two, the largest for what is beyond.
std::uint8_t nearest_e4m3(double value) {
  int best = 0;
  for (int code = 1; code < 0x7f; ++code) {
    const double distance = std::abs(e4m3_value(code) - std::abs(value));
    const double least = std::abs(e4m3_value(best) - std::abs(value));
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return static_cast<std::uint8_t>(std::signbit(value) ? best | 0x80 : best);
}

TEST(f8_e4m3, every_code_converts_exactly_and_back) {
  for (int code = 0; code < 256; ++code) {
    f8_e4m3 number;
    number.bits = static_cast<std::uint8_t>(code);
    const auto value = static_cast<float>(number);
    const double expected = e4m3_value(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      EXPECT_EQ(f8_e4m3(value).bits, 0x7f) << code;
    } else {
      EXPECT_EQ(static_cast<double>(value), expected) << code;
      EXPECT_EQ(std::signbit(value), code >= 0x80) << code;
      EXPECT_EQ(f8_e4m3(value).bits, code);
    }
  }
}

TEST(f8_e4m3, rounds_to_nearest_even_between_every_pair_of_neighbours) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (int code = 0; code < 0x7e; ++code) {
    const auto middle = static_cast<float>((e4m3_value(code) + e4m3_value(code + 1)) / 2);
    const int even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(f8_e4m3(middle).bits, even) << code;
    EXPECT_EQ(f8_e4m3(-middle).bits, even | 0x80) << code;
    EXPECT_EQ(f8_e4m3(std::nextafter(middle, 0.0f)).bits, code);
    EXPECT_EQ(f8_e4m3(std::nextafter(middle, infinity)).bits, code + 1);
  }
}

TEST(f8_e4m3, rounds_every_float_as_a_search_of_the_table_does) {
  // A step that is prime meets all exponents and both signs at fractions of every kind.
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 65521) {
    const auto value = Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) {
      ASSERT_EQ(f8_e4m3(value).bits, 0x7f) << bits;
    } else {
      ASSERT_EQ(f8_e4m3(value).bits, nearest_e4m3(static_cast<double>(value))) << value;
    }
  }
}

TEST(f8_e4m3, overflow_saturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float large : {448.0f, 463.9f, 464.0f, 465.0f, 1e10f, std::numeric_limits<float>::max(), infinity}) {
    EXPECT_EQ(f8_e4m3(large).bits, 0x7e) << large;
    EXPECT_EQ(f8_e4m3(-large).bits, 0xfe) << large;
  }
  EXPECT_EQ(float(f8_e4m3(infinity)), 448.0f);
}

TEST(f8_e4m3, zeros_and_the_smallest_numbers) {
  EXPECT_EQ(f8_e4m3(0.0f).bits, 0x00);
  EXPECT_EQ(f8_e4m3(-0.0f).bits, 0x80);
  EXPECT_EQ(f8_e4m3(0x1p-9f).bits, 0x01);
  EXPECT_EQ(f8_e4m3(0x1p-10f).bits, 0x00) << "a tie";
  EXPECT_EQ(f8_e4m3(-0x1p-10f).bits, 0x80);
  EXPECT_EQ(f8_e4m3(0x1.8p-10f).bits, 0x01);
  EXPECT_EQ(f8_e4m3(0x1p-6f).bits, 0x08) << "the smallest normal one";
  EXPECT_EQ(f8_e4m3(std::numeric_limits<float>::denorm_min()).bits, 0x00);
}

TEST(f8_e4m3, is_a_type_of_products_only) {
  static_assert(stored_scalar<f8_e4m3> && !scalar<f8_e4m3>);
  static_assert(stored_scalar<const bf16> && scalar<const bf16>);
  static_assert(std::is_same_v<product_result_t<f8_e4m3>, bf16> && std::is_same_v<product_result_t<f16>, f16>);
  static_assert(product_result_type(dtype::f8_e4m3) == dtype::bf16 && product_result_type(dtype::f64) == dtype::f64);
  EXPECT_EQ(dtype_name(scalar_traits<f8_e4m3>::type), scalar_traits<f8_e4m3>::name);
}

TEST(types, names_and_sizes) {
  EXPECT_EQ(dtype_name(dtype::f8_e4m3), "f8_e4m3");
  EXPECT_EQ(dtype_size(dtype::f8_e4m3), 1u);
  EXPECT_EQ(dtype_size(dtype::f32), 4u);
  EXPECT_EQ(dtype_size(dtype::f16), 2u);
  EXPECT_EQ(unit_roundoff<f8_e4m3>(), 0x1p-4);
  EXPECT_EQ(dtype_name(dtype::bf16), "bf16");
  EXPECT_EQ(dtype_size(dtype::f64), 8u);
  EXPECT_EQ(unit_roundoff<float>(), 0x1p-24);
  EXPECT_EQ(unit_roundoff<f16>(), 0x1p-11);
}

}  // namespace
}  // namespace prumo
