// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/source.hpp"
#include "statistics/run_plan.hpp"

namespace prumo::bench {

/// Results of two builds that were measured in turns.
struct two_builds {
  comparison_source before;  ///< the other build, named by --against
  comparison_source after;   ///< the build that ran
};

/// True for a file of `prumo bench --against`: it has `run.against` (docs/results.md).
[[nodiscard]] bool holds_two_builds(const nlohmann::json& run);

/// When such a run was judged, by its record (`run.plan`). A file that does not say was judged once.
[[nodiscard]] run_plan run_plan_of(const nlohmann::json& run);

/// Splits such a file into its two builds, with devices of the same names. Run number i of a case in one build was
/// measured in turns with run number i in the other. \pre holds_two_builds(file.run)
[[nodiscard]] two_builds split_builds(const comparison_source& file);

}  // namespace prumo::bench
