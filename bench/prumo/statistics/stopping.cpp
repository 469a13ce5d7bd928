// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/stopping.hpp"

#include "statistics/median_interval.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace prumo::bench {

namespace {

/// Pairs of values are compared, so of very many rounds evenly spread ones are taken.
std::vector<double> evenly_spread(std::span<const double> values) {
  constexpr std::size_t most = 256;
  const std::size_t step = (values.size() + most - 1) / most;
  std::vector<double> chosen;
  for (std::size_t i = 0; i < values.size(); i += step) chosen.push_back(values[i]);
  return chosen;
}

double median_distance_of_pairs(std::span<const double> all) {
  const std::vector<double> values = evenly_spread(all);
  std::vector<double> distances;
  distances.reserve(values.size() * values.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) distances.push_back(std::abs(values[i] - values[j]));
  }
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return *middle;
}

/// How many standard deviations the pairs in which the later value is larger are from one half of all pairs.
double mann_statistic(std::span<const double> all) {
  const std::vector<double> values = evenly_spread(all);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) sum += values[i] > values[j] ? 1 : values[i] < values[j] ? -1 : 0;
  }
  const auto n = static_cast<double>(values.size());
  return sum / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

double difference_of_halves(std::span<const double> values) {
  return std::abs(summarize(values.last(values.size() / 2)).median - summarize(values.first(values.size() / 2)).median);
}

/// Whether the spread of the first values stays what it is while the later half of them is added.
bool keeps_its_spread(std::span<const double> values) {
  constexpr std::size_t steps = 8;
  constexpr double most_change = 0.05;
  std::array<double, steps + 1> spreads{};
  double mean = 0;
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const std::size_t half = values.size() / 2;
    spreads.at(i) = median_distance_of_pairs(values.first(half + (values.size() - half) * i / steps));
    mean += spreads.at(i) / static_cast<double>(spreads.size());
  }
  double squares = 0;
  for (const double it : spreads) squares += (it - mean) * (it - mean);
  return std::sqrt(squares / steps) <= most_change * mean;
}

/// Whether this is the number of rounds of a look, of which the first is at `first` rounds.
bool is_look(std::size_t rounds, std::size_t first) {
  std::size_t look = first;
  while (look < rounds) look += std::max<std::size_t>(1, look / 8);
  return look == rounds;
}

}  // namespace

std::string_view to_string(stop_reason reason) {
  switch (reason) {
    case stop_reason::settled: return "settled";
    case stop_reason::steady: return "steady";
    case stop_reason::budget: break;
  }
  return "budget";
}

bool is_measured_enough(std::span<const double> samples, std::span<const std::size_t> rounds, double measured_seconds,
                        const stopping_rule& rule) {
  if (samples.size() < rule.minimum_samples || measured_seconds < rule.minimum_seconds) return false;
  const std::vector<double> medians = medians_of_rounds(samples, rounds);
  if (medians.size() < rule.minimum_rounds) return false;
  const std::optional<median_interval> interval = interval_of_median(medians);
  const double median = summarize(samples).median;
  if (!interval || !(median > 0) || interval->high - interval->low > 2 * rule.target_noise * median) return false;
  return difference_of_halves(medians) <= 2 * rule.target_noise * median;
}

std::optional<steady_noise> find_steady_noise(std::span<const double> samples, std::span<const std::size_t> rounds,
                                              double measured_seconds, const stopping_rule& rule) {
  if (samples.size() < rule.minimum_samples || measured_seconds < rule.minimum_seconds) return std::nullopt;
  const std::vector<double> medians = medians_of_rounds(samples, rounds);
  if (!is_look(medians.size(), 2 * std::max(rule.minimum_rounds, fewest_rounds))) return std::nullopt;
  const std::optional<median_interval> interval = interval_of_median(medians);
  const double median = summarize(samples).median;
  if (!interval || !(median > 0)) return std::nullopt;
  const double half_width = (interval->high - interval->low) / 2;
  // Chance alone goes beyond it in one of three cases. To miss a trend is worse than to wait for the next look.
  constexpr double most_deviations = 1;
  if (difference_of_halves(medians) > 2 * half_width) return std::nullopt;
  if (std::abs(mann_statistic(medians)) > most_deviations) return std::nullopt;
  if (!keeps_its_spread(medians)) return std::nullopt;
  return steady_noise{medians.size(), half_width / median};
}

bool is_out_of_reach(const steady_noise& noise, double further_rounds, double target_noise) {
  const auto rounds = static_cast<double>(noise.rounds);
  const double shrinks = std::sqrt((rounds + std::max(0.0, further_rounds)) / rounds);
  return shrinks <= most_widening && noise.half_width / shrinks > target_noise;
}

double standard_noise_target(std::string_view backend) {
  // Those whose own clock times them; peers name their devices after themselves.
  constexpr std::array<std::string_view, 6> timed_by_device{"cuda", "hip", "sycl", "torch-cuda", "torch-mps", "cupy"};
  return std::ranges::find(timed_by_device, backend) != timed_by_device.end() ? 0.005 : 0.02;
}

double rounds_of_a_share(std::size_t runs) { return runs > 1 ? 60 : 20; }

pace choose_pace(double share_seconds, double rounds) {
  constexpr double longest_settle = 0.5;
  constexpr double shortest_slice = 0.01;
  constexpr double longest_slice = 0.1;
  pace chosen;
  chosen.slice_seconds = std::clamp(share_seconds / rounds, shortest_slice, longest_slice);
  chosen.settle_seconds = std::clamp(share_seconds / 10, 0.0, longest_settle);
  return chosen;
}

bool can_discard_settling(double elapsed_seconds, double asked_seconds) {
  constexpr double calibration = 0.02;  // of short calls: some milliseconds on a quiet machine
  return elapsed_seconds < 2 * asked_seconds + calibration;
}

std::size_t first_of_round(std::size_t round, std::size_t count) { return count == 0 ? 0 : round % count; }

}  // namespace prumo::bench
