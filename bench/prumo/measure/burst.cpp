// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/burst.hpp"

#include "cases/power_state.hpp"

#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Whether a median is no less than another one, but for chance.
bool is_no_faster(double median, double other) { return median >= (1 - burst_tolerance) * other; }

}  // namespace

json measure_burst(const std::function<std::optional<protocol::sample_answer>(const burst_plan&)>& look,
                   const burst_setting& setting) {
  json state;
  json fastest;  // of the plans that were not held down
  json tried = json::array();
  double left = setting.seconds_left;
  // What this plan has to agree with.
  double before = setting.turn_seconds;
  bool throttled_before = setting.throttled_in_turns;
  for (const burst_plan& plan : burst_plans) {
    if (!state.is_null() && (!setting.may_be_limited || plan.seconds() > left)) break;
    left -= plan.seconds();
    power_state_record record;
    for (int repetition = 0; repetition < plan.repetitions; ++repetition) {
      const auto answer = look(plan);
      if (!answer) {
        if (!state.is_null()) state["tried"] = std::move(tried);
        return state;
      }
      record.add(*answer);
    }
    const bool agrees = !throttled_before && is_no_faster(record.median(), before);
    json entry = record.to_json();
    entry["idle_seconds"] = plan.idle_seconds;
    entry["work_seconds"] = plan.work_seconds;
    entry["settled"] = !record.is_throttled() && (agrees || !setting.may_be_limited);
    tried.push_back({{"idle_seconds", plan.idle_seconds},
                     {"work_seconds", plan.work_seconds},
                     {"median", record.median()},
                     {"clock_mhz", entry.at("clock_mhz")},
                     {"throttle", entry.at("throttle")}});
    state = std::move(entry);
    if (!record.is_throttled() && (fastest.is_null() || record.median() < fastest.at("median"))) fastest = state;
    if (state.at("settled") == true) break;
    before = record.median();
    throttled_before = record.is_throttled();
  }
  if (!state.is_null() && state.at("settled") == true) {
    state = std::move(fastest);
    state["settled"] = true;
  }
  if (!state.is_null()) state["tried"] = std::move(tried);
  return state;
}

}  // namespace prumo::bench
