// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "all_scalars.hpp"
#include <prumo/philox.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace prumo::random {
namespace {

// The known answers that the generator's authors publish with Random123 (kat_vectors, philox4x32 10 rounds).
TEST(random, philox_gives_the_published_known_answers) {
  const philox_block zeros = philox4x32_10(0, 0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
  const philox_block pi = philox4x32_10(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u);
  EXPECT_EQ(pi.words[0], 0xd16cfe09u);
  EXPECT_EQ(pi.words[1], 0x94fdccebu);
  EXPECT_EQ(pi.words[2], 0x5001e420u);
  EXPECT_EQ(pi.words[3], 0x24126ea1u);
}

template <class T>
class random_types : public testing::Test {};
TYPED_TEST_SUITE(random_types, tests::all_scalars);

TYPED_TEST(random_types, values_are_odd_multiples_of_the_last_place_in_the_open_interval) {
  const double grid = std::ldexp(1.0, -scalar_traits<TypeParam>::significand_bits);
  double sum = 0, sum_of_squares = 0;
  constexpr int count = 100000;
  for (std::uint64_t index = 0; index < count; ++index) {
    const auto value = static_cast<double>(static_cast<compute_t<TypeParam>>(uniform<TypeParam>(7, 3, index)));
    ASSERT_LT(std::fabs(value), 1.0);
    const double multiple = value / grid;
    ASSERT_EQ(multiple, std::nearbyint(multiple));
    ASSERT_EQ(std::fmod(std::fabs(multiple), 2.0), 1.0) << "never zero, so never even";
    sum += value;
    sum_of_squares += value * value;
  }
  // The standard deviation of the mean is sqrt(1/3 / count) = 0.0018, that of the mean square 0.3 / sqrt(count) =
  // 0.001.
  EXPECT_NEAR(sum / count, 0.0, 5 * 0.0018);
  EXPECT_NEAR(sum_of_squares / count, 1.0 / 3, 5 * 0.001);
}

/// f8 holds the leading bits of what f32 holds.
TEST(random, numbers_of_f8_are_odd_sixteenths) {
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const auto value = static_cast<double>(static_cast<float>(uniform<f8_e4m3>(7, 3, index)));
    ASSERT_EQ(std::fmod(std::fabs(value * 16), 2.0), 1.0);
    ASSERT_LT(std::fabs(value), 1.0);
    ASSERT_LT(std::fabs(value - static_cast<double>(uniform<float>(7, 3, index))), 0x1p-4);
  }
}

TYPED_TEST(random_types, streams_and_seeds_differ) {
  int equal = 0;
  for (std::uint64_t index = 0; index < 64; ++index) {
    equal += uniform<TypeParam>(1, 0, index) == uniform<TypeParam>(1, 1, index);
    equal += uniform<TypeParam>(1, 0, index) == uniform<TypeParam>(2, 0, index);
  }
  EXPECT_LT(equal, 8);
}

}  // namespace
}  // namespace prumo::random
