// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/ceiling_samples.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace prumo::bench {
namespace {

TEST(ceiling_samples, become_rates) {
  ceiling_samples bandwidth(100);
  const std::vector<double> seconds{2, 1, 2, 4, 2, 2, 2, 2, 2, 2};
  bandwidth.add(seconds, std::vector<std::size_t>{10});
  EXPECT_DOUBLE_EQ(bandwidth.value().typical, 50);
  EXPECT_DOUBLE_EQ(bandwidth.value().fastest, 100);
  EXPECT_FALSE(bandwidth.value().spread) << "one round has no interval";
}

TEST(ceiling_samples, of_a_launch_are_times) {
  ceiling_samples launch;
  launch.add(std::vector<double>(10, 3e-6), std::vector<std::size_t>{10});
  EXPECT_DOUBLE_EQ(launch.value().typical, 3e-6);
  EXPECT_TRUE(ceiling_samples::is_better({2e-6, 1e-6, {}}, launch.value(), launch.is_time()));
}

TEST(ceiling_samples, that_are_few_prove_nothing_impossible) {
  ceiling_samples bandwidth(100);
  bandwidth.add(std::vector<double>(9, 2), std::vector<std::size_t>{9});
  EXPECT_DOUBLE_EQ(bandwidth.value().fastest, 500);
}

TEST(ceiling_samples, of_many_rounds_have_an_interval) {
  ceiling_samples bandwidth(100);
  for (int group = 0; group < 2; ++group) {
    const std::vector<double> seconds{1.8, 1.9, 2, 2.1, 2.2};
    bandwidth.add(seconds, std::vector<std::size_t>{1, 1, 1, 1, 1});
  }
  const ceiling_value value = bandwidth.value();
  ASSERT_TRUE(value.spread);
  EXPECT_LT(value.spread->low, 1);
  EXPECT_GT(value.spread->high, 1);
  nlohmann::json entry;
  bandwidth.store(entry);
  EXPECT_EQ(entry["value"], 50);
  EXPECT_NEAR(entry["interval"]["low"].get<double>(), 50 / value.spread->high, 1e-9);
  EXPECT_NEAR(entry["interval"]["high"].get<double>(), 50 / value.spread->low, 1e-9);
  EXPECT_EQ(entry["samples"].size(), 10U);
  EXPECT_EQ(entry["rounds"].size(), 10U);
}

}  // namespace
}  // namespace prumo::bench
