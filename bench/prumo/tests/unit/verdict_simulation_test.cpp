// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often verdicts are right, over many made-up comparisons of a fixed seed. What is expected comes from theory where
// there is one; bounds are those within which a binomial count falls 999 times of 1000.
#include "statistics/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace prumo::bench {
namespace {

/// 3.29 standard deviations: 0.05 % on each side.
double binomial_reach(double probability, int trials) {
  return 3.29 * std::sqrt(probability * (1 - probability) / trials);
}

/// Standard normal numbers, the same with every standard library (Box and Muller 1958).
class normal_numbers {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }
  std::mt19937_64 engine_{20261121};
};

struct machine {
  double run_spread;         ///< standard deviation between process runs of a side, of the logarithm
  double drift = 0.02;       ///< what both sides of a pair share
  double sample_spread = 0;  ///< of the samples within a run, neighbours correlated by 0.5
  int samples = 1;
  int runs = 3;
};

/// A comparison of which the first case is slower by `change`, the others are equal.
std::vector<case_pair> simulate(const machine& on, std::size_t cases, double change, normal_numbers& normal) {
  std::vector<case_pair> all(cases);
  for (std::size_t place = 0; place < cases; ++place) {
    case_pair& one = all[place];
    one.interleaved = true;
    for (int run = 0; run < on.runs; ++run) {
      const double shared = on.drift * normal();
      for (process_runs* side : {&one.before, &one.after}) {
        const double effect = side == &one.after && place == 0 ? std::log1p(change) : 0;
        const double centre = -7 + effect + shared + on.run_spread * normal();
        double noise = normal();
        std::vector<double> samples;
        for (int i = 0; i < on.samples; ++i) {
          noise = 0.5 * noise + std::sqrt(0.75) * normal();
          samples.push_back(std::exp(centre + on.sample_spread * noise));
        }
        side->emplace_back(std::move(samples));
      }
    }
  }
  return all;
}

/// Shares of a number of comparisons.
struct tally {
  double covered = 0;      ///< of all intervals
  double slower = 0;       ///< of the first cases
  double same = 0;         ///< of the unchanged cases
  double false_alarm = 0;  ///< of comparisons with any unchanged case called slower or faster
};

tally repeat(int trials, const machine& on, std::size_t cases, double change, const judge_options& options) {
  normal_numbers normal;
  tally total;
  const double intervals = trials * static_cast<double>(cases);
  const double unchanged = trials * static_cast<double>(change == 0 ? cases : cases - 1);
  for (int trial = 0; trial < trials; ++trial) {
    const auto found = judge(simulate(on, cases, change, normal), options);
    bool alarm = false;
    for (std::size_t place = 0; place < cases; ++place) {
      const judgement& it = found[place];
      const bool changed = place == 0 && change != 0;
      const double truth = changed ? 1 + change : 1;
      if (it.low <= truth && truth <= it.high) total.covered += 1 / intervals;
      if (changed && it.which == verdict::slower) total.slower += 1.0 / trials;
      if (changed) continue;
      if (it.which == verdict::same) total.same += 1 / unchanged;
      alarm = alarm || it.which == verdict::slower || it.which == verdict::faster;
    }
    if (alarm) total.false_alarm += 1.0 / trials;
  }
  return total;
}

/// The probability that three pairs show a change: the mean of the differences exceeds the margin and 4.3027 standard
/// errors, which are independent of it and whose square is exponentially distributed (chi-squared of two degrees).
double power_of_three_pairs(double run_spread, double change, double margin) {
  const double spread = run_spread * std::numbers::sqrt2;
  const double error = spread / std::sqrt(3.0);
  const double t = 4.302652729911275;
  double sum = 0;
  constexpr int steps = 4000;
  for (int i = 0; i < steps; ++i) {
    const double z = -8 + 16 * (i + 0.5) / steps;
    const double mean = std::log1p(change) + error * z;
    if (mean <= std::log1p(margin)) continue;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    sum += density * (1 - std::exp(-mean * mean / (t * t * error * error))) * 16 / steps;
  }
  return sum;
}

TEST(verdict_simulation, intervals_of_one_case_cover_as_often_as_they_say) {
  constexpr int trials = 20000;
  for (const double spread : {0.003, 0.02}) {
    const tally found = repeat(trials, {spread}, 1, 0, {.margin = 0});
    EXPECT_NEAR(found.covered, 0.95, binomial_reach(0.95, trials)) << spread;
    // Without a margin all that lies outside of the interval is an alarm.
    EXPECT_NEAR(found.false_alarm, 0.05, binomial_reach(0.05, trials)) << spread;
  }
}

TEST(verdict_simulation, intervals_of_many_cases_cover_as_often_as_they_say) {
  constexpr int trials = 2000;
  const tally found = repeat(trials, {0.01}, 10, 0, {});
  // Equal spreads that are taken for unequal ones now and then cost a little of the power, none of the coverage.
  EXPECT_GT(found.covered, 0.95 - binomial_reach(0.95, 10 * trials));
  EXPECT_LT(found.covered, 0.965);
}

TEST(verdict_simulation, false_alarms_of_a_comparison_are_as_rare_as_is_said) {
  constexpr int trials = 3000;
  // Without a margin, so that nothing but the evidence decides.
  const tally found = repeat(trials, {0.01}, 10, 0, {.margin = 0});
  EXPECT_LT(found.false_alarm, 0.05 + binomial_reach(0.05, trials));
  EXPECT_GT(found.false_alarm, 0.02) << "verdicts are more cautious than they need be";
  const tally with_margin = repeat(trials, {0.01}, 10, 0, {});
  EXPECT_LT(with_margin.false_alarm, 0.01 + binomial_reach(0.01, trials));
}

TEST(verdict_simulation, one_case_alone_is_found_as_often_as_theory_says) {
  constexpr int trials = 5000;
  for (const double spread : {0.003, 0.005, 0.01}) {
    const double expected = power_of_three_pairs(spread, 0.05, 0.03);
    const tally found = repeat(trials, {spread}, 1, 0.05, {});
    EXPECT_NEAR(found.slower, expected, binomial_reach(expected, trials) + 1e-9) << spread;
  }
}

TEST(verdict_simulation, five_percent_among_ten_cases_is_found_on_a_quiet_machine) {
  constexpr int trials = 500;
  for (const double spread : {0.003, 0.005}) {
    const machine on{.run_spread = spread, .sample_spread = 0.01, .samples = 25};
    const tally found = repeat(trials, on, 10, 0.05, {});
    EXPECT_GT(found.slower, 0.999 - binomial_reach(0.999, trials)) << spread;
    EXPECT_GT(found.same, 0.999 - binomial_reach(0.999, 9 * trials)) << spread;
  }
  const machine restless{.run_spread = 0.01, .sample_spread = 0.01, .samples = 25};
  const tally found = repeat(trials, restless, 10, 0.05, {});
  EXPECT_GT(found.slower, 0.96 - binomial_reach(0.96, trials));
  // More runs settle what three leave unclear.
  const machine patient{.run_spread = 0.01, .sample_spread = 0.01, .samples = 25, .runs = 6};
  const tally more = repeat(trials, patient, 10, 0.05, {});
  EXPECT_GT(more.slower, 0.999 - binomial_reach(0.999, trials));
  EXPECT_GT(more.same, 0.99 - binomial_reach(0.99, 9 * trials));
}

}  // namespace
}  // namespace prumo::bench
