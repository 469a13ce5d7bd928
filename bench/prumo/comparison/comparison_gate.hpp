// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "statistics/gate.hpp"
#include "statistics/verdict.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace prumo::bench {

/// What a gate says of a comparison of two versions, and why.
struct gate_report {
  gate_outcome outcome = gate_outcome::inconclusive;
  std::size_t undecided = 0;     ///< cases that may be slower by more than the margin, for all that is known
  std::size_t too_few_runs = 0;  ///< of these, those with fewer than `fewest_runs` process runs on a side
  std::size_t noisy = 0;         ///< of these, those that more process runs can decide
  /// How many further process runs of each side would probably decide all that are noisy; absent if there are none, or
  /// if more than `most_further_runs` are needed.
  std::optional<std::size_t> further_runs;
};

/// The gate over a judged comparison: `failed` if a case is slower or broke, and `passed` if the evidence rules out for
/// every other case that it is slower by more than the margin. A case that cannot be compared (refused, or measured
/// without samples) is undecided. A case that did not run before cannot have become slower.
[[nodiscard]] gate_report report_gate(const comparison& of, const judge_options& judged_with);

/// The report in a line: `gate 3 %: passed`. \pre `report` is of this comparison
[[nodiscard]] std::string gate_line(const comparison& of, const gate_report& report, const judge_options& judged_with);

/// Which cases jump between two values, in a line with its end: `3 cases jump between two values, about 5 % apart ...`.
/// Empty where none does.
[[nodiscard]] std::string jumps_line(const comparison& of);

}  // namespace prumo::bench
