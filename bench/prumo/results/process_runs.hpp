// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace prumo::bench {

/// Samples of a result by process run (`time_s.runs`, docs/results.md); one entry where the file does not tell. Empty
/// for a result without times.
[[nodiscard]] std::vector<std::size_t> samples_by_run(const nlohmann::json& result);

/// The result of a case after process run number `run`, from zero, measured `later`; `known` is what the runs before it
/// came to, null where there were none. Samples follow each other, `time_s.runs` tells how many are of which run;
/// medians and rates are of all samples. What the file keeps medians of alone (wall clock, transfers, clock) becomes
/// the mean over the runs. A run that failed leaves no samples and a warning, unless all did.
[[nodiscard]] nlohmann::json join_process_runs(const nlohmann::json* known, nlohmann::json later, std::size_t run);

/// True where a later process run need not try a case again: it is unsupported, does not fit, had no time, or was
/// wrong.
[[nodiscard]] bool is_settled_for_all_runs(const nlohmann::json& result);

}  // namespace prumo::bench
