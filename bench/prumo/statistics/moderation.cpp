// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/moderation.hpp"

#include "statistics/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace prumo::bench {
namespace {

struct prior {
  double variance = 0;
  double degrees = 0;  ///< zero: there is none
};

/// The median of the variances, each over the median of chi-squared over its degrees (Wilson and Hilferty 1931), which
/// a few large ones do not move.
double typical_variance(std::span<const variance_estimate> variances) {
  std::vector<double> scaled;
  for (const variance_estimate& it : variances) {
    const double root = 1 - 2 / (9 * it.degrees);
    scaled.push_back(it.value / (root * root * root));
  }
  const auto middle = scaled.begin() + static_cast<std::ptrdiff_t>(scaled.size() / 2);
  std::nth_element(scaled.begin(), middle, scaled.end());
  return *middle;
}

/// Which variances are too large to be of the same kind as the others.
std::vector<bool> find_outliers(std::span<const variance_estimate> variances, double typical) {
  constexpr double level = 0.01;
  const auto count = static_cast<double>(variances.size());
  // The scale is an estimate as well. It has the degrees of half of the cases: that is the median's efficiency.
  double degrees = 0;
  for (const variance_estimate& it : variances) degrees += it.degrees / 2;
  std::vector<bool> outlier(variances.size(), false);
  std::vector<std::pair<double, std::size_t>> tails;
  tails.reserve(variances.size());
  for (std::size_t i = 0; i < variances.size(); ++i) {
    tails.emplace_back(fisher_upper(variances[i].value / typical, variances[i].degrees, degrees), i);
  }
  std::ranges::sort(tails);
  for (std::size_t rank = 0; rank < tails.size(); ++rank) {
    if (tails[rank].first * (count - static_cast<double>(rank)) > level) break;
    outlier[tails[rank].second] = true;
  }
  return outlier;
}

/// Moments of log s^2, as Smyth 2004 section 6.2 has them.
prior fit_prior(std::span<const variance_estimate> variances, const std::vector<bool>& outlier, double typical) {
  constexpr double least_share = 1e-5;  // of what is typical: times that are equal by chance have no logarithm
  std::vector<double> logs;
  double expected = 0;
  double squares = 0;
  double degrees = 0;
  for (std::size_t i = 0; i < variances.size(); ++i) {
    if (outlier[i]) continue;
    const double half = variances[i].degrees / 2;
    logs.push_back(std::log(std::max(variances[i].value, least_share * typical)) - digamma(half) + std::log(half));
    expected += trigamma(half);
    squares += variances[i].value * variances[i].degrees;
    degrees += variances[i].degrees;
  }
  if (logs.size() < 2) return {};
  const auto count = static_cast<double>(logs.size());
  double mean = 0;
  for (const double it : logs) mean += it / count;
  double excess = -expected / count;
  for (const double it : logs) excess += (it - mean) * (it - mean) / (count - 1);
  // They differ no more than estimates of one variance do, whose best estimate is their mean.
  if (excess <= 0) return {squares / degrees, std::numeric_limits<double>::infinity()};
  const double half = inverse_trigamma(excess);
  return {std::exp(mean + digamma(half) - std::log(half)), 2 * half};
}

}  // namespace

std::vector<variance_estimate> moderate_variances(std::span<const variance_estimate> variances, double between_cases) {
  std::vector<variance_estimate> moderated(variances.begin(), variances.end());
  if (variances.size() < 2) return moderated;
  const double typical = typical_variance(variances);
  if (!(typical > 0)) return moderated;
  const std::vector<bool> outlier = find_outliers(variances, typical);
  const prior common = fit_prior(variances, outlier, typical);
  if (!(common.degrees > 0)) return moderated;
  double pooled_degrees = 0;
  double pooled_cases = 0;
  for (std::size_t i = 0; i < variances.size(); ++i) {
    if (outlier[i]) continue;
    pooled_degrees += variances[i].degrees;
    ++pooled_cases;
  }
  pooled_degrees /= 1 + (pooled_cases - 1) * between_cases * between_cases;
  for (std::size_t i = 0; i < variances.size(); ++i) {
    moderated[i].outlying = outlier[i];
    if (outlier[i]) continue;
    variance_estimate& it = moderated[i];
    it.value = std::isinf(common.degrees)
                   ? common.variance
                   : (common.degrees * common.variance + it.degrees * it.value) / (common.degrees + it.degrees);
    // The prior is an estimate itself, no better than all degrees together.
    it.degrees = 1 / (1 / (common.degrees + it.degrees) + 1 / pooled_degrees);
  }
  return moderated;
}

}  // namespace prumo::bench
