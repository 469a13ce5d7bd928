// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/run_plan.hpp"
#include "statistics/run_values.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
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
  /// The probability of this evidence, or more, if the case had changed by the margin and not by more. It is corrected
  /// for all cases of the comparison and for all looks of its plan.
  double p_value = 1;
  verdict which = verdict::unclear;
  /// A one-sided test rules out that the case is slower by more than the margin.
  bool not_slower = false;
  /// A side had fewer than `fewest_runs` runs. The spread between runs is then `assumed_run_spread`, or the one that
  /// was seen if it is larger. The interval rests on that assumption, and there is no verdict.
  bool spread_assumed = false;
  /// The runs of this case jump between two values, which are this far apart (in natural logarithms). 0: not seen.
  double jump = 0;

  // What further_runs() needs.
  std::size_t runs_before = 0;
  std::size_t runs_after = 0;
  bool interleaved = false;
  double error = 0;            ///< standard error of the logarithm of `ratio`
  double degrees = 1;          ///< of freedom of `error`
  double cases_that_jump = 0;  ///< an upper estimate over the whole comparison
};

/// How verdicts are found.
struct judge_options {
  double margin = 0.03;      ///< differences up to this share do not matter: ratios from 1/(1 + margin) to 1 + margin
  double confidence = 0.95;  ///< of each interval, and of all that is called slower or faster in a comparison together
  /// The relative standard deviation between process runs that is assumed if a side has too few runs to show it.
  double assumed_run_spread = 0.01;
  std::uint64_t seed = 1;  ///< of the resampling
  run_plan plan = {};      ///< when the comparison is judged; by default once
};

/// Judges all cases of a comparison together. The more cases there are, the more evidence each verdict needs, so that
/// not five of a hundred unchanged cases are called slower by chance.
///
/// A process run counts by the median of its samples' logarithms. A pair of interleaved runs counts by the differences
/// of their rounds if these are known (difference_by_rounds()), or else by the difference of their medians. The ratio
/// is the mean of the pairs' differences, or the difference of the two sides' means where they were not interleaved.
///
/// How exact the ratio is follows from two levels of resampling (Davison and Hinkley, Bootstrap Methods and their
/// Application, 1997, section 3.8). The outer level resamples runs. The inner level resamples blocks of neighbouring
/// samples within a run, because neighbours depend on each other. For a mean over runs the outer level has a closed
/// form: the variance of the runs, with the correction n / (n - 1) for few of them. This variance contains that of the
/// inner level. Runs that agree better than their own samples allow do so by chance, so the inner level is a lower
/// bound. Where runs resemble the runs before them, the variance is multiplied by what estimate_dependence() finds.
///
/// Three runs say little about their spread. But all cases of a comparison ran in the same processes on the same
/// machine. So each variance is moderated by those of the other cases (Smyth 2004, empirical Bayes, see
/// moderate_variances()), and the interval is Student's t with the degrees of freedom that this gives. Cases that share
/// the chance of their process add fewer degrees (estimate_dependence()).
///
/// - `same`: the whole interval lies within the margin.
/// - `slower`, `faster`: the hypothesis that the case changed by the margin or less, in either direction, is rejected
///   (Hodges and Lehmann, Testing the approximate validity of statistical hypotheses, Journal of the Royal Statistical
///   Society B 16, 1954). With the estimate d, the margin M and the standard error s, the probability is
///   P(T > (|d| - M) / s) + P(T > (|d| + M) / s). The first term is the one-sided test of a ratio of at most 1 +
///   margin; the second one counts the errors in the other direction. Holm's correction (A simple sequentially
///   rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979) bounds the probability of even one
///   false verdict, which a gate needs, however the cases depend on each other.
/// - `unclear`: everything else.
///
/// A comparison that is judged after several numbers of runs (`judge_options::plan`) uses a share of the permitted
/// error at each look (error_share()). A case is judged with the share of its own number of runs.
///
/// Where runs of some cases jump between two values (find_jump()), other cases may do so too, and may by chance have
/// landed on one value with all runs of one side and on the other value with those of the other side. So no probability
/// is below the one that such a chance has (least_probability_of_jumps()), times the share of the cases that may jump:
/// twice as many as were seen. A jump counts if the variance of its case is outlying, or if more cases seem to jump
/// than chance explains (jumps_are_evident()).
///
/// With fewer than `fewest_runs` runs on a side (or pairs) the variance of a run is the square of `assumed_run_spread`,
/// or the one that was seen if it is larger, plus the variance of the inner level. The interval is then that of the
/// normal distribution, and the verdict is `unclear`.
/// \return one judgement for each case, in order
/// \throws std::invalid_argument for a case without samples on a side (or, interleaved, without a run that both have),
/// for samples that are not finite and positive, and for options out of range
[[nodiscard]] std::vector<judgement> judge(std::span<const case_pair> cases, const judge_options& options);

/// How many further process runs of each side would decide a case that is `unclear`, with a probability of about 80 %,
/// if its ratio and its spread stay as they were seen.
/// \param cases how many cases are judged together
/// \return absent if `most_further_runs` would not do
[[nodiscard]] std::optional<std::size_t> further_runs(const judgement& of, std::size_t cases,
                                                      const judge_options& options);

inline constexpr std::size_t most_further_runs = 30;

}  // namespace prumo::bench
