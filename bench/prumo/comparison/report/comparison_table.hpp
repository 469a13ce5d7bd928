// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "comparison/report/comparison_cells.hpp"
#include "statistics/verdict.hpp"
#include "terminal/text.hpp"

#include <optional>
#include <string>

namespace prumo::bench {

/// What of a comparison is shown.
struct comparison_view {
  comparison_value by = comparison_value::time;
  bool all = false;           ///< every difference of the context and every case without a partner
  bool gated = false;         ///< the margin is a gate: say what it answers
  judge_options judged_with;  ///< as given to judge_cases()
};

/// A judged comparison for people: what is compared, what differs otherwise, a row a case, notes, counts, and how to
/// read it.
[[nodiscard]] std::string comparison_table(const comparison& of, const comparison_view& view, const text_style& style);

}  // namespace prumo::bench
