// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/steady_cases.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace prumo::bench {
namespace {

using flags = std::vector<bool>;

/// A case that is known to 3 % after 40 rounds, and would be to 2 % after 90.
steady_candidate candidate(double target_noise, std::size_t device = 0) {
  steady_candidate made;
  made.noise = {40, 0.03};
  made.target_noise = target_noise;
  made.turn_seconds = 0.1;
  made.own_seconds = 100;
  made.device = device;
  return made;
}

TEST(steady_cases, stop_if_the_time_that_is_left_is_too_short) {
  const std::vector<steady_candidate> one{candidate(0.01)};
  EXPECT_EQ(which_stop(one, {}, 4.9), flags{true});
  EXPECT_EQ(which_stop(one, {}, 5.1), flags{false}) << "the interval would be more than 1.5 times as wide as possible";
  EXPECT_EQ(which_stop(std::vector{candidate(0.025)}, {}, 4.9), flags{false}) << "its target is within reach";
  EXPECT_EQ(which_stop({}, {}, 1), flags{});
}

TEST(steady_cases, take_turns_with_their_probes) {
  const std::vector<steady_candidate> one{candidate(0.01, 3)};
  EXPECT_EQ(which_stop(one, {{3, 0.1}}, 9), flags{true});
  EXPECT_EQ(which_stop(one, {{2, 0.1}}, 9), flags{false}) << "that of another device ends with its cases";
}

TEST(steady_cases, have_no_more_time_than_their_own) {
  std::vector<steady_candidate> one{candidate(0.01)};
  one.front().own_seconds = 4;
  EXPECT_EQ(which_stop(one, {}, 1000), flags{true});
}

TEST(steady_cases, share_the_time_only_with_others_that_stop) {
  // Each gets 45 rounds of 9 seconds if both go on, and 90 if the other one ends.
  EXPECT_EQ(which_stop(std::vector{candidate(0.01), candidate(0.01)}, {}, 9), (flags{true, true}));
  EXPECT_EQ(which_stop(std::vector{candidate(0.01), candidate(0.022)}, {}, 9), (flags{false, false}));
  EXPECT_EQ(which_stop(std::vector{candidate(0.01), candidate(0.024)}, {}, 4.9), (flags{true, false}));
}

}  // namespace
}  // namespace prumo::bench
