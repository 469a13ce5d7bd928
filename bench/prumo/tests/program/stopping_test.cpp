// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stopping.hpp"

#include "nearest_name.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace prumo::bench {
namespace {

TEST(stopping, needs_samples_time_and_quiet) {
  const stopping_rule rule{0.02, 5, 0.1};
  const std::vector<double> quiet(5, 1.0);
  const std::vector<double> noisy{1.0, 1.5, 1.0, 1.5, 1.0, 1.5};
  EXPECT_TRUE(is_measured_enough(quiet, 0.1, rule));
  EXPECT_FALSE(is_measured_enough(quiet, 0.05, rule)) << "too little time";
  EXPECT_FALSE(is_measured_enough(std::vector<double>(4, 1.0), 1, rule)) << "too few samples";
  EXPECT_FALSE(is_measured_enough(noisy, 1, rule)) << "too much spread";
  EXPECT_FALSE(is_measured_enough({}, 1, rule));
}

TEST(stopping, asks_more_of_gpus) {
  EXPECT_LT(standard_noise_target("cuda"), standard_noise_target("openmp"));
  EXPECT_LT(standard_noise_target("hip"), standard_noise_target("numpy"));
}

TEST(stopping, settling_scales_with_the_share) {
  EXPECT_LT(choose_pace(0.1).settle_seconds, choose_pace(2).settle_seconds);
  EXPECT_LE(choose_pace(1e6).settle_seconds, 0.5);
  EXPECT_EQ(choose_pace(0).settle_seconds, 0);
  EXPECT_GT(choose_pace(0).slice_seconds, 0);
  EXPECT_LE(choose_pace(1e6).slice_seconds, 0.1);
}

TEST(stopping, long_calls_are_not_discarded) {
  EXPECT_TRUE(can_discard_settling(0.01, 1));
  EXPECT_FALSE(can_discard_settling(15, 1));
  EXPECT_FALSE(can_discard_settling(0.1, 0)) << "no share: every sample is needed";
}

TEST(rounds, every_case_begins_equally_often) {
  std::map<std::size_t, int> firsts;
  for (std::size_t round = 0; round < 12; ++round) ++firsts[first_of_round(round, 4)];
  for (const auto& [place, times] : firsts) EXPECT_EQ(times, 3) << place;
  EXPECT_EQ(firsts.size(), 4U);
}

TEST(budget, is_shared_by_weight_and_never_negative) {
  EXPECT_DOUBLE_EQ(budget_share(10, 1, 4), 2.5);
  EXPECT_DOUBLE_EQ(budget_share(10, 4, 4), 10);
  EXPECT_DOUBLE_EQ(budget_share(-1, 1, 4), 0);
  EXPECT_DOUBLE_EQ(budget_share(10, 0, 4), 0);
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
