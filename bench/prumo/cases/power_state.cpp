// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases/power_state.hpp"

#include "results/result_fields.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>

namespace prumo::bench {

using nlohmann::json;

double power_state_record::median() const { return summarize(samples_).median; }

void power_state_record::add(const protocol::sample_answer& answer) {
  samples_.insert(samples_.end(), answer.samples.begin(), answer.samples.end());
  if (answer.clock_mhz && *answer.clock_mhz > 0) clocks_mhz_.push_back(*answer.clock_mhz);
  if (answer.power_w) powers_w_.push_back(*answer.power_w);
  if (answer.temperature_c) temperature_c_ = std::max(temperature_c_.value_or(-273.15), *answer.temperature_c);
  throttle_.insert(answer.throttle.begin(), answer.throttle.end());
  if (answer.energy_j) {
    energy_j_ += *answer.energy_j;
    energy_calls_ += static_cast<double>(answer.batch) * static_cast<double>(answer.samples.size());
  }
}

json power_state_record::to_json() const {
  const sample_summary summary = summarize(samples_);
  return {{"median", summary.median},
          {"p25", summary.p25},
          {"p75", summary.p75},
          {"samples", samples_},
          {"clock_mhz", median_or_null(clocks_mhz_)},
          {"power_w", median_or_null(powers_w_)},
          {"temperature_c", or_null(temperature_c_)},
          {"throttle", throttle_},
          {"energy_j", energy_calls_ > 0 ? json(energy_j_ / energy_calls_) : json()}};
}

}  // namespace prumo::bench
