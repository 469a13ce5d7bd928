// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/candidates.hpp"

#include "statistics/jumps.hpp"
#include "statistics/run_dependence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace prumo::bench {
namespace {

mean_estimate estimate_mean(const numbered_values& values) {
  mean_estimate found;
  for (const auto& it : values) found.count += it ? 1 : 0;
  const auto count = static_cast<double>(found.count);
  for (const auto& it : values) {
    if (!it) continue;
    found.mean += it->log_seconds / count;
    found.within += it->variance / count;
  }
  double seen = 0;
  for (const auto& it : values) seen += it ? (it->log_seconds - found.mean) * (it->log_seconds - found.mean) : 0;
  if (found.count > 1) seen /= count - 1;
  found.variance = {std::max(seen, found.within), std::max(1.0, count - 1)};
  return found;
}

/// Replaces what so few values show of their spread. `runs` is how many runs one value is the difference of.
void assume_spread(mean_estimate& of, double spread, double runs) {
  of.variance = {std::max(runs * spread * spread + of.within, of.variance.value),
                 std::numeric_limits<double>::infinity()};
}

run_value value_of(const process_run& run, std::size_t number, const std::string& where, std::uint64_t seed) {
  try {
    return value_of_run(run.samples, seed + number);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}, process run {}: {}", where, number + 1, error.what()));
  }
}

numbered_values values_of(const process_runs& runs, const std::vector<run_value>& told, const std::string& where,
                          std::uint64_t seed) {
  numbered_values values(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].samples.empty()) values[i] = value_of(runs[i], i, where, seed);
  }
  values.insert(values.end(), told.begin(), told.end());
  if (std::ranges::none_of(values, [](const auto& it) { return it.has_value(); })) {
    throw std::invalid_argument(where + ": no samples");
  }
  return values;
}

}  // namespace

candidate make_candidate(const case_pair& one, std::size_t place, const judge_options& options) {
  const std::string before_name = fmt::format("case {}, before", place + 1);
  const std::string after_name = fmt::format("case {}, after", place + 1);
  // Each case has its own numbers, so that what is compared beside it does not change its interval's inner level.
  const std::uint64_t seed = options.seed + (std::uint64_t{place} << 24U);
  constexpr std::uint64_t other_side = 1U << 23U;
  candidate result;
  result.interleaved = one.interleaved;
  if (one.interleaved) {
    result.values_after.resize(std::min(one.before.size(), one.after.size()));
    for (std::size_t i = 0; i < result.values_after.size(); ++i) {
      if (one.before[i].samples.empty() || one.after[i].samples.empty()) continue;
      result.values_after[i] = difference_by_rounds(one.before[i], one.after[i]);
      if (result.values_after[i]) continue;
      const run_value before = value_of(one.before[i], i, before_name, seed);
      const run_value after = value_of(one.after[i], i, after_name, seed + other_side);
      result.values_after[i] = {after.log_seconds - before.log_seconds, after.variance + before.variance};
    }
    result.after = estimate_mean(result.values_after);
    if (result.after.count == 0) {
      throw std::invalid_argument(fmt::format("case {}: no process run has samples on both sides", place + 1));
    }
    result.assumed = result.after.count < fewest_runs;
    if (result.assumed) assume_spread(result.after, options.assumed_run_spread, 2);
    return result;
  }
  result.values_before = values_of(one.before, one.told_before, before_name, seed);
  result.values_after = values_of(one.after, one.told_after, after_name, seed + other_side);
  result.before = estimate_mean(result.values_before);
  result.after = estimate_mean(result.values_after);
  result.assumed = std::min(result.before.count, result.after.count) < fewest_runs;
  if (result.assumed) {
    assume_spread(result.before, options.assumed_run_spread, 1);
    assume_spread(result.after, options.assumed_run_spread, 1);
  }
  return result;
}

namespace {

run_series series_of(const numbered_values& values) {
  run_series series;
  for (const auto& it : values) series.push_back(it ? std::optional(it->log_seconds) : std::nullopt);
  return series;
}

/// A mean of each candidate, and the values that it is the mean of.
struct one_side {
  mean_estimate candidate::* mean;
  numbered_values candidate::* values;
};

/// Keeps the jumps of those whose variance is outlying, or of all if more jump than chance explains.
void find_jumps(const std::vector<candidate*>& candidates, one_side which, double between_cases) {
  std::vector<jump_sight> sights;
  for (candidate* it : candidates) {
    mean_estimate& mean = it->*which.mean;
    std::vector<double> logs;
    for (const auto& value : it->*which.values) {
      if (value) logs.push_back(value->log_seconds);
    }
    mean.jump = find_jump(logs).value_or(0);
    sights.push_back({logs.size(), mean.jump > 0});
  }
  if (jumps_are_evident(sights, between_cases)) return;
  for (candidate* it : candidates) {
    mean_estimate& mean = it->*which.mean;
    if (!mean.variance.outlying) mean.jump = 0;
  }
}

/// Moderates one variance of each candidate that `takes_part`, and lets all tell how the runs depend on each other.
template <typename TakesPart>
void moderate(std::span<candidate> candidates, one_side which, TakesPart takes_part) {
  std::vector<candidate*> chosen;
  std::vector<variance_estimate> variances;
  std::vector<run_series> all_series;
  for (candidate& it : candidates) {
    if (!takes_part(it)) continue;
    chosen.push_back(&it);
    variances.push_back((it.*which.mean).variance);
    all_series.push_back(series_of(it.*which.values));
  }
  std::vector<double> known;
  for (const variance_estimate& it : moderate_variances(variances)) known.push_back(it.value);
  const run_dependence dependence = estimate_dependence(all_series, known);
  const auto next = moderate_variances(variances, dependence.between_cases);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    variance_estimate& variance = (chosen[i]->*which.mean).variance;
    variance = next[i];
    variance.value *= dependence.variance_factor;
  }
  find_jumps(chosen, which, dependence.between_cases);
}

}  // namespace

void moderate_candidates(std::span<candidate> candidates) {
  const auto pairs = [](const candidate& it) { return it.interleaved && !it.assumed; };
  const auto sides = [](const candidate& it) { return !it.interleaved && !it.assumed; };
  const one_side before{&candidate::before, &candidate::values_before};
  const one_side after{&candidate::after, &candidate::values_after};
  moderate(candidates, after, pairs);
  moderate(candidates, before, sides);
  moderate(candidates, after, sides);
}

}  // namespace prumo::bench
