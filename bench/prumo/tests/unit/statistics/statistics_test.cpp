// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace prumo::bench {
namespace {

TEST(quantile, interpolates_as_numpy_does) {
  // numpy.quantile([7, 1, 3, 4], [0, 0.1, 0.25, 0.5, 0.75, 1])
  const std::vector<double> samples = {7, 1, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.1), 1.6);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.5), 3.5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.75), 4.75);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 7);
}

TEST(quantile, refuses_what_has_no_answer) {
  const std::vector<double> one = {1};
  EXPECT_THROW((void)quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW((void)quantile(one, -0.1), std::invalid_argument);
  EXPECT_THROW((void)quantile(one, 1.1), std::invalid_argument);
  EXPECT_THROW((void)quantile(one, std::nan("")), std::invalid_argument);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> samples = {1, bad};
    EXPECT_THROW((void)summarize(samples), std::invalid_argument);
  }
}

TEST(summarize, of_one_sample_knows_no_spread) {
  const std::vector<double> samples = {2.5};
  const sample_summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 1u);
  EXPECT_EQ(summary.median, 2.5);
  EXPECT_EQ(summary.p25, 2.5);
  EXPECT_EQ(summary.p75, 2.5);
  EXPECT_FALSE(summary.relative_iqr);
}

TEST(summarize, of_many_samples) {
  const std::vector<double> samples = {5, 1, 2, 3, 4};
  const sample_summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 5u);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.p25, 2);
  EXPECT_EQ(summary.p75, 4);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_EQ(summary.maximum, 5);
  ASSERT_TRUE(summary.relative_iqr);
  EXPECT_DOUBLE_EQ(*summary.relative_iqr, 2.0 / 3.0);
}

TEST(summarize, of_equal_samples_has_exactly_their_value) {
  const std::vector<double> samples(1000, 0.1);
  const sample_summary summary = summarize(samples);
  EXPECT_EQ(summary.median, 0.1);
  EXPECT_EQ(summary.relative_iqr, 0.0);
}

TEST(summarize, of_zeros_has_no_relative_spread) {
  const std::vector<double> samples = {0, 0, 0};
  EXPECT_FALSE(summarize(samples).relative_iqr);
}

// From Wilson's lower bound for shares of 1, count / (count + z^2), and from his formula.
TEST(share_uncertainty, is_that_of_wilsons_interval) {
  EXPECT_NEAR(share_uncertainty(1, 100), 0.0369935, 1e-7);
  EXPECT_NEAR(share_uncertainty(0, 100), 0.0369935, 1e-7);
  EXPECT_NEAR(share_uncertainty(1, 1), 0.7934507, 1e-7);
  EXPECT_NEAR(share_uncertainty(0.5, 100), 0.0961685, 1e-7);
  EXPECT_NEAR(share_uncertainty(0.98, 10000), 0.0029339, 1e-7);
}

}  // namespace
}  // namespace prumo::bench
