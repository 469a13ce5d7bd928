// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/run_values.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// One side of a comparison. A run without samples gave nothing.
using process_runs = std::vector<process_run>;

/// One case measured on both sides.
struct case_pair {
  process_runs before;
  process_runs after;
  /// Run number i of both sides was measured in turns: what drifts touches both alike.
  bool interleaved = false;
  /// Further runs of which no samples are known, only these; such a case is not interleaved.
  std::vector<run_value> told_before = {};
  std::vector<run_value> told_after = {};
};

enum class verdict { same, faster, slower, unclear };

/// `same`, `faster`, ...
[[nodiscard]] std::string_view to_string(verdict which);

/// What two sides of a case say of each other.
struct judgement {
  double ratio = 1;  ///< time after over time before: above one is slower
  double low = 1;    ///< bounds of the confidence interval of `ratio`, of this case alone
  double high = 1;
  /// Probability of so much evidence, or more, were the ratio one; with the correction for all cases of the comparison.
  double p_value = 1;
  verdict which = verdict::unclear;
  /// A side had too few runs: the spread between runs is `assumed_run_spread`, or what was seen where that is more.
  bool spread_assumed = false;
};

/// How verdicts are found.
struct judge_options {
  double margin = 0.03;      ///< differences up to this share do not matter: ratios from 1/(1 + margin) to 1 + margin
  double confidence = 0.95;  ///< of each interval, and of all that is called slower or faster in a comparison together
  /// Relative standard deviation between process runs that is assumed where a side has too few runs to show it.
  double assumed_run_spread = 0.01;
  std::uint64_t seed = 1;  ///< of the resampling
};

/// Process runs a side from which on the spread between them is estimated, not assumed.
inline constexpr std::size_t fewest_runs = 3;

/// Judges all cases of a comparison together: the more cases, the more evidence each verdict needs, so that a hundred
/// unchanged cases do not yield five that are slower by chance.
///
/// A process run counts by the median of its samples' logarithms, a pair of interleaved runs by the differences of
/// their rounds where these are known (difference_by_rounds()), else by that of their medians. The ratio is the mean of
/// the pairs' differences, or the difference of the two sides' means where they were not interleaved. How exact that is
/// follows from two levels of resampling (Davison and Hinkley, Bootstrap Methods and their Application, 1997,
/// section 3.8): runs, and blocks of neighbouring samples within a run, since those depend on each other. For a mean
/// over runs the outer level has a closed form, their variance, which is used with the correction n / (n - 1) that so
/// few runs need; it contains what the inner level tells, which is a lower bound therefore: runs that agree better than
/// their own samples allow do so by chance.
///
/// Three runs tell little of their spread. All cases of a comparison ran in the same processes on the same machine, so
/// that their variances are moderated by each other (Smyth 2004, empirical Bayes, see moderate_variances()), and the
/// interval is Student's t with the degrees of freedom that this gives.
///
/// - `same`: the whole interval lies within the margin.
/// - `slower`, `faster`: a ratio of one is rejected with Holm's correction (A simple sequentially rejective multiple
/// test
///   procedure, Scandinavian Journal of Statistics 6, 1979), and the ratio is beyond the margin. Holm bounds the
///   probability of even one false alarm, as a gate needs it, however the cases depend on each other.
/// - `unclear`: everything else.
///
/// With fewer than `fewest_runs` runs on a side (or pairs) the variance of a run is the square of `assumed_run_spread`,
/// or the one seen where that is more, plus that of the inner level, and the interval is that of the normal
/// distribution.
/// \return one judgement a case, in order
/// \throws std::invalid_argument for a case without samples on a side (or, interleaved, without a run that both have),
/// for samples that are not finite and positive, and for options out of range
[[nodiscard]] std::vector<judgement> judge(std::span<const case_pair> cases, const judge_options& options);

}  // namespace prumo::bench
