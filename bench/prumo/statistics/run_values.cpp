// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/run_values.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace prumo::bench {
namespace {

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014: the same numbers everywhere,
/// which the distributions of the standard library do not promise.
class split_mix {
 public:
  explicit split_mix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }

  /// Below `count`; its bias of count / 2^64 does not matter.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t state_;
};

/// The samples in order, and where each of them went.
struct ranking {
  std::vector<double> sorted;
  std::vector<std::size_t> rank;
};

ranking rank_samples(std::span<const double> samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t place) { return samples[place]; });
  ranking found{std::vector<double>(samples.size()), std::vector<std::size_t>(samples.size())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    found.sorted[i] = std::log(samples[order[i]]);
    found.rank[order[i]] = i;
  }
  return found;
}

/// The median of a resample that contains the sample of rank i `counts[i]` times.
double median_of_counts(const std::vector<double>& sorted, const std::vector<unsigned>& counts) {
  const std::size_t lower = (sorted.size() - 1) / 2;
  const std::size_t upper = sorted.size() / 2;
  std::size_t seen = 0;
  std::size_t place = 0;
  while (seen + counts[place] <= lower) seen += counts[place++];
  const double low = sorted[place];
  while (seen + counts[place] <= upper) seen += counts[place++];
  return low == sorted[place] ? low : (low + sorted[place]) / 2;
}

double variance_of_median(const ranking& ranks, std::uint64_t seed) {
  constexpr int resamples = 64;  // the variance is then known to some 18 %, and averaged over the runs
  const std::size_t count = ranks.rank.size();
  const auto block = static_cast<std::size_t>(std::max(1LL, std::llround(std::cbrt(static_cast<double>(count)))));
  split_mix random(seed);
  std::vector<unsigned> counts(count);
  double mean = 0;
  double squares = 0;
  for (int n = 1; n <= resamples; ++n) {
    std::ranges::fill(counts, 0U);
    for (std::size_t drawn = 0; drawn < count;) {
      std::size_t place = random.below(count);
      for (std::size_t i = 0; i < block && drawn < count; ++i, ++drawn) {
        ++counts[ranks.rank[place]];
        if (++place == count) place = 0;
      }
    }
    const double median = median_of_counts(ranks.sorted, counts);
    const double difference = median - mean;
    mean += difference / n;
    squares += difference * (median - mean);
  }
  return squares / (resamples - 1);
}

/// The medians of the logarithms of each round's samples; absent for a round that has none.
std::vector<std::optional<double>> round_medians(const process_run& run) {
  std::vector<std::optional<double>> medians;
  auto first = run.samples.begin();
  for (const std::size_t count : run.rounds) {
    if (count > static_cast<std::size_t>(run.samples.end() - first)) break;
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    if (count == 0) {
      medians.emplace_back();
    } else if (count == 1 && *first > 0 && std::isfinite(*first)) {
      medians.emplace_back(std::log(*first));
    } else {
      medians.emplace_back(std::log(summarize(std::span(first, last)).median));
    }
    first = last;
  }
  return medians;
}

}  // namespace

std::optional<run_value> difference_by_rounds(const process_run& before, const process_run& after) {
  const auto medians_before = round_medians(before);
  const auto medians_after = round_medians(after);
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(medians_before.size(), medians_after.size()); ++i) {
    if (medians_before[i] && medians_after[i]) differences.push_back(*medians_after[i] - *medians_before[i]);
  }
  const std::size_t count = differences.size();
  if (count < fewest_rounds) return {};
  std::ranges::sort(differences);
  const std::size_t cut = count / 4;
  const std::span<const double> kept(differences.data() + cut, count - 2 * cut);
  const double mean = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
  const auto of_cut = static_cast<double>(cut);
  const double winsorized_mean =
      (mean * static_cast<double>(kept.size()) + of_cut * (kept.front() + kept.back())) / static_cast<double>(count);
  const auto square = [&](double it) { return (it - winsorized_mean) * (it - winsorized_mean); };
  double squares = of_cut * (square(kept.front()) + square(kept.back()));
  for (const double it : kept) squares += square(it);
  const auto of_kept = static_cast<double>(kept.size());
  return run_value{mean, squares / (of_kept * (of_kept - 1))};
}

run_value value_of_run(std::span<const double> samples, std::uint64_t seed) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  for (const double it : samples) {
    if (!(it > 0) || !std::isfinite(it)) throw std::invalid_argument(fmt::format("a sample of {} s is no time", it));
  }
  const ranking ranks = rank_samples(samples);
  run_value value;
  const double low = ranks.sorted[(samples.size() - 1) / 2];
  const double high = ranks.sorted[samples.size() / 2];
  value.log_seconds = low == high ? low : (low + high) / 2;
  if (samples.size() > 1) value.variance = variance_of_median(ranks, seed);
  return value;
}

run_value value_of_moments(double mean, double standard_deviation, std::size_t count) {
  if (!(std::isfinite(mean) && mean > 0)) throw std::invalid_argument("a mean that is not finite and positive");
  if (!(std::isfinite(standard_deviation) && standard_deviation >= 0)) {
    throw std::invalid_argument("a standard deviation that is not finite or is negative");
  }
  if (count == 0) throw std::invalid_argument("the mean of no samples");
  const double relative = standard_deviation / mean;
  return {std::log(mean), relative * relative / static_cast<double>(count)};
}

}  // namespace prumo::bench
