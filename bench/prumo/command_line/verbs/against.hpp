// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "statistics/gate.hpp"
#include "terminal/text.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
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
  gate_outcome gate = gate_outcome::passed;
};

/// Up to how many process runs measuring goes on when `finished` are there: to the next look at the comparison
/// (next_look()) while its answer is open, and no further once it is not. With a gate, the answer is the gate's.
/// Without one, it is open while a case is unclear.
[[nodiscard]] std::size_t next_process_runs(const nlohmann::json& document, const bench_options& options,
                                            std::size_t finished);

[[nodiscard]] build_report report_builds(const nlohmann::json& document, const bench_options& options,
                                         const text_style& style);

}  // namespace prumo::bench
