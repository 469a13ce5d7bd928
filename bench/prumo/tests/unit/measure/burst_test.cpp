// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/burst.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A device that is held down if it idled for less than `needed_idling` seconds, and tells so if `tells`.
struct limited_device {
  double needed_idling = 0;
  bool tells = true;
  int looks = 0;
  int looks_until_failure = 1000;

  std::optional<protocol::sample_answer> operator()(const burst_plan& plan) {
    if (++looks > looks_until_failure) return std::nullopt;
    const bool held_down = plan.idle_seconds < needed_idling;
    protocol::sample_answer answer;
    answer.samples.assign(4, held_down ? 1.04e-3 : 1e-3);
    answer.clock_mhz = held_down ? 1900 : 1980;
    if (held_down && tells) answer.throttle = {"power cap"};
    return answer;
  }
};

json burst_of(limited_device device, const burst_setting& setting) {
  return measure_burst([&](const burst_plan& plan) { return device(plan); }, setting);
}

std::size_t tried(const json& burst) { return burst.at("tried").size(); }

TEST(burst, where_nothing_is_held_down_the_shortest_idling_will_do) {
  const json burst = burst_of({}, {.turn_seconds = 1e-3});
  EXPECT_EQ(tried(burst), 1u);
  EXPECT_EQ(burst.at("idle_seconds"), burst_plans.front().idle_seconds);
  EXPECT_EQ(burst.at("work_seconds"), burst_plans.front().work_seconds);
  EXPECT_EQ(burst.at("samples").size(), 4u * static_cast<std::size_t>(burst_plans.front().repetitions));
  EXPECT_EQ(burst.at("settled"), true);
}

TEST(burst, waking_up_is_not_taken_for_a_power_limit) { EXPECT_EQ(tried(burst_of({}, {.turn_seconds = 0.97e-3})), 1u); }

TEST(burst, idles_longer_until_the_device_tells_of_no_limit_and_is_no_faster) {
  const json burst = burst_of({.needed_idling = 0.4}, {.turn_seconds = 1.04e-3, .throttled_in_turns = true});
  EXPECT_EQ(tried(burst), 3u) << "0.2 s: held down; 0.5 s: not; 1 s: no faster";
  EXPECT_EQ(burst.at("median"), 1e-3);
  EXPECT_EQ(burst.at("clock_mhz"), 1980.0);
  EXPECT_EQ(burst.at("settled"), true);
  EXPECT_EQ(burst.at("throttle"), json::array());
  EXPECT_EQ(burst.at("tried").at(0).at("throttle"), json::array({"power cap"}));
  EXPECT_EQ(burst.at("tried").at(0).at("median"), 1.04e-3);
}

TEST(burst, waking_up_from_a_long_idling_does_not_count) {
  const auto look = [](const burst_plan& plan) {
    protocol::sample_answer answer;
    answer.samples.assign(4, plan.idle_seconds < 0.4 ? 1.04e-3 : plan.idle_seconds < 0.9 ? 1e-3 : 1.02e-3);
    answer.clock_mhz = 1980;
    return std::optional(answer);
  };
  const json burst = measure_burst(look, {.turn_seconds = 1.06e-3});
  EXPECT_EQ(tried(burst), 3u);
  EXPECT_EQ(burst.at("settled"), true);
  EXPECT_EQ(burst.at("median"), 1e-3);
  EXPECT_EQ(burst.at("idle_seconds"), burst_plans[1].idle_seconds);
}

TEST(burst, a_limit_that_the_device_does_not_tell_is_found_by_the_time) {
  const json burst = burst_of({.needed_idling = 0.4, .tells = false}, {.turn_seconds = 1.06e-3});
  EXPECT_EQ(burst.at("median"), 1e-3);
  EXPECT_EQ(burst.at("settled"), true);
}

TEST(burst, one_that_is_still_held_down_says_so) {
  const json burst = burst_of({.needed_idling = 9}, {.turn_seconds = 1e-3});
  EXPECT_EQ(tried(burst), burst_plans.size());
  EXPECT_EQ(burst.at("settled"), false);
  EXPECT_EQ(burst.at("throttle"), json::array({"power cap"}));
}

TEST(burst, keeps_within_the_time_that_is_left) {
  const json burst = burst_of({.needed_idling = 0.4}, {.throttled_in_turns = true, .seconds_left = 4});
  EXPECT_EQ(tried(burst), 2u);
  EXPECT_EQ(burst.at("settled"), false) << "nothing tells yet that longer idling changes nothing";
}

TEST(burst, of_a_host_is_measured_once) {
  const json burst = burst_of({}, {.turn_seconds = 2e-3, .may_be_limited = false});
  EXPECT_EQ(tried(burst), 1u);
  EXPECT_EQ(burst.at("settled"), true);
}

TEST(burst, a_worker_that_fails_leaves_what_was_measured) {
  EXPECT_TRUE(burst_of({.looks_until_failure = 3}, {}).is_null());
  const json burst = burst_of({.needed_idling = 9, .looks_until_failure = 8}, {});
  EXPECT_EQ(tried(burst), 1u);
  EXPECT_EQ(burst.at("settled"), false);
}

}  // namespace
}  // namespace prumo::bench
