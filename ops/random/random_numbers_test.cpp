// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributions by their moments and by Kolmogorov and Smirnov's distance, sequences that go on, layouts, refusals.
// Seeds are fixed, so a test that passes once passes always; the bounds are those of 5 standard deviations.

#include "all_scalars.hpp"
#include "host_copy.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>
#include <prumo/philox.hpp>
#include <prumo/random_numbers.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
constexpr std::int64_t count = 400000;

template <class T>
std::vector<double> on_host(const Kokkos::View<T*, exec>& numbers) {
  const auto copy = tests::host_copy(numbers);
  std::vector<double> result;
  for (std::size_t i = 0; i < copy.extent(0); ++i) result.push_back(static_cast<double>(copy(i)));
  return result;
}

template <class T>
std::vector<double> uniform_numbers(const random_position& position, double low, double high, std::int64_t n = count) {
  using C = compute_t<T>;
  context<exec> ctx;
  const Kokkos::View<T*, exec> y("y", n);
  (void)random_uniform(ctx, position, static_cast<C>(low), static_cast<C>(high), y);
  ctx.fence();
  return on_host(y);
}
template <class T>
std::vector<double> normal_numbers(const random_position& position, double mean, double deviation,
                                   std::int64_t n = count) {
  using C = compute_t<T>;
  context<exec> ctx;
  const Kokkos::View<T*, exec> y("y", n);
  (void)random_normal(ctx, position, static_cast<C>(mean), static_cast<C>(deviation), y);
  ctx.fence();
  return on_host(y);
}

/// The mean of f over all numbers.
template <class Function>
double mean_of(const std::vector<double>& numbers, const Function& f) {
  double sum = 0;
  for (const double x : numbers) sum += f(x);
  return sum / static_cast<double>(numbers.size());
}

/// The largest distance between the distribution of the numbers and `cumulative`.
template <class Cumulative>
double kolmogorov_smirnov(std::vector<double> numbers, const Cumulative& cumulative) {
  std::sort(numbers.begin(), numbers.end());
  const auto n = static_cast<double>(numbers.size());
  double largest = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected = cumulative(numbers[i]);
    largest = std::max({largest, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return largest;
}

/// The distance is above this by chance once in 10^6 (2 exp(-2 n d^2), Massart 1990).
double ks_bound(double n) { return std::sqrt(std::log(2e6) / (2 * n)); }

template <class T>
class random_numbers : public testing::Test {
 public:
  static constexpr double roundoff = unit_roundoff<T>();
  /// The distance between uniform numbers of [0, 1).
  static constexpr double spacing = roundoff;
};
TYPED_TEST_SUITE(random_numbers, tests::all_scalars);

TYPED_TEST(random_numbers, uniform_moments) {
  const auto numbers = uniform_numbers<TypeParam>({11, 3, 0}, 0, 1);
  const auto [lowest, highest] = std::minmax_element(numbers.begin(), numbers.end());
  EXPECT_GE(*lowest, 0.0);
  EXPECT_LT(*highest, 1.0);
  // Multiples of a step below 1: their mean is half a step below 1/2, and other moments follow by as much at most.
  const double step = TestFixture::spacing;
  const double root = std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x; }), 0.5 - step / 2, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x * x; }), 1.0 / 3, 5 * std::sqrt(4.0 / 45) / root + step);
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x * x * x; }), 1.0 / 4,
              5 * std::sqrt(9.0 / 112) / root + 2 * step);
}

TYPED_TEST(random_numbers, uniform_distribution) {
  const auto numbers = uniform_numbers<TypeParam>({5, 0, 123456789012}, -2, 3);
  const double step = TestFixture::spacing;
  EXPECT_LT(kolmogorov_smirnov(numbers, [](double x) { return std::clamp((x + 2) / 5, 0.0, 1.0); }),
            ks_bound(count) + 2 * step);
}

