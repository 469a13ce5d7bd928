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
  /// Run number i of both sides was measured in turns, so a drift of the machine affects both alike.
  bool interleaved = false;
  /// Further runs without samples, of which only these moments are known. Such a case is not interleaved.
  std::vector<run_value> told_before = {};
  std::vector<run_value> told_after = {};
};

enum class verdict { same, faster, slower, unclear };

/// `same`, `faster`, ...
[[nodiscard]] std::string_view to_string(verdict which);

/// The verdict on a case with two sides.
struct judgement {
  double ratio = 1;  ///< time after over time before: above one is slower
  double low = 1;    ///< bounds of the confidence interval of `ratio`, of this case alone
  double high = 1;
  /// The probability of this evidence, or more, if the ratio were one. It is corrected for all cases of the comparison.
  double p_value = 1;
  verdict which = verdict::unclear;
  /// A side had too few runs. The spread between runs is then `assumed_run_spread`, or the one that was seen if it is
  /// larger.
  bool spread_assumed = false;
};

/// How verdicts are found.
struct judge_options {
  double margin = 0.03;      ///< differences up to this share do not matter: ratios from 1/(1 + margin) to 1 + margin
  double confidence = 0.95;  ///< of each interval, and of all that is called slower or faster in a comparison together
  /// The relative standard deviation between process runs that is assumed if a side has too few runs to show it.
  double assumed_run_spread = 0.01;
  std::uint64_t seed = 1;  ///< of the resampling
};

/// With this number of process runs for each side, or more, the spread between them is estimated and not assumed.
inline constexpr std::size_t fewest_runs = 3;

/// Judges all cases of a comparison together. The more cases there are, the more evidence each verdict needs, so that
/// not five of a hundred unchanged cases are called slower by chance.
///
/// A process run counts by the median of its samples' logarithms. A pair of interleaved runs counts by the differences
/// of their rounds if these are known (difference_by_rounds()), or else by the difference of their medians. The ratio
/// is the mean of the pairs' differences, or the difference of the two sides' means where they were not interleaved.
/// How exact that is follows from two levels of resampling (Davison and Hinkley, Bootstrap Methods and their
/// Application, 1997, section 3.8): runs, and blocks of neighbouring samples within a run, since those depend on each
/// other. For a mean over runs the outer level has a closed form: their variance, with the correction n / (n - 1) for
/// few runs. It contains the variance of the inner level. So the inner level is a lower bound: runs that agree better
/// than their own samples allow do so by chance.
///
/// Three runs say little about their spread. But all cases of a comparison ran in the same processes on the same
/// machine. So each variance is moderated by those of the other cases (Smyth 2004, empirical Bayes, see
/// moderate_variances()), and the interval is Student's t with the degrees of freedom that this gives.
///
/// - `same`: the whole interval lies within the margin.
/// - `slower`, `faster`: a ratio of one is rejected with Holm's correction (A simple sequentially rejective multiple
///   test procedure, Scandinavian Journal of Statistics 6, 1979), and the ratio is beyond the margin. Holm bounds the
///   probability of even one false alarm, which a gate needs, however the cases depend on each other.
/// - `unclear`: everything else.
///
/// With fewer than `fewest_runs` runs on a side (or pairs) the variance of a run is the square of `assumed_run_spread`,
/// or the one that was seen if it is larger, plus the variance of the inner level. The interval is then that of the
/// normal distribution.
/// \return one judgement for each case, in order
/// \throws std::invalid_argument for a case without samples on a side (or, interleaved, without a run that both have),
/// for samples that are not finite and positive, and for options out of range
[[nodiscard]] std::vector<judgement> judge(std::span<const case_pair> cases, const judge_options& options);

}  // namespace prumo::bench
