// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/verdict.hpp"

#include "statistics/distributions.hpp"
#include "statistics/moderation.hpp"
#include "statistics/run_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace prumo::bench {
namespace {

/// The mean of several values and what is known of the variance of one of them.
struct mean_estimate {
  double mean = 0;
  double count = 0;
  variance_estimate variance;
};

mean_estimate estimate_mean(std::span<const run_value> values) {
  mean_estimate found;
  found.count = static_cast<double>(values.size());
  double within = 0;
  for (const run_value& it : values) {
    found.mean += it.log_seconds / found.count;
    within += it.variance / found.count;
  }
  double seen = 0;
  for (const run_value& it : values) seen += (it.log_seconds - found.mean) * (it.log_seconds - found.mean);
  if (values.size() > 1) seen /= found.count - 1;
  found.variance = {std::max(seen, within), std::max(1.0, found.count - 1)};
  return found;
}

/// Replaces what so few values show of their spread. `runs` is how many runs one value is the difference of.
void assume_spread(mean_estimate& of, std::span<const run_value> values, double spread, double runs) {
  double within = 0;
  for (const run_value& it : values) within += it.variance / of.count;
  of.variance = {std::max(runs * spread * spread + within, of.variance.value), std::numeric_limits<double>::infinity()};
}

/// A case on its way to a judgement: the pairs' differences in `after` where it is interleaved, `before` being empty.
struct candidate {
  mean_estimate before;
  mean_estimate after;
  bool interleaved = false;
  bool assumed = false;
};

std::vector<run_value> values_of(const process_runs& runs, std::vector<run_value> values, const std::string& where,
                                 std::uint64_t seed) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].samples.empty()) continue;
    try {
      values.push_back(value_of_run(runs[i].samples, seed + i));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}, process run {}: {}", where, i + 1, error.what()));
    }
  }
  if (values.empty()) throw std::invalid_argument(where + ": no samples");
  return values;
}

/// Pairs of runs that both sides have.
std::pair<process_runs, process_runs> paired(const case_pair& one) {
  std::pair<process_runs, process_runs> pairs;
  for (std::size_t i = 0; i < std::min(one.before.size(), one.after.size()); ++i) {
    if (one.before[i].samples.empty() || one.after[i].samples.empty()) continue;
    pairs.first.push_back(one.before[i]);
    pairs.second.push_back(one.after[i]);
  }
  return pairs;
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
    const auto [before_runs, after_runs] = paired(one);
    if (before_runs.empty()) {
      throw std::invalid_argument(fmt::format("case {}: no process run has samples on both sides", place + 1));
    }
    const std::vector<run_value> before = values_of(before_runs, {}, before_name, seed);
    std::vector<run_value> differences = values_of(after_runs, {}, after_name, seed + other_side);
    for (std::size_t i = 0; i < differences.size(); ++i) {
      differences[i].log_seconds -= before[i].log_seconds;
      differences[i].variance += before[i].variance;
      if (const auto by_round = difference_by_rounds(before_runs[i], after_runs[i])) differences[i] = *by_round;
    }
    result.after = estimate_mean(differences);
    result.assumed = differences.size() < fewest_runs;
    if (result.assumed) assume_spread(result.after, differences, options.assumed_run_spread, 2);
    return result;
  }
  const std::vector<run_value> before = values_of(one.before, one.told_before, before_name, seed);
  const std::vector<run_value> after = values_of(one.after, one.told_after, after_name, seed + other_side);
  result.before = estimate_mean(before);
  result.after = estimate_mean(after);
  result.assumed = std::min(before.size(), after.size()) < fewest_runs;
  if (result.assumed) {
    assume_spread(result.before, before, options.assumed_run_spread, 1);
    assume_spread(result.after, after, options.assumed_run_spread, 1);
  }
  return result;
}

/// Moderates one variance of each candidate that `takes_part`.
template <typename TakesPart>
void moderate(std::vector<candidate>& candidates, mean_estimate candidate::* which, TakesPart takes_part) {
  std::vector<variance_estimate> variances;
  for (const candidate& it : candidates) {
    if (takes_part(it)) variances.push_back((it.*which).variance);
  }
  auto next = moderate_variances(variances);
  auto from = next.begin();
  for (candidate& it : candidates) {
    if (takes_part(it)) (it.*which).variance = *from++;
  }
}

/// Variance of the difference of the means, with Satterthwaite's degrees of freedom (Welch, Biometrika 34, 1947).
variance_estimate variance_of_difference(const candidate& of) {
  const double after = of.after.variance.value / of.after.count;
  if (of.interleaved) return {after, of.after.variance.degrees};
  const double before = of.before.variance.value / of.before.count;
  const double sum = before + after;
  const double spread = before * before / of.before.variance.degrees + after * after / of.after.variance.degrees;
  return {sum, spread > 0 ? sum * sum / spread : std::numeric_limits<double>::infinity()};
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
  moderate(candidates, &candidate::after, pairs);
  moderate(candidates, &candidate::before, sides);
  moderate(candidates, &candidate::after, sides);

  std::vector<judgement> judgements;
  judgements.reserve(cases.size());
  for (const candidate& it : candidates) {
    const double difference = it.after.mean - it.before.mean;
    const auto [variance, degrees] = variance_of_difference(it);
    const double error = std::sqrt(variance);
    const double reach = error > 0 ? error * student_quantile(options.confidence, degrees) : 0;
    judgement found;
    found.ratio = std::exp(difference);
    found.low = std::exp(difference - reach);
    found.high = std::exp(difference + reach);
    found.spread_assumed = it.assumed;
    if (difference != 0) found.p_value = error > 0 ? student_two_sided(difference / error, degrees) : 0;
    judgements.push_back(found);
  }
  adjust_by_holm(judgements);
  const double upper = 1 + options.margin;
  for (judgement& it : judgements) {
    const bool real = it.p_value <= 1 - options.confidence;
    if (it.low >= 1 / upper && it.high <= upper) {
      it.which = verdict::same;
    } else if (real && it.ratio > upper) {
      it.which = verdict::slower;
    } else if (real && it.ratio < 1 / upper) {
      it.which = verdict::faster;
    }
  }
  return judgements;
}

}  // namespace prumo::bench
