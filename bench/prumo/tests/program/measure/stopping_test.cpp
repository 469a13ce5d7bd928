// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/stopping.hpp"

#include "measure/time_shares.hpp"
#include "statistics/median_interval.hpp"
#include "statistics/run_values.hpp"
#include "terminal/nearest_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

namespace prumo::bench {
namespace {

using rounds = std::vector<std::size_t>;

TEST(stopping, needs_samples_time_and_rounds) {
  const stopping_rule rule{0.01, 16, 0.1, 8};
  const std::vector<double> quiet(16, 1.0);
  const rounds eight(8, 2);
  EXPECT_TRUE(is_measured_enough(quiet, eight, 0.1, rule));
  EXPECT_FALSE(is_measured_enough(quiet, eight, 0.05, rule)) << "too little time";
  EXPECT_FALSE(is_measured_enough(std::vector<double>(15, 1.0), eight, 1, rule)) << "too few samples";
  EXPECT_FALSE(is_measured_enough({}, {}, 1, rule));
  EXPECT_FALSE(is_measured_enough(quiet, rounds(4, 4), 1, rule)) << "all at a few moments";
  EXPECT_FALSE(is_measured_enough(quiet, rounds{2, 2, 2, 2, 2, 2, 2, 0, 0}, 1, rule)) << "rounds without a turn";
}

/// Samples of 20 rounds whose medians are 1 and, in every second round, 1 + `jump`.
std::vector<double> alternating(double jump, double spread) {
  std::vector<double> samples;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 11; ++i) samples.push_back(1 + (round % 2) * jump + spread * (i - 5) / 5);
  }
  return samples;
}

TEST(stopping, judges_how_exactly_the_median_is_known) {
  const rounds twenty(20, 11);
  const stopping_rule rule{0.01, 10, 0.1, 8};
  // Half of the samples lie 10 % and more apart, and each round has the same median.
  EXPECT_TRUE(is_measured_enough(alternating(0, 0.2), twenty, 1, rule));
  EXPECT_FALSE(is_measured_enough(alternating(0.03, 0), twenty, 1, rule)) << "the median is known to 1.5 % only";
  EXPECT_TRUE(is_measured_enough(alternating(0.015, 0), twenty, 1, rule));
}

TEST(stopping, waits_while_the_times_have_a_trend) {
  const stopping_rule rule{0.01, 10, 0.1, 8};
  std::vector<double> rising;
  for (int round = 0; round < 40; ++round) rising.push_back(round < 15 ? 1.0 : 1.03);
  // The interval is narrow, because most rounds agree.
  std::vector<double> settled(40, 1.03);
  std::fill_n(settled.begin(), 12, 1.0);
  EXPECT_TRUE(interval_by_rounds(settled, rounds(40, 1)));
  EXPECT_FALSE(is_measured_enough(settled, rounds(40, 1), 1, rule));
  EXPECT_FALSE(is_measured_enough(rising, rounds(40, 1), 1, rule));
  EXPECT_TRUE(is_measured_enough(std::vector<double>(40, 1.03), rounds(40, 1), 1, rule));
}

/// Medians of rounds that differ from 1 by up to `size`, without a trend.
std::vector<double> noisy(std::size_t count, double size) {
  constexpr std::array<double, 8> thirds{-3, 3, 1, -1, -1, 1, 3, -3};
  std::vector<double> medians;
  for (std::size_t i = 0; i < count; ++i) medians.push_back(1 + size * thirds.at(i % thirds.size()) / 3);
  return medians;
}

TEST(stopping, steady_noise_needs_samples_time_and_twice_the_rounds) {
  const stopping_rule rule{0.01, 10, 0.1, 8};
  const auto found = find_steady_noise(noisy(16, 0.2), rounds(16, 1), 1, rule);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rounds, 16U);
  const median_interval interval = *interval_of_median(noisy(16, 0.2));
  EXPECT_NEAR(found->half_width, (interval.high - interval.low) / 2, 0.01);
  EXPECT_FALSE(find_steady_noise(noisy(15, 0.2), rounds(15, 1), 1, rule)) << "too few rounds";
  EXPECT_FALSE(find_steady_noise(noisy(17, 0.2), rounds(17, 1), 1, rule)) << "between two looks";
  EXPECT_TRUE(find_steady_noise(noisy(18, 0.2), rounds(18, 1), 1, rule));
  EXPECT_FALSE(find_steady_noise(noisy(16, 0.2), rounds(16, 1), 0.05, rule)) << "too little time";
  EXPECT_FALSE(find_steady_noise(noisy(16, 0.2), rounds(16, 1), 1, {0.01, 17, 0.1, 8})) << "too few samples";
  EXPECT_FALSE(find_steady_noise(noisy(16, 0.2), rounds(16, 1), 1, {0.01, 10, 0.1, 9})) << "more rounds are asked for";
  EXPECT_FALSE(find_steady_noise({}, {}, 1, rule));
}

TEST(stopping, a_trend_or_a_change_is_no_steady_noise) {
  const stopping_rule rule{0.01, 10, 0.1, 8};
  ASSERT_TRUE(find_steady_noise(noisy(33, 0.2), rounds(33, 1), 1, rule));
  std::vector<double> rising = noisy(33, 0.2);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] += 0.01 * static_cast<double>(i);
  EXPECT_FALSE(find_steady_noise(rising, rounds(33, 1), 1, rule));
  std::vector<double> calmer = noisy(33, 0.2);
  for (std::size_t i = 12; i < calmer.size(); ++i) calmer[i] = 1 + (calmer[i] - 1) / 4;
  EXPECT_FALSE(find_steady_noise(calmer, rounds(33, 1), 1, rule));
  std::vector<double> wilder = noisy(33, 0.2);
  for (std::size_t i = 20; i < wilder.size(); ++i) wilder[i] = 1 + (wilder[i] - 1) * 4;
  EXPECT_FALSE(find_steady_noise(wilder, rounds(33, 1), 1, rule));
}