TYPED_TEST(random_numbers, uniform_neighbours_are_independent) {
  const auto numbers = uniform_numbers<TypeParam>({29, 1, 0}, -1, 1);
  for (const std::size_t distance : {1, 2, 3, 4, 64, 4096}) {
    double products = 0;
    for (std::size_t i = 0; i + distance < numbers.size(); ++i) products += numbers[i] * numbers[i + distance];
    const auto terms = static_cast<double>(numbers.size() - distance);
    const double step = 2 * TestFixture::spacing;
    // Products of independent numbers have mean 0 and variance 1/9; the mean of each is half a step below 0.
    EXPECT_NEAR(products / terms, 0.0, 5 / (3 * std::sqrt(terms)) + step * step) << distance;
  }
}

TYPED_TEST(random_numbers, normal_moments) {
  const auto numbers = normal_numbers<TypeParam>({13, 0, 7}, 0, 1);
  const double root = std::sqrt(static_cast<double>(count));
  const double u = TestFixture::roundoff;  // roundings to the type vary in sign; at most u of each number
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x; }), 0.0, 5 / root + u);
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x * x; }), 1.0, 5 * std::sqrt(2.0) / root + 2.1 * u);
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x * x * x; }), 0.0, 5 * std::sqrt(15.0) / root + 5 * u);
  EXPECT_NEAR(mean_of(numbers, [](double x) { return x * x * x * x; }), 3.0, 5 * std::sqrt(96.0) / root + 13 * u);
  EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), sizeof(TypeParam) == 8 ? 9.5 : 6.8);
}

TYPED_TEST(random_numbers, normal_distribution) {
  const auto numbers = normal_numbers<TypeParam>({17, 4, 0}, 2, 0.5);
  // Rounding to the type moves a number of at most 8 by 8 u, across which the distribution grows by 0.8 each.
  EXPECT_LT(kolmogorov_smirnov(numbers, [](double x) { return 0.5 * std::erfc(-(x - 2) / (0.5 * std::sqrt(2.0))); }),
            ks_bound(count) + 8 * 0.8 * TestFixture::roundoff);
}

TYPED_TEST(random_numbers, normal_pairs_are_independent) {
  const auto numbers = normal_numbers<TypeParam>({19, 0, 0}, 0, 1);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    products += numbers[i] * numbers[i + 1];
    squares += (numbers[i] * numbers[i] - 1) * (numbers[i + 1] * numbers[i + 1] - 1);
  }
  const double pairs = count / 2.0;
  EXPECT_NEAR(products / pairs, 0.0, 5 / std::sqrt(pairs) + 2 * TestFixture::roundoff);
  EXPECT_NEAR(squares / pairs, 0.0, 5 * 2 / std::sqrt(pairs) + 6 * TestFixture::roundoff);
}

/// A sequence made in parts, of any lengths, is the sequence made at once.
TYPED_TEST(random_numbers, sequences_go_on) {
  using C = compute_t<TypeParam>;
  context<exec> ctx;
  constexpr std::int64_t n = 10007;
  const Kokkos::View<TypeParam*, exec> whole("whole", n), parts("parts", n), normal("normal", n), others("others", n);
  const random_position start{3, 2, 21};
  EXPECT_EQ(random_uniform(ctx, start, C(0), C(1), whole), (random_position{3, 2, 21 + n}));
  (void)random_normal(ctx, start, C(0), C(1), normal);
  random_position at = start, at_normal = start;
  std::int64_t begin = 0;
  for (const std::int64_t length : {1, 2, 3, 4, 5, 1000, 4099, 0, 4893}) {
    const std::pair range{begin, begin + length};
    at = random_uniform(ctx, at, C(0), C(1), Kokkos::subview(parts, range));
    at_normal = random_normal(ctx, at_normal, C(0), C(1), Kokkos::subview(others, range));
    begin += length;
  }
  ASSERT_EQ(begin, n);
  EXPECT_EQ(at.offset, 21u + n);
  ctx.fence();
  EXPECT_EQ(on_host(whole), on_host(parts));
  EXPECT_EQ(on_host(normal), on_host(others));
}

