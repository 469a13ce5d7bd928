// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/verdict.hpp"

#include "statistics/distributions.hpp"
#include "statistics/gate.hpp"
#include "statistics/jumps.hpp"
#include "statistics/moderation.hpp"
#include "statistics/run_dependence.hpp"
#include "statistics/run_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using ::testing::HasSubstr;

/// Runs of a single sample each, by the logarithms of their times.
process_runs runs_of(const std::vector<double>& logs) {
  process_runs runs;
  for (const double it : logs) runs.push_back({std::exp(it)});
  return runs;
}

judgement judge_one(const case_pair& one, const judge_options& options = {}) {
  return judge(std::vector{one}, options).at(0);
}

TEST(verdict, pairs_give_the_interval_of_students_t) {
  // Differences 1, 2 and 3 %: mean 0.02, standard deviation 0.01, two degrees of freedom. What both sides share, here a
  // drift by half, is of no effect.
  const judgement found = judge_one({runs_of({0, 0.5, -0.5}), runs_of({0.01, 0.52, -0.47}), true});
  const double reach = 4.302652729911275 * 0.01 / std::sqrt(3.0);
  EXPECT_NEAR(std::log(found.ratio), 0.02, 1e-12);
  EXPECT_NEAR(std::log(found.low), 0.02 - reach, 1e-10);
  EXPECT_NEAR(std::log(found.high), 0.02 + reach, 1e-10);
  // Both tails, from the margin on either side: P(T > t) = (1 - t / sqrt(t^2 + 2)) / 2 with two degrees.
  const auto tail = [](double t) { return (1 - t / std::sqrt(t * t + 2)) / 2; };
  const double error = 0.01 / std::sqrt(3.0);
  const double margin = std::log(1.03);
  EXPECT_NEAR(found.p_value, tail((0.02 - margin) / error) + tail((0.02 + margin) / error), 1e-10);
  EXPECT_EQ(found.which, verdict::unclear);
  EXPECT_FALSE(found.spread_assumed);
}

/// A run of rounds of one sample each, by the logarithms of their times.
process_run run_of_rounds(const std::vector<double>& logs) {
  std::vector<double> samples;
  samples.reserve(logs.size());
  for (const double it : logs) samples.push_back(std::exp(it));
  return process_run(samples, std::vector<std::size_t>(logs.size(), 1));
}

TEST(difference_by_rounds, is_the_interquartile_mean_with_its_winsorized_variance) {
  const process_run before = run_of_rounds({0, 1, 2, 3, 4, 5, 6, 7});
  const process_run after = run_of_rounds({0.01, 1.02, 2.03, 3.04, 4.05, 5.06, 6.07, 17});
  const auto found = difference_by_rounds(before, after);
  ASSERT_TRUE(found);
  // Kept are 3, 4, 5 and 6 %; winsorized they are 3, 3, 3, 4, 5, 6, 6, 6 %, whose mean is 4.5 %.
  EXPECT_NEAR(found->log_seconds, 0.045, 1e-12);
  EXPECT_NEAR(found->variance, (6 * 0.015 * 0.015 + 2 * 0.005 * 0.005) / (4 * 3), 1e-12);
}

TEST(difference_by_rounds, leaves_out_rounds_that_one_side_missed) {
  process_run before = run_of_rounds(std::vector<double>(9, 0));
  process_run after = run_of_rounds(std::vector<double>(9, 0.05));
  before.rounds[2] = 0;
  before.samples.pop_back();
  after.samples.push_back(std::exp(9));  // of no round
  const auto found = difference_by_rounds(before, after);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->log_seconds, 0.05, 1e-12);
  after.rounds[5] = 0;
  after.samples.pop_back();
  EXPECT_FALSE(difference_by_rounds(before, after)) << "seven rounds tell too little";
  before.rounds.clear();
  EXPECT_FALSE(difference_by_rounds(before, after));
}

TEST(verdict, a_machine_that_changes_from_round_to_round_hides_nothing) {
  // Its speed doubles and halves again; after is 5 % slower in each round. By medians of whole runs this would be lost.
  case_pair one;
  one.interleaved = true;
  for (int run = 0; run < 3; ++run) {
    std::vector<double> before;
    std::vector<double> after;
    for (int round = 0; round < 16; ++round) {
      const double speed = round * (run + 1) % 5 < 2 ? std::log(2.0) : 0;
      before.push_back(speed + 0.001 * (round % 3));
      after.push_back(speed + std::log(1.05) - 0.001 * (round % 2));
    }
    one.before.push_back(run_of_rounds(before));
    one.after.push_back(run_of_rounds(after));
  }
  const judgement found = judge_one(one);
  EXPECT_EQ(found.which, verdict::slower);
  EXPECT_NEAR(found.ratio, 1.05, 0.002);
}