TEST(stopping, very_many_rounds_are_judged_by_some_of_them) {
  std::vector<double> medians;
  std::vector<std::size_t> looks;
  while (medians.size() < 2600) {
    // Multiples of the golden ratio: spread evenly, and without a period.
    medians.push_back(1 + 0.2 * std::fmod(0.6180339887 * static_cast<double>(medians.size()), 1));
    const std::size_t count = medians.size();
    if (count >= 2000 && find_steady_noise(medians, rounds(count, 1), 1, stopping_rule{})) looks.push_back(count);
  }
  EXPECT_FALSE(looks.empty());
  EXPECT_LE(looks.size(), 3U);
}

TEST(stopping, a_target_is_out_of_reach_if_the_root_of_the_rounds_does_not_reach_it) {
  const steady_noise known{40, 0.03};
  EXPECT_TRUE(is_out_of_reach(known, 40, 0.02)) << "0.0212";
  EXPECT_FALSE(is_out_of_reach(known, 60, 0.02)) << "0.0190";
  EXPECT_TRUE(is_out_of_reach(known, 0, 0.02));
  EXPECT_TRUE(is_out_of_reach(known, 50, 0.001));
  EXPECT_FALSE(is_out_of_reach(known, 51, 0.001)) << "the interval would be 1.51 times as wide as it could be";
}

TEST(stopping, has_the_rounds_that_two_builds_are_compared_by) {
  EXPECT_EQ(stopping_rule{}.minimum_rounds, fewest_rounds);
  EXPECT_GE(fewest_rounds, fewest_interval_values) << "or no interval would be known";
}

TEST(stopping, asks_more_of_gpus) {
  EXPECT_LT(standard_noise_target("cuda"), standard_noise_target("openmp"));
  EXPECT_LT(standard_noise_target("hip"), standard_noise_target("numpy"));
  EXPECT_EQ(standard_noise_target("torch-cuda"), standard_noise_target("cuda"));
  EXPECT_EQ(standard_noise_target("torch-cpu"), standard_noise_target("openmp"));
}

TEST(stopping, settling_scales_with_the_share) {
  EXPECT_LT(choose_pace(0.1, 20).settle_seconds, choose_pace(2, 20).settle_seconds);
  EXPECT_LE(choose_pace(1e6, 20).settle_seconds, 0.5);
  EXPECT_EQ(choose_pace(0, 20).settle_seconds, 0);
  EXPECT_GT(choose_pace(0, 20).slice_seconds, 0);
  EXPECT_LE(choose_pace(1e6, 20).slice_seconds, 0.1);
}

TEST(stopping, long_calls_are_not_discarded) {
  EXPECT_TRUE(can_discard_settling(0.06, 0.05));
  EXPECT_FALSE(can_discard_settling(15, 0.5));
  EXPECT_FALSE(can_discard_settling(0.3, 0.01)) << "a call took longer than was asked for";
}

TEST(rounds, every_case_begins_equally_often) {
  std::map<std::size_t, int> firsts;
  for (std::size_t round = 0; round < 12; ++round) ++firsts[first_of_round(round, 4)];
  for (const auto& [place, times] : firsts) EXPECT_EQ(times, 3) << place;
  EXPECT_EQ(firsts.size(), 4U);
}

TEST(time_shares, who_wishes_little_gets_it_and_the_others_are_equal) {
  const std::vector<double> wishes{1, 10, 2, 10};
  EXPECT_DOUBLE_EQ(fair_level(wishes, 9), 3) << "1 + 3 + 2 + 3";
  EXPECT_DOUBLE_EQ(fair_level(wishes, 2), 0.5);
  EXPECT_TRUE(std::isinf(fair_level(wishes, 23)));
  EXPECT_DOUBLE_EQ(fair_level(wishes, -1), 0);
  EXPECT_TRUE(std::isinf(fair_level({}, 0)));
}

TEST(time_shares, the_longest_are_given_up_first) {
  const std::vector<double> least{1, 30, 2, 8};
  EXPECT_TRUE(too_long(least, 41).empty());
  EXPECT_EQ(too_long(least, 40), (std::vector<std::size_t>{1}));
  EXPECT_EQ(too_long(least, 10), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(too_long(least, -1).size(), 4U);
}

TEST(time_shares, of_equally_long_ones_the_next_stays) {
  const std::vector<double> least{2, 2, 2, 2};
  EXPECT_EQ(too_long(least, 5), (std::vector<std::size_t>{2, 3}));
}

TEST(nearest_name, finds_slips_and_nothing_far_fetched) {
  const std::vector<std::string> names{"add", "mul", "softmax", "--size"};
  EXPECT_EQ(nearest_name("ad", names), "add");
  EXPECT_EQ(nearest_name("sotfmax", names), "softmax");
  EXPECT_EQ(nearest_name("--sizes", names), "--size");
  EXPECT_EQ(nearest_name("soft", names), "softmax");
  EXPECT_EQ(nearest_name("convolution", names), "");
}

}  // namespace
}  // namespace prumo::bench
