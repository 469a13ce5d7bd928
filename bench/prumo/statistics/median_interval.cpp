// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/median_interval.hpp"

#include "statistics/statistics.hpp"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace prumo::bench {
namespace {

/// The probability that the median lies between order statistics number `rank` from below and from above, of `count`.
double coverage(std::size_t rank, std::size_t count) {
  const boost::math::binomial_distribution<double> below(static_cast<double>(count), 0.5);
  return 1 - 2 * boost::math::cdf(below, static_cast<double>(rank) - 1);
}

}  // namespace

std::optional<median_interval> interval_of_median(std::span<const double> values, double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw std::invalid_argument("a confidence outside of (0, 1)");
  std::vector<double> sorted(values.begin(), values.end());
  if (!std::ranges::all_of(sorted, [](double it) { return std::isfinite(it); })) {
    throw std::invalid_argument("the interval of a value that is not finite");
  }
  std::ranges::sort(sorted);
  const std::size_t count = sorted.size();
  if (count < 2 || coverage(1, count) < confidence) return std::nullopt;
  // The innermost pair that covers enough; the next pair inwards, if there is one, covers too little.
  std::size_t rank = 1;
  while (2 * (rank + 1) <= count && coverage(rank + 1, count) >= confidence) ++rank;
  median_interval found{sorted[rank - 1], sorted[count - rank]};
  if (2 * (rank + 1) > count) return found;
  const double outer = coverage(rank, count);
  const double inner = coverage(rank + 1, count);
  const double part = (outer - confidence) / (outer - inner);
  const auto n = static_cast<double>(count);
  const auto k = static_cast<double>(rank);
  const double inwards = (n - k) * part / (k + (n - 2 * k) * part);
  found.low += inwards * (sorted[rank] - found.low);
  found.high += inwards * (sorted[count - rank - 1] - found.high);
  return found;
}

std::vector<double> medians_of_rounds(std::span<const double> samples, std::span<const std::size_t> rounds) {
  std::vector<double> medians;
  std::size_t first = 0;
  for (const std::size_t count : rounds) {
    if (count > samples.size() - first) break;
    if (count > 0) medians.push_back(summarize(samples.subspan(first, count)).median);
    first += count;
  }
  return medians;
}

std::optional<median_interval> interval_by_rounds(std::span<const double> samples,
                                                  std::span<const std::size_t> rounds) {
  return interval_of_median(medians_of_rounds(samples, rounds));
}

}  // namespace prumo::bench
