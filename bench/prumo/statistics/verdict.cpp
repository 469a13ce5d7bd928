// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/verdict.hpp"

#include "statistics/candidates.hpp"
#include "statistics/distributions.hpp"
#include "statistics/jumps.hpp"

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
  for (std::size_t i = 0; i < cases.size(); ++i) candidates.push_back(make_candidate(cases[i], i, options));
  moderate_candidates(candidates);

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
