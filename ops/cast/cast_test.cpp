// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every pair of types at the edges, and rounding in one step from double to 16 bits.

#include "applied.hpp"
#include "operation_test.hpp"
#include <prumo/cast.hpp>

#include <cmath>
#include <tuple>

namespace prumo {
namespace {

using namespace tests;

constexpr auto cast_of = [](const auto& space, const auto& x, const auto& y) { cast(space, x, y); };

template <class Pair>
class cast_pairs : public testing::Test {};
template <class From, class To>
using pair = std::tuple<From, To>;
using all_pairs = testing::Types<pair<float, float>, pair<float, double>, pair<float, f16>, pair<float, bf16>,
                                 pair<double, float>, pair<double, double>, pair<double, f16>, pair<double, bf16>,
                                 pair<f16, float>, pair<f16, double>, pair<f16, f16>, pair<f16, bf16>,
                                 pair<bf16, float>, pair<bf16, double>, pair<bf16, f16>, pair<bf16, bf16>>;
TYPED_TEST_SUITE(cast_pairs, all_pairs);

TYPED_TEST(cast_pairs, special_values) {
  using From = std::tuple_element_t<0, TypeParam>;
  using To = std::tuple_element_t<1, TypeParam>;
  const auto converted = [](compute_t<From> number) { return applied<From, To>(cast_of, number); };
  using C = compute_t<From>;
  const C infinity = std::numeric_limits<C>::infinity();
  EXPECT_TRUE(std::isnan(converted(std::numeric_limits<C>::quiet_NaN())));
  EXPECT_TRUE(std::isinf(converted(infinity)));
  EXPECT_EQ(converted(-infinity), -std::numeric_limits<compute_t<To>>::infinity());
  EXPECT_EQ(converted(C(0)), compute_t<To>(0));
  EXPECT_TRUE(std::signbit(converted(C(-0.0))));
  EXPECT_EQ(converted(C(-1.5)), compute_t<To>(-1.5));
}

TYPED_TEST(cast_pairs, out_of_range) {
  using From = std::tuple_element_t<0, TypeParam>;
  using To = std::tuple_element_t<1, TypeParam>;
  const auto converted = [](compute_t<From> number) { return applied<From, To>(cast_of, number); };
  const auto wide = [](auto value) { return static_cast<long double>(value); };
  const auto high = converted(-largest<From>());
  const auto low = converted(-smallest<From>());
  EXPECT_TRUE(std::signbit(low));
  if (wide(largest<From>()) > wide(largest<To>())) {
    EXPECT_TRUE(std::isinf(high));
  } else {
    EXPECT_FALSE(std::isinf(high));
  }
  if (wide(smallest<From>()) <= wide(smallest<To>()) / 2) {
    EXPECT_EQ(low, 0);
  } else {
    EXPECT_NE(low, 0);
  }
}

/// The types of 16 bits one after the other: neighbours differ by one in their bits.
template <class To>
void expect_single_rounding() {
  std::vector<double> numbers;
  std::vector<float> expected;
  for (std::uint32_t bits = 0; bits < 0x7b00u; bits += 37) {
    To low, high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const double middle =
        (static_cast<double>(static_cast<float>(low)) + static_cast<double>(static_cast<float>(high))) / 2;
    const To even = bits % 2 == 0 ? low : high;
    // As a float, a number just beside the tie is the tie. Rounding twice would always give the even neighbour.
    numbers.insert(numbers.end(), {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300), -middle,
                                   -std::nextafter(middle, 1e300)});
    const float down = static_cast<float>(low), up = static_cast<float>(high), tie = static_cast<float>(even);
    expected.insert(expected.end(), {tie, down, up, -tie, -up});
  }
  const std::vector<float> results = applied<double, To>(cast_of, numbers);
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i], expected[i]) << numbers[i];
}

TEST(cast, rounds_once_from_double_to_sixteen_bits) {
  expect_single_rounding<f16>();
  expect_single_rounding<bf16>();
}

TEST(cast, overflow_begins_half_a_unit_above_the_largest_number) {
  const double last = 65504, tie = 65520;
  EXPECT_EQ((applied<double, f16>(cast_of, last)), 65504.0f);
  EXPECT_EQ((applied<double, f16>(cast_of, std::nextafter(tie, 0.0))), 65504.0f);
  EXPECT_TRUE(std::isinf(applied<double, f16>(cast_of, tie)));
  const double bf16_tie = 0x1.ffp127;
  EXPECT_EQ((applied<double, bf16>(cast_of, std::nextafter(bf16_tie, 0.0))), 0x1.fep127f);
  EXPECT_TRUE(std::isinf(applied<double, bf16>(cast_of, bf16_tie)));
  EXPECT_TRUE(std::isinf(applied<double, bf16>(cast_of, 1e300)));
}

TEST(cast, refuses_unequal_extents_and_memory_that_is_read_as_another_type) {
  using space = Kokkos::DefaultExecutionSpace;
  const space instance;
  const Kokkos::View<float*, space> x("height", 10);
  const Kokkos::View<f16*, space> y("y", 11);
  EXPECT_THAT(
      tests::message_of<shape_error>([&] { cast(instance, x, y); }),
      AllOf(
          StartsWith("prumo::cast: expected arrays of the same extents, or inputs that broadcast to the output; got "),
          HasSubstr("'height': f32 [10]")));
  const Kokkos::View<bf16*, space, Kokkos::MemoryUnmanaged> same(reinterpret_cast<bf16*>(y.data()), 11);
  EXPECT_THAT(
      tests::message_of<alias_error>([&] { cast(instance, y, same); }),
      AllOf(StartsWith("prumo::cast: expected an output that is apart from the inputs"), HasSubstr("bf16 [11]")));
  cast(instance, y, y);
  instance.fence();
}

}  // namespace
}  // namespace prumo
