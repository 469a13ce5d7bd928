// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace prumo::bench {

/// Samples of a result by process run (`time_s.runs`, docs/results.md); one entry if the file does not say. Empty for a
/// result without times.
[[nodiscard]] std::vector<std::size_t> samples_by_run(const nlohmann::json& result);

/// Joins the results of one case. `later` is that of process run number `run`, counted from zero. `known` is that of
/// all runs before it, or null if there were none. The samples are appended, and `time_s.runs` tells the number of
/// samples of each run. Medians and rates are those of all samples. Of some values (wall clock, transfers, clock) the
/// file has only medians, and the mean of these is taken. A run that failed adds a warning and no samples, unless all
/// runs failed.
[[nodiscard]] nlohmann::json join_process_runs(const nlohmann::json* known, nlohmann::json later, std::size_t run);

/// True if a later process run need not try a case again, because it is unsupported, does not fit, had no time, or was
/// wrong.
[[nodiscard]] bool is_settled_for_all_runs(const nlohmann::json& result);

}  // namespace prumo::bench
