// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/power_states.hpp"

#include "cases/power_state.hpp"
#include "measure/burst.hpp"
#include "statistics/statistics.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr double slice_seconds = 0.25;
constexpr double longest_warming = 5;
constexpr std::size_t steady_slices = 3;
constexpr double steady_change = 0.005;  ///< of the medians and clocks of these slices
constexpr double look_seconds = 1;       ///< ten steps of a GPU's energy counter

/// Of cases that a power limit may hold down: its controller averages over seconds, and then the clock goes up and
/// down.
constexpr double limited_warming = 2;
constexpr double limited_look_seconds = 2;

void idle(double seconds) {
  pollfd asked_to_stop{interrupt_descriptor(), POLLIN, 0};
  (void)::poll(&asked_to_stop, 1, static_cast<int>(seconds * 1e3));
  throw_if_interrupted();
}

json measure_burst_of(live_case& which, steady_time deadline) {
  const case_record& record = which.record();
  burst_setting setting;
  setting.turn_seconds = summarize(record.samples()).median;
  setting.throttled_in_turns = record.throttled();
  setting.may_be_limited = has_transfers(which.device().summary);
  setting.seconds_left = seconds_until(deadline) - sustained_seconds;
  const auto look = [&](const burst_plan& plan) {
    idle(plan.idle_seconds);
    return which.look(plan.work_seconds);
  };
  json state = measure_burst(look, setting);
  if (state.is_object() && state.at("settled") == false) {
    const auto reasons = state.at("throttle").get<std::vector<std::string>>();
    which.record().warn(
        fmt::format("the burst may still be held down by the power limit ({}), although the device idled for {} before",
                    reasons.empty() ? "idling longer made it faster" : fmt::format("{}", fmt::join(reasons, ", ")),
                    format_duration(state.at("idle_seconds").get<double>())));
  }
  return state;
}

/// True if the last slices differ by no more than `steady_change`. A number that is not known does not change.
bool is_steady(const std::vector<double>& slices) {
  if (slices.size() < steady_slices) return false;
  const auto [low, high] = std::minmax_element(slices.end() - steady_slices, slices.end());
  return *high - *low <= steady_change * *high;
}

/// \param limited whether a power limit may hold the case down, by what is known so far
json measure_sustained(live_case& which, steady_time deadline, bool limited) {
  std::vector<double> medians;
  std::vector<double> clocks;
  const auto begun = std::chrono::steady_clock::now();
  bool settled = false;
  const auto looks_for = [&] { return limited ? limited_look_seconds : look_seconds; };
  const auto goes_on = [&] {
    const double warmed = seconds_since(begun);
    return (limited && warmed < limited_warming) || (!settled && warmed < longest_warming);
  };
  while (goes_on() && seconds_until(deadline) > looks_for()) {
    throw_if_interrupted();
    const auto answer = which.look(slice_seconds);
    if (!answer) return {};
    medians.push_back(summarize(answer->samples).median);
    clocks.push_back(answer->clock_mhz.value_or(0));
    settled = is_steady(medians) && is_steady(clocks);
    limited = limited || !answer->throttle.empty();
  }
  const double warmed = seconds_since(begun);
  throw_if_interrupted();
  const auto answer = which.look(looks_for());
  if (!answer) return {};
  power_state_record record;
  record.add(*answer);
  json state = record.to_json();
  state["steady"] = settled;
  state["seconds_before"] = warmed;
  return state;
}

}  // namespace

void measure_power_states(live_case& which, steady_time deadline) {
  // The burst comes first, before the device is warm.
  json burst = measure_burst_of(which, deadline);
  if (burst.is_null()) return;
  const bool limited =
      has_transfers(which.device().summary) && (burst.at("tried").size() > 1 || which.record().throttled());
  which.record().set_power_state("burst", std::move(burst));
  json sustained = measure_sustained(which, deadline, limited);
  if (!sustained.is_null()) which.record().set_power_state("sustained", std::move(sustained));
}

}  // namespace prumo::bench
