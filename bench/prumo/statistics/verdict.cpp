// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/verdict.hpp"

#include "statistics/distributions.hpp"
#include "statistics/jumps.hpp"
#include "statistics/moderation.hpp"
#include "statistics/run_dependence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace prumo::bench {
namespace {

/// The values of a case's runs, by run; absent where a run gave none.
using numbered_values = std::vector<std::optional<run_value>>;

/// The mean of several values and what is known of the variance of one of them.
struct mean_estimate {
  double mean = 0;
  std::size_t count = 0;
  variance_estimate variance;
  double within = 0;  ///< the variance of one value by its samples alone
  double jump = 0;    ///< between which the values jump; 0: they do not
};

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

/// A case on its way to a judgement: the pairs' differences in `after` where it is interleaved, `before` being empty.
struct candidate {
  numbered_values values_before;
  numbered_values values_after;
  mean_estimate before;
  mean_estimate after;
  bool interleaved = false;
  bool assumed = false;
};

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

candidate prepare(const case_pair& one, std::size_t place, const judge_options& options) {
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
void moderate(std::vector<candidate>& candidates, one_side which, TakesPart takes_part) {
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

double jump_of(const candidate& of) { return std::max(of.before.jump, of.after.jump); }

/// Variance of the difference of the means, with Satterthwaite's degrees of freedom (Welch, Biometrika 34, 1947).
variance_estimate variance_of_difference(const candidate& of) {
  const double after = of.after.variance.value / static_cast<double>(of.after.count);
  if (of.interleaved) return {after, of.after.variance.degrees};
  const double before = of.before.variance.value / static_cast<double>(of.before.count);
  const double sum = before + after;
  const double spread = before * before / of.before.variance.degrees + after * after / of.after.variance.degrees;
  return {sum, spread > 0 ? sum * sum / spread : std::numeric_limits<double>::infinity()};
}

/// P(T > distance / error), also where there is no error.
double upper_tail(double distance, double error, double degrees) {
  if (error > 0) return student_upper(distance / error, degrees);
  return distance > 0 ? 0 : 1;
}

/// The probability of an estimate at least this far from zero, at worst, if the truth is not beyond the margin.
double probability_within_margin(double difference, double margin, double error, double degrees) {
  const double distance = std::abs(difference);
  return std::min(1.0, upper_tail(distance - margin, error, degrees) + upper_tail(distance + margin, error, degrees));
}

std::size_t runs_of(const judgement& it) { return std::min(it.runs_before, it.runs_after); }

/// The error that a judgement after this many runs may have.
double level_of(const judge_options& options, std::size_t runs) {
  return (1 - options.confidence) * error_share(options.plan, runs);
}

/// The least probability of a verdict by one side where cases jump, before Holm's correction for all `cases`.
double least_probability(const judgement& of, std::size_t further, std::size_t cases) {
  if (!(of.cases_that_jump > 0)) return 0;
  const double share = std::min(1.0, of.cases_that_jump / static_cast<double>(cases));
  return share * least_probability_of_jumps(of.runs_before + further, of.runs_after + further, of.interleaved);
}

judgement judge_alone(const candidate& of, double cases_that_jump, std::size_t cases, const judge_options& options) {
  const double difference = of.after.mean - of.before.mean;
  const auto [variance, degrees, outlying] = variance_of_difference(of);
  judgement found;
  found.interleaved = of.interleaved;
  found.runs_before = of.interleaved ? of.after.count : of.before.count;
  found.runs_after = of.after.count;
  found.error = std::sqrt(variance);
  found.degrees = degrees;
  found.cases_that_jump = cases_that_jump;
  found.spread_assumed = of.assumed;
  found.jump = jump_of(of);
  const double level = level_of(options, runs_of(found));
  const double reach = found.error > 0 ? found.error * student_quantile(1 - level, degrees) : 0;
  found.ratio = std::exp(difference);
  found.low = std::exp(difference - reach);
  found.high = std::exp(difference + reach);
  if (of.assumed) return found;
  const double margin = std::log1p(options.margin);
  const double least = least_probability(found, 0, cases);
  const double alone = probability_within_margin(difference, margin, found.error, degrees);
  found.p_value = std::min(1.0, std::max(alone, 2 * least) / error_share(options.plan, runs_of(found)));
  found.not_slower = std::max(least, upper_tail(margin - difference, found.error, degrees)) <= level;
  if (difference == margin && found.error == 0) found.not_slower = true;
  return found;
}

/// Holm's adjusted probabilities, in place.
void adjust_by_holm(std::vector<judgement>& judgements) {
  std::vector<judgement*> order;
  for (judgement& it : judgements) order.push_back(&it);
  std::ranges::stable_sort(order, {}, [](const judgement* it) { return it->p_value; });
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, order[rank]->p_value * static_cast<double>(order.size() - rank));
    order[rank]->p_value = std::min(1.0, least);
  }
}

void check(const judge_options& options) {
  if (!(options.margin >= 0 && std::isfinite(options.margin))) {
    throw std::invalid_argument(fmt::format("the margin {} is not a share from 0 on", options.margin));
  }
  if (!(options.confidence > 0 && options.confidence < 1)) {
    throw std::invalid_argument(fmt::format("the confidence {} is not between 0 and 1", options.confidence));
  }
  if (!(options.assumed_run_spread >= 0 && std::isfinite(options.assumed_run_spread))) {
    throw std::invalid_argument(
        fmt::format("the spread between runs {} is not a share from 0 on", options.assumed_run_spread));
  }
}

}  // namespace

