// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// Seconds of a call on one side of a comparison: a list of samples for each process run.
using process_runs = std::vector<std::vector<double>>;

/// One case measured on both sides.
struct case_pair {
  process_runs before;
  process_runs after;
  /// Run number i of both sides was measured in turns: what drifts touches both alike.
  bool interleaved = false;
};

enum class verdict { same, faster, slower, unclear };

/// `same`, `faster`, ...
[[nodiscard]] std::string_view to_string(verdict which);

/// What two sides of a case say of each other.
struct judgement {
  double ratio = 1;  ///< time after over time before: above one is slower
  double low = 1;    ///< bounds of the confidence interval of `ratio`
  double high = 1;
  verdict which = verdict::unclear;
};

/// How verdicts are found.
struct judge_options {
  double margin = 0.03;      ///< differences up to this share do not matter
  double confidence = 0.95;  ///< of each interval, and of all verdicts of a comparison together
  /// Relative standard deviation between process runs that is assumed where a side has too few runs to show it.
  double assumed_run_spread = 0.01;
  std::uint64_t seed = 1;  ///< of the resampling
};

/// Judges all cases of a comparison together: the more cases, the more evidence each verdict needs, so that a hundred
/// unchanged cases do not yield five that are slower by chance.
/// \return one judgement a case, in order
/// \throws std::invalid_argument for a case without samples on a side, or one that is not finite and positive
[[nodiscard]] std::vector<judgement> judge(std::span<const case_pair> cases, const judge_options& options);

}  // namespace prumo::bench
