// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/median_interval.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace prumo::bench {

/// The field `time_s.interval`: bounds and confidence, or null. The bounds contain the median that stands beside them,
/// although that is of all samples and the interval of the rounds' medians.
[[nodiscard]] nlohmann::json interval_entry(const std::optional<median_interval>& interval, double median);

/// The interval of a time that several process runs measured: Student's t of the logarithms of their medians, because
/// all samples of a run share its chances. Null for fewer than three runs with samples.
/// \param time the field `time_s`, with `runs`
[[nodiscard]] nlohmann::json interval_of_runs(const nlohmann::json& time);

}  // namespace prumo::bench
