// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace prumo::bench {

/// What one case measured, by process run; absent where a run gave nothing.
using run_series = std::vector<std::optional<double>>;

/// How the process runs of a comparison depend on each other.
struct run_dependence {
  /// The correlation of the cases of one process run, from 0 to 1, and rather too large than too small.
  double between_cases = 0;
  /// By how much the variance of a mean over runs exceeds what independent runs of the same spread would have. Above
  /// one where a run resembles the run before it, and one where that is not evident.
  double variance_factor = 1;
};

/// Estimates how runs depend on each other, from all cases together. Each case counts by its deviations from its own
/// mean, over a standard deviation, so that noisy cases do not count more than others.
///
/// If chance affects all cases of a process alike, their deviations agree. The correlation follows from the variance of
/// the runs' means over the cases. Few runs tell little about that variance, so its upper confidence bound of 60 % is
/// taken. Of many variances that are pooled, those of correlated cases count by the design effect 1 + (m - 1) rho^2,
/// because the variances of two normal variables with the correlation rho have the correlation rho^2.
///
/// A run that resembles the one before it is found by the products of neighbouring deviations over the squares, summed
/// over the cases. It counts if independent runs would show it in one of twenty comparisons only. For independent runs
/// the mean and the variance of this ratio follow from the traces of its quadratic forms. The factor is then that of an
/// autoregressive process of first order that has the ratio which was seen.
/// \param variances of one run of each case, for the second part; they should be moderated
[[nodiscard]] run_dependence estimate_dependence(std::span<const run_series> cases, std::span<const double> variances);

}  // namespace prumo::bench
