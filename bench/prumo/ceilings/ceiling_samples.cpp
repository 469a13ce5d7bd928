// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/ceiling_samples.hpp"

#include "statistics/statistics.hpp"
#include "statistics/time_interval.hpp"

#include <algorithm>
#include <utility>

namespace prumo::bench {

using nlohmann::json;

void ceiling_samples::add(std::span<const double> seconds, std::span<const std::size_t> rounds) {
  seconds_.insert(seconds_.end(), seconds.begin(), seconds.end());
  std::size_t left = seconds.size();
  for (const std::size_t round : rounds) {
    rounds_.push_back(std::min(round, left));
    left -= rounds_.back();
  }
  if (left > 0) rounds_.push_back(left);  // what was measured after the last round
}

bool ceiling_samples::is_better(const ceiling_value& a, const ceiling_value& b, bool is_time) {
  return is_time ? a.typical < b.typical : a.typical > b.typical;
}

ceiling_value ceiling_samples::value() const {
  const sample_summary summary = summarize(seconds_);
  // Few samples may all be of a slow moment: they prove nothing impossible.
  constexpr std::size_t enough = 10;
  const double fastest = seconds_.size() < enough ? 0.1 * summary.median : summary.minimum;
  ceiling_value result{value_at(summary.median), value_at(fastest), std::nullopt};
  if (const auto interval = interval_by_rounds(seconds_, rounds_)) {
    result.spread =
        median_interval{std::min(1.0, interval->low / summary.median), std::max(1.0, interval->high / summary.median)};
  }
  return result;
}

void ceiling_samples::store(json& entry) const {
  const ceiling_value known = value();
  std::optional<median_interval> interval;
  if (known.spread) {
    const double low = is_time() ? known.spread->low : 1 / known.spread->high;
    const double high = is_time() ? known.spread->high : 1 / known.spread->low;
    interval = median_interval{known.typical * low, known.typical * high};
  }
  json samples = json::array();
  for (const double seconds : seconds_) samples.push_back(value_at(seconds));
  entry["value"] = known.typical;
  entry["interval"] = interval_entry(interval, known.typical);
  entry["samples"] = std::move(samples);
  entry["rounds"] = rounds_;
}

}  // namespace prumo::bench
