// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/median_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace prumo::bench {
namespace {

std::vector<double> first_numbers(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

TEST(median_interval, of_too_few_values_is_not_known) {
  for (std::size_t count = 0; count < fewest_interval_values; ++count) {
    EXPECT_FALSE(interval_of_median(first_numbers(count))) << count;
  }
  EXPECT_TRUE(interval_of_median(first_numbers(fewest_interval_values)));
  EXPECT_TRUE(interval_of_median(first_numbers(5), 0.9)) << "1 - 2 / 32";
}

TEST(median_interval, has_exact_order_statistics_where_their_coverage_is_the_confidence) {
  // 15 values: P(4th < median < 12th) = 1 - 2 (1 + 15 + 105 + 455) / 2^15 = 0.96484375.
  const auto found = interval_of_median(first_numbers(15), 0.96484375);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->low, 4, 1e-9);
  EXPECT_NEAR(found->high, 12, 1e-9);
}

TEST(median_interval, lies_between_the_neighbouring_order_statistics) {
  const auto found = interval_of_median(first_numbers(15));
  ASSERT_TRUE(found);
  EXPECT_GT(found->low, 4);
  EXPECT_LT(found->low, 5);
  EXPECT_NEAR(found->low + found->high, 16, 1e-12) << "symmetric";
}

TEST(median_interval, does_not_depend_on_the_order_of_the_values) {
  const std::vector<double> shuffled{5, 2, 8, 1, 7, 3, 6, 4};
  EXPECT_EQ(interval_of_median(shuffled), interval_of_median(first_numbers(8)));
}

TEST(median_interval, covers_the_median_as_often_as_it_says) {
  constexpr int trials = 20000;
  std::mt19937_64 engine(20261124);
  for (const std::size_t count : {8U, 12U, 20U, 60U}) {
    int covered = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> values;
      // Exponential: times have a long tail on one side. Its median is log 2.
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(-std::log((static_cast<double>(engine() >> 11U) + 0.5) * 0x1p-53));
      }
      const auto found = interval_of_median(values);
      if (found->low <= std::log(2.0) && std::log(2.0) <= found->high) ++covered;
    }
    // 3.29 standard deviations of a binomial share, and 0.5 % for the interpolation.
    EXPECT_NEAR(static_cast<double>(covered) / trials, 0.95, 0.005 + 3.29 * std::sqrt(0.95 * 0.05 / trials)) << count;
  }
}

TEST(median_interval, by_rounds_counts_each_round_once) {
  std::vector<double> samples;
  std::vector<std::size_t> rounds;
  for (const double speed : {1.0, 1.1, 1.2, 1.3, 1.4, 1.5}) {
    for (int i = 0; i < 100; ++i) samples.push_back(speed);
    rounds.push_back(100);
    rounds.push_back(0);
  }
  const auto found = interval_by_rounds(samples, rounds);
  ASSERT_TRUE(found);
  EXPECT_LT(found->low, 1.1) << "600 samples, but 6 moments";
  EXPECT_GT(found->high, 1.4);
  samples.push_back(100);
  EXPECT_EQ(interval_by_rounds(samples, rounds), found) << "what follows the last round does not count";
  EXPECT_EQ(medians_of_rounds(samples, rounds), (std::vector<double>{1.0, 1.1, 1.2, 1.3, 1.4, 1.5}));
  EXPECT_TRUE(medians_of_rounds(std::vector<double>{1.0}, std::vector<std::size_t>{2}).empty()) << "a list too short";
}

TEST(median_interval, refuses_what_is_no_number) {
  const std::vector<double> values{1, 2, 3, std::numeric_limits<double>::quiet_NaN(), 5, 6};
  EXPECT_THROW((void)interval_of_median(values), std::invalid_argument);
  EXPECT_THROW((void)interval_of_median(first_numbers(9), 1), std::invalid_argument);
}

}  // namespace
}  // namespace prumo::bench