std::string_view to_string(verdict which) {
  switch (which) {
    case verdict::same: return "same";
    case verdict::faster: return "faster";
    case verdict::slower: return "slower";
    case verdict::unclear: break;
  }
  return "unclear";
}

std::vector<judgement> judge(std::span<const case_pair> cases, const judge_options& options) {
  check(options);
  std::vector<candidate> candidates;
  candidates.reserve(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) candidates.push_back(prepare(cases[i], i, options));
  const auto pairs = [](const candidate& it) { return it.interleaved && !it.assumed; };
  const auto sides = [](const candidate& it) { return !it.interleaved && !it.assumed; };
  const one_side before{&candidate::before, &candidate::values_before};
  const one_side after{&candidate::after, &candidate::values_after};
  moderate(candidates, after, pairs);
  moderate(candidates, before, sides);
  moderate(candidates, after, sides);

  const auto seen = std::ranges::count_if(candidates, [](const candidate& it) { return jump_of(it) > 0; });
  const double cases_that_jump = 2 * static_cast<double>(seen);
  std::vector<judgement> judgements;
  judgements.reserve(cases.size());
  for (const candidate& it : candidates) {
    judgements.push_back(judge_alone(it, cases_that_jump, cases.size(), options));
  }
  adjust_by_holm(judgements);
  const double upper = 1 + options.margin;
  for (judgement& it : judgements) {
    if (it.spread_assumed) continue;
    const bool real = it.p_value <= 1 - options.confidence;
    const bool can_be_same = least_probability(it, 0, cases.size()) <= level_of(options, runs_of(it)) / 2;
    if (it.low >= 1 / upper && it.high <= upper && can_be_same) {
      it.which = verdict::same;
    } else if (real && it.ratio > upper) {
      it.which = verdict::slower;
    } else if (real && it.ratio < 1 / upper) {
      it.which = verdict::faster;
    }
  }
  return judgements;
}

std::optional<std::size_t> further_runs(const judgement& of, std::size_t cases, const judge_options& options) {
  const std::size_t runs = runs_of(of);
  if (of.spread_assumed) return fewest_runs - std::min(runs, fewest_runs - 1);
  constexpr double usual_power = 0.84;  // standard errors that chance stays within 80 times of 100
  const double margin = std::log1p(options.margin);
  const double distance = std::abs(std::log(of.ratio));
  const auto count = static_cast<double>(runs);
  for (std::size_t further = 1; further <= most_further_runs; ++further) {
    const auto more = static_cast<double>(runs + further);
    const double error = of.error * std::sqrt(count / more);
    const double degrees = of.degrees * (more - 1) / (count - 1);
    const double level = level_of(options, runs + further);
    const double least = least_probability(of, further, cases);
    const bool is_beyond = distance > margin;
    const double level_of_case = is_beyond ? level / static_cast<double>(cases) : level / 2;
    if (least * (is_beyond ? 2 : 1) > level_of_case) continue;
    if (std::abs(distance - margin) >= error * (student_quantile(1 - 2 * level_of_case, degrees) + usual_power)) {
      return further;
    }
  }
  return {};
}

}  // namespace prumo::bench