/// Many numbers at once are those of the blocks that they stand in, where the counter's lower half overflows, too.
TYPED_TEST(random_numbers, are_those_of_their_blocks) {
  constexpr std::uint64_t seed = 0xFEDCBA9876543210, stream = 0x123456789ABCDEF0;
  constexpr int bits = scalar_traits<TypeParam>::significand_bits;
  constexpr auto per_block = static_cast<std::uint64_t>(random::values_per_block<TypeParam>);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 32) * per_block - 2001}) {
    for (const std::int64_t n : {1, 255, 256, 5003}) {
      const auto made = uniform_numbers<TypeParam>({seed, stream, offset}, 0, 1, n);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint64_t index = offset + static_cast<std::uint64_t>(i);
        const random::philox_block block = random::philox4x32_10(seed, stream, index / per_block);
        const auto lane = static_cast<int>(index % per_block);
        std::uint64_t word = block.words[per_block == 2 ? 2 * lane + 1 : lane];
        if (per_block == 2) word = (word << 32) | block.words[2 * lane];
        const auto whole = static_cast<double>(word >> ((per_block == 2 ? 64 : 32) - bits));
        wrong += made[static_cast<std::size_t>(i)] != std::ldexp(whole, -bits) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0) << n << " numbers from " << offset;
    }
  }
}

TYPED_TEST(random_numbers, elements_take_numbers_in_row_major_order) {
  using C = compute_t<TypeParam>;
  context<exec> ctx;
  const Kokkos::View<TypeParam*, exec> vector("vector", 2 * 3 * 50);
  const Kokkos::View<TypeParam***, Kokkos::LayoutLeft, exec> left("left", 2, 3, 50);
  const Kokkos::View<TypeParam***, Kokkos::LayoutRight, exec> wider("wider", 2, 3, 60);
  const auto part = Kokkos::subview(wider, Kokkos::ALL, Kokkos::ALL, std::pair{4, 54});
  (void)random_uniform(ctx, {8, 0, 5}, C(-1), C(1), vector);
  (void)random_uniform(ctx, {8, 0, 5}, C(-1), C(1), left);
  (void)random_uniform(ctx, {8, 0, 5}, C(-1), C(1), part);
  ctx.fence();
  const auto numbers = on_host(vector);
  const auto of_left = tests::host_copy(left);
  const auto of_part = tests::host_copy(part);
  int wrong = 0;
  for (std::size_t i = 0; i < 2 * 3 * 50; ++i) {
    wrong += static_cast<double>(of_left(i / 150, i / 50 % 3, i % 50)) != numbers[i];
    wrong += static_cast<double>(of_part(i / 150, i / 50 % 3, i % 50)) != numbers[i];
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(random_numbers, stay_below_high_where_rounding_would_reach_it) {
  // Between 1 and 1 + 3 eps there are three numbers; half of all sums round up.
  const double high = 1 + 6 * TestFixture::roundoff;
  for (const double x : uniform_numbers<TypeParam>({1, 0, 0}, 1, high, 10000)) {
    ASSERT_GE(x, 1.0);
    ASSERT_LT(x, high);
  }
  for (const double x : uniform_numbers<TypeParam>({1, 0, 0}, -1, 0, 10000)) ASSERT_LT(x, 0.0);
  for (const double x : uniform_numbers<TypeParam>({1, 0, 0}, 0.5, 0.5, 100)) ASSERT_EQ(x, 0.5);
}

TEST(random_numbers, refuse_parameters_that_make_no_numbers) {
  context<exec> ctx;
  const Kokkos::View<float*, exec> y("y", 10);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(tests::message_of<argument_error>([&] { (void)random_uniform(ctx, {}, 2.0f, 1.0f, y); }),
              testing::StartsWith("prumo::random_uniform: low is 2.0"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { (void)random_uniform(ctx, {}, 0.0f, infinity, y); }),
              testing::HasSubstr("high is inf"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { (void)random_uniform(ctx, {}, nan, 1.0f, y); }),
              testing::HasSubstr("low <= high"));
  EXPECT_THROW((void)random_uniform(ctx, {}, -3e38f, 3e38f, y), argument_error);
  EXPECT_THAT(tests::message_of<argument_error>([&] { (void)random_normal(ctx, {}, 0.0f, infinity, y); }),
              testing::StartsWith("prumo::random_normal: the mean is 0.0"));
}

}  // namespace
}  // namespace prumo