TEST(verdict, sides_measured_apart_give_the_interval_of_welch) {
  // Variances 1e-4 each: four degrees of freedom.
  const judgement found = judge_one({runs_of({0, 0.01, 0.02}), runs_of({0.12, 0.11, 0.10}), false});
  const double reach = 2.7764451051977987 * std::sqrt(2e-4 / 3);
  EXPECT_NEAR(std::log(found.ratio), 0.1, 1e-12);
  EXPECT_NEAR(std::log(found.low), 0.1 - reach, 1e-10);
  EXPECT_NEAR(std::log(found.high), 0.1 + reach, 1e-10);
  EXPECT_EQ(found.which, verdict::slower);
}

TEST(verdict, exchanging_the_sides_exchanges_the_verdict) {
  const process_runs a = runs_of({0, 0.001, -0.001});
  const process_runs b = runs_of({0.05, 0.049, 0.052});
  for (const bool interleaved : {false, true}) {
    const judgement there = judge_one({a, b, interleaved});
    const judgement back = judge_one({b, a, interleaved});
    EXPECT_EQ(there.which, verdict::slower);
    EXPECT_EQ(back.which, verdict::faster);
    EXPECT_NEAR(there.low * back.high, 1, 1e-12);
    EXPECT_NEAR(there.p_value, back.p_value, 1e-15);
  }
}

TEST(verdict, holm_corrects_for_the_number_of_cases) {
  // Cases of the same spread: the evidence of each is weighed with the number of those that have less.
  const auto changed = [](double by) {
    return case_pair{runs_of({0, 0, 0}), runs_of({by - 0.01, by, by + 0.01}), true};
  };
  const auto found = judge(std::vector{changed(0.03), changed(0.08), changed(0.06)}, {});
  const auto alone = [&](double change) {
    const double error = 0.01 / std::sqrt(3.0);
    const double margin = std::log(1.03);
    const double degrees = found.front().degrees;
    return student_upper((change - margin) / error, degrees) + student_upper((change + margin) / error, degrees);
  };
  EXPECT_NEAR(found[1].p_value, 3 * alone(0.08), 1e-10);
  EXPECT_NEAR(found[2].p_value, 2 * alone(0.06), 1e-10);
  EXPECT_NEAR(found[0].p_value, alone(0.03), 1e-10);
  // What is evidence alone is none among a hundred.
  std::vector<case_pair> many(100, changed(0));
  many[7] = changed(0.045);
  EXPECT_EQ(judge(std::vector(20, many[7]), {}).at(7).which, verdict::unclear);
  EXPECT_EQ(judge(many, {}).at(7).which, verdict::unclear);
  EXPECT_EQ(judge(std::vector(1, changed(0.08)), {.margin = 0.01}).at(0).which, verdict::slower);
}

TEST(verdict, is_same_only_where_the_whole_interval_is_within_the_margin) {
  const case_pair close{runs_of({0, 0, 0}), runs_of({0.009, 0.010, 0.011}), true};
  EXPECT_EQ(judge_one(close).which, verdict::same);
  EXPECT_EQ(judge_one(close, {.margin = 0.012}).which, verdict::unclear);
  EXPECT_EQ(judge_one(close, {.margin = 0.005}).which, verdict::slower);
  EXPECT_EQ(to_string(verdict::same), "same");
  EXPECT_EQ(to_string(verdict::slower), "slower");
  EXPECT_EQ(to_string(verdict::faster), "faster");
  EXPECT_EQ(to_string(verdict::unclear), "unclear");
}

TEST(verdict, times_without_any_spread_are_what_they_are) {
  const judgement equal = judge_one({runs_of({0, 0, 0}), runs_of({0, 0, 0}), true});
  EXPECT_EQ(equal.which, verdict::same);
  EXPECT_EQ(equal.ratio, 1);
  EXPECT_EQ(equal.p_value, 1);
  const judgement other = judge_one({runs_of({0, 0, 0}), runs_of({0.05, 0.05, 0.05}), true});
  EXPECT_EQ(other.which, verdict::slower);
  EXPECT_EQ(other.p_value, 0);
}

