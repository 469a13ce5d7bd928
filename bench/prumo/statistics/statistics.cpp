// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace prumo::bench {
namespace {

std::vector<double> sorted_copy(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  if (!std::all_of(samples.begin(), samples.end(), [](double sample) { return std::isfinite(sample); })) {
    throw std::invalid_argument("statistics of a sample that is not finite");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double quantile_of_sorted(const std::vector<double>& sorted, double probability) {
  const double position = static_cast<double>(sorted.size() - 1) * probability;
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  // Not a + f (b - a): equal neighbours must give exactly their value.
  return sorted[below] == sorted[above] ? sorted[below] : sorted[below] * (1 - fraction) + sorted[above] * fraction;
}

}  // namespace

double quantile(std::span<const double> samples, double probability) {
  if (!(probability >= 0 && probability <= 1)) throw std::invalid_argument("a quantile's probability outside [0, 1]");
  return quantile_of_sorted(sorted_copy(samples), probability);
}

sample_summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  sample_summary summary;
  summary.count = sorted.size();
  summary.median = quantile_of_sorted(sorted, 0.5);
  summary.p25 = quantile_of_sorted(sorted, 0.25);
  summary.p75 = quantile_of_sorted(sorted, 0.75);
  summary.minimum = sorted.front();
  summary.maximum = sorted.back();
  if (summary.count >= 2 && summary.median != 0) {
    summary.relative_iqr = (summary.p75 - summary.p25) / std::abs(summary.median);
  }
  return summary;
}

double share_uncertainty(double share, double count) {
  constexpr double quantile_of_normal = 1.959963984540054;
  const double square = quantile_of_normal * quantile_of_normal / count;
  const double middle = (share + square / 2) / (1 + square);
  const double half = std::sqrt(square * (share * (1 - share) + square / 4)) / (1 + square);
  return half + std::abs(middle - share);
}

}  // namespace prumo::bench
