// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "terminal/text.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace prumo::bench {

/// The part about the other build in the record of a run.
[[nodiscard]] nlohmann::json against_record(const bench_options& options);

/// A line for each device whose worker is one and the same program on both sides.
[[nodiscard]] std::vector<std::string> same_program_notes(const worker_fleet& fleet);

/// Drops results if only one of the two builds has all process runs. Both builds must be measured together, so a
/// resumed run measures both again. \return the results that are left
[[nodiscard]] nlohmann::json drop_unpaired(const nlohmann::json& document);

/// The two builds beside each other, with verdicts.
struct build_report {
  std::string text;
  bool passed = true;  ///< nothing is slower beyond the margin, and nothing broke
};

[[nodiscard]] build_report report_builds(const nlohmann::json& document, const bench_options& options,
                                         const text_style& style);

}  // namespace prumo::bench