TEST(verdict, one_slow_run_is_not_a_slower_build) {
  // Nine quiet cases must not lend their small spread to the tenth, of which one run was 30 % slower.
  std::vector<case_pair> cases;
  for (int i = 0; i < 9; ++i) {
    const double by = 0.0005 * (i % 3 + 1);
    cases.push_back({runs_of({0, by, 0.001}), runs_of({by, 0, 0.001 - by}), true});
  }
  cases.push_back({runs_of({0, 0.001, 0}), runs_of({0.001, 0, 0.26}), true});
  const auto found = judge(cases, {});
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(found[i].which, verdict::same) << i;
  EXPECT_GT(found[9].ratio, 1.08);
  EXPECT_EQ(found[9].which, verdict::unclear);
}

TEST(verdict, samples_of_one_run_do_not_count_as_runs) {
  // A hundred samples each, 4 % apart: one process run cannot tell build from luck at a spread of 2 %.
  case_pair one;
  one.before.emplace_back();
  one.after.emplace_back();
  for (int i = 0; i < 100; ++i) {
    one.before[0].samples.push_back(1 + 1e-4 * (i % 7));
    one.after[0].samples.push_back(1.04 + 1e-4 * (i % 5));
  }
  for (const double spread : {0.02, 0.005, 0.0}) {
    const judgement found = judge_one(one, {.assumed_run_spread = spread});
    EXPECT_EQ(found.which, verdict::unclear) << spread;
    EXPECT_FALSE(found.not_slower) << spread;
    EXPECT_EQ(further_runs(found, 1, {}), 2U) << "three of each side are the fewest";
  }
}

TEST(verdict, more_spread_than_was_assumed_counts) {
  const judgement found = judge_one({runs_of({0, 0.2}), runs_of({0.1, 0.3}), false}, {.assumed_run_spread = 0.001});
  EXPECT_TRUE(found.spread_assumed);
  EXPECT_EQ(found.which, verdict::unclear);
}

TEST(verdict, a_lost_run_leaves_out_its_partner) {
  process_runs before = runs_of({0, 5, 0.001, 0});
  process_runs after = runs_of({0, 0, 0, 0.001});
  after[1].samples.clear();
  const judgement found = judge_one({before, after, true});
  EXPECT_NEAR(found.ratio, 1, 0.01);
  EXPECT_FALSE(found.spread_assumed);
  after[2].samples.clear();
  EXPECT_TRUE(judge_one({before, after, true}).spread_assumed);
}

TEST(verdict, refuses_what_has_no_answer) {
  const process_runs good = runs_of({0, 0, 0});
  const auto message = [](const case_pair& one, const judge_options& options = {}) -> std::string {
    try {
      (void)judge_one(one, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(message({good, {}, false}), HasSubstr("case 1, after: no samples"));
  EXPECT_THAT(message({good, {{}, {}}, true}), HasSubstr("case 1: no process run has samples on both sides"));
  EXPECT_THAT(message({good, {{1}, {1, 0}}, false}), HasSubstr("case 1, after, process run 2: a sample of 0 s"));
  EXPECT_THAT(message({{{std::nan("")}}, good, false}), HasSubstr("case 1, before, process run 1"));
  EXPECT_THAT(message({{{std::numeric_limits<double>::infinity()}}, good, false}), HasSubstr("is no time"));
  EXPECT_THAT(message({good, good, false}, {.margin = -0.1}), HasSubstr("the margin -0.1"));
  EXPECT_THAT(message({good, good, false}, {.confidence = 1}), HasSubstr("the confidence 1"));
  EXPECT_THAT(message({good, good, false}, {.assumed_run_spread = -1}), HasSubstr("the spread between runs -1"));
  EXPECT_TRUE(judge({}, {}).empty());
}

TEST(moderation, equal_variances_become_one_with_all_degrees) {
  const std::vector<variance_estimate> all(5, {4.0, 2});
  for (const variance_estimate& it : moderate_variances(all)) {
    EXPECT_DOUBLE_EQ(it.value, 4);
    EXPECT_DOUBLE_EQ(it.degrees, 10);
  }
}

TEST(moderation, shrinks_towards_the_common_variance_and_spares_outliers) {
  std::vector<variance_estimate> all;
  for (const double it : {0.05, 0.2, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0, 6.0}) all.push_back({it, 4});
  const auto found = moderate_variances(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_GT(found[i].degrees, 4) << i;
    EXPECT_LE(found[i].degrees, 40) << i;
  }
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(found[i].value, found[i - 1].value) << i;
  EXPECT_GT(found.front().value, all.front().value);
  EXPECT_LT(found.back().value, all.back().value);
  all.push_back({1e5, 4});
  const auto with_outlier = moderate_variances(all);
  EXPECT_DOUBLE_EQ(with_outlier.back().value, 1e5);
  EXPECT_DOUBLE_EQ(with_outlier.back().degrees, 4);
  EXPECT_NEAR(with_outlier.front().value, found.front().value, 1e-12);
}

TEST(run_value, has_the_median_and_the_variance_that_theory_gives) {
  // The median of n independent normal values has the variance pi sigma^2 / (2 n); here at the quantiles of the normal
  // distribution in an order without memory.
  std::vector<double> samples;
  constexpr int count = 1009;
  for (int i = 0; i < count; ++i) {
    const double uniform = (static_cast<double>((i * 331) % count) + 0.5) / count;
    const double logistic = std::log(uniform / (1 - uniform));  // density at the median 1/4
    samples.push_back(std::exp(0.01 * logistic));
  }
  const run_value found = value_of_run(samples, 1);
  EXPECT_NEAR(found.log_seconds, 0, 1e-12);
  // The variance of a median is 1 / (4 n f^2) = 4 scale^2 / n. Blocks of a lattice fill the range more evenly than
  // chance would, so the estimate may be smaller, but not by an order.
  EXPECT_GT(found.variance, 0.1 * 4e-4 / count);
  EXPECT_LT(found.variance, 2 * 4e-4 / count);
  EXPECT_EQ(found.variance, value_of_run(samples, 1).variance);
  EXPECT_EQ(value_of_run(std::vector{2.0}, 1).variance, 0);
  EXPECT_EQ(value_of_run(std::vector{2.0, 2.0, 2.0}, 1).variance, 0);
}

TEST(verdict, a_change_within_the_margin_is_not_slower_however_exact_it_is) {
  // About 3.3 % slower. A test of a ratio of one with a filter on the estimate would call it slower than 3 %.
  const case_pair noisy{runs_of({0, 0, 0, 0, 0, 0}), runs_of({0.045, 0.02, 0.035, 0.03, 0.04, 0.025}), true};
  const judgement found = judge_one(noisy);
  EXPECT_GT(found.ratio, 1.03);
  EXPECT_GT(found.low, 1) << "a ratio of one is ruled out, a ratio of 1.03 is not";
  EXPECT_EQ(found.which, verdict::unclear);
  EXPECT_EQ(gate_of(std::vector{found}), gate_outcome::inconclusive);
}

TEST(verdict, faster_than_the_margin_allows_is_not_slower_although_it_is_unclear) {
  const judgement found = judge_one({runs_of({0, 0, 0}), runs_of({-0.03, -0.025, -0.035}), true});
  EXPECT_EQ(found.which, verdict::unclear);
  EXPECT_TRUE(found.not_slower);
  EXPECT_EQ(gate_of(std::vector{found}), gate_outcome::passed);
}

TEST(run_plan, spends_the_error_once) {
  for (const run_plan& plan : {run_plan{3, 17}, run_plan{6, 17}, run_plan{3, 4}, run_plan{5, 5}}) {
    double sum = 0;
    for (std::size_t look = plan.fewest;; look = next_look(plan, look)) {
      sum += error_share(plan, look);
      if (look >= plan.most) break;
    }
    EXPECT_NEAR(sum, 1, 1e-12) << plan.fewest << ':' << plan.most;
  }
  EXPECT_EQ(next_look({3, 17}, 3), 4U);
  EXPECT_EQ(next_look({3, 17}, 13), 17U);
  EXPECT_EQ(error_share({3, 17}, 7), error_share({3, 17}, 8)) << "an interrupted run counts as the next look";
}

TEST(verdict, who_looks_several_times_needs_more_evidence_each_time) {
  const case_pair one{runs_of({0, 0, 0}), runs_of({0.078, 0.08, 0.082}), true};
  const judgement once = judge_one(one);
  const judgement first = judge_one(one, {.plan = {3, 17}});
  EXPECT_NEAR(first.p_value, once.p_value * 17 / 3, 1e-12);
  EXPECT_GT(first.high, once.high);
}

TEST(verdict, further_runs_are_those_that_would_decide) {
  const case_pair close{runs_of({0, 0, 0}), runs_of({0.01, 0.02, 0.0}), true};
  const judgement found = judge_one(close);
  ASSERT_EQ(found.which, verdict::unclear);
  const auto further = further_runs(found, 1, {});
  ASSERT_TRUE(further);
  EXPECT_GE(*further, 1U);
  EXPECT_LE(*further, 8U);
  const case_pair on_the_margin{runs_of({0, 0, 0}), runs_of({0.02, 0.04, 0.0287}), true};
  EXPECT_FALSE(further_runs(judge_one(on_the_margin), 1, {}));
}

TEST(jumps, are_seen_where_values_fall_into_groups) {
  EXPECT_NEAR(find_jump(std::vector{0.0, 0.05, 0.001, 0.051}).value_or(0), 0.049, 1e-12);
  EXPECT_NEAR(find_jump(std::vector{-0.05, 0.0, 0.05, 0.001, 0.0495}).value_or(0), 0.04925, 1e-3);
  EXPECT_FALSE(find_jump(std::vector{0.0, 0.01, 0.02, 0.03}));
  EXPECT_FALSE(find_jump(std::vector{0.0, 0.0, 0.0}));
  EXPECT_FALSE(find_jump(std::vector{0.0, 1.0}));
  EXPECT_DOUBLE_EQ(least_probability_of_jumps(3, 3, true), 1.0 / 64);
  EXPECT_NEAR(least_probability_of_jumps(3, 3, false), 1.0 / 20, 1e-12);
}

TEST(jumps, of_some_cases_ask_for_more_runs_of_all) {
  // Of twenty quiet cases five jump by 5 %, each in its own runs; one has all of its runs on the other value.
  std::vector<case_pair> cases;
  for (int i = 0; i < 20; ++i) {
    const double by = 0.0005 * (i % 3 - 1);
    cases.push_back({runs_of({0, 0, 0}), runs_of({by, -by, 0.0007}), true});
  }
  for (int i = 0; i < 5; ++i) {
    std::vector<double> logs(3, 0.0005 * i);
    logs[static_cast<std::size_t>(i % 3)] += i % 2 == 0 ? 0.05 : -0.05;
    cases[static_cast<std::size_t>(3 * i)].after = runs_of(logs);
  }
  cases[7].after = runs_of({0.05, 0.0505, 0.0495});
  const auto found = judge(cases, {});
  EXPECT_GT(found[0].jump, 0.045);
  EXPECT_EQ(found[7].which, verdict::unclear) << "chance explains it: it may jump as the others do";
  std::vector<case_pair> quiet = cases;
  for (int i = 0; i < 5; ++i) quiet[static_cast<std::size_t>(3 * i)] = cases[1];
  EXPECT_EQ(judge(quiet, {})[7].which, verdict::slower) << "where nothing jumps, it is a change";
}

TEST(run_dependence, cases_that_agree_say_it_once) {
  const run_series one{0.01, -0.02, 0.03, 0.0};
  const run_series other{-0.02, 0.03, 0.0, 0.01};
  const std::vector<run_series> alike(10, one);
  const std::vector<double> variances(10, 1e-4);
  EXPECT_NEAR(estimate_dependence(alike, variances).between_cases, 1, 1e-9);
  EXPECT_EQ(estimate_dependence({}, {}).between_cases, 0);
  const std::vector<variance_estimate> ten(10, {4.0, 3});
  EXPECT_NEAR(moderate_variances(ten, 1).front().degrees, 3, 1e-9) << "those of one case";
  EXPECT_NEAR(moderate_variances(ten, 0).front().degrees, 30, 1e-9);
}

TEST(run_dependence, runs_that_resemble_their_predecessors_widen_the_interval) {
  std::vector<run_series> trends;
  std::vector<run_series> alternating;
  for (int i = 0; i < 20; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    trends.push_back({-0.02 * sign, -0.018 * sign, -0.01 * sign, 0.012 * sign, 0.017 * sign, 0.019 * sign});
    alternating.push_back({-0.02 * sign, 0.02 * sign, -0.01 * sign, 0.01 * sign, -0.02 * sign, 0.02 * sign});
  }
  const std::vector<double> variances(20, 3e-4);
  EXPECT_GT(estimate_dependence(trends, variances).variance_factor, 2);
  EXPECT_EQ(estimate_dependence(alternating, variances).variance_factor, 1);
}

}  // namespace
}  // namespace prumo::bench
