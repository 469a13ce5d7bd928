// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulated_comparison.hpp"

#include "statistics/gate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace prumo::bench::simulation {
namespace {

constexpr double margin = 0.03;
constexpr double change = 0.05;
constexpr double permitted_error = 0.05;

/// Standard normal numbers, the same with every standard library (Box and Muller 1958).
class normal_numbers {
 public:
  explicit normal_numbers(std::uint64_t seed) : engine_(seed) {}

  double operator()() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }
  bool coin() { return uniform() < 0.5; }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Adds one run after the other to a comparison.
class comparison_maker {
 public:
  comparison_maker(const machine& on, const design& how, double change_of_first, std::uint64_t seed)
      : machine_(on), normal_(seed), change_of_first_(change_of_first), interleaved_(how.interleaved) {
    cases_.resize(how.cases);
    for (case_pair& it : cases_) it.interleaved = interleaved_;
    earlier_.resize(2 * how.cases);
  }

  void add_run() {
    const std::array shared_of_side{normal_(), normal_()};
    for (std::size_t place = 0; place < cases_.size(); ++place) {
      const double state = 0.02 * normal_();  // of the machine during this run
      std::array<double, fewest_rounds> rounds{};
      for (double& it : rounds) it = 0.01 * normal_();
      // In turns, the builds are started as A B, B A, A B.
      const std::size_t first = interleaved_ ? runs_ % 2 : 0;
      for (const std::size_t side : {first, 1 - first}) {
        double centre = -7 + effect(place, side, shared_of_side.at(side));
        if (interleaved_) centre += state;
        if (side == 1 && place == 0) centre += std::log1p(change_of_first_);
        process_run run;
        double noise = normal_();
        for (std::size_t round = 0; round < fewest_rounds; ++round) {
          noise = 0.5 * noise + std::sqrt(0.75) * normal_();
          const double of_round = interleaved_ ? rounds.at(round) + drift_at(round, side) : 0;
          run.samples.push_back(std::exp(centre + of_round + 0.005 * noise));
        }
        run.rounds.assign(fewest_rounds, 1);
        (side == 0 ? cases_[place].before : cases_[place].after).push_back(std::move(run));
      }
    }
    ++runs_;
  }

  [[nodiscard]] const std::vector<case_pair>& cases() const { return cases_; }

 private:
  /// What chance adds to a process of a case.
  double effect(std::size_t place, std::size_t side, double shared) {
    // Of all processes there is one sequence, of persistent builds each has its own.
    const bool is_persistent = machine_.chance == pattern::persistent;
    std::optional<double>& earlier = earlier_[2 * place + (is_persistent ? side : 0)];
    const double own = normal_();
    switch (machine_.chance) {
      case pattern::independent:
      case pattern::drift: return machine_.spread * own;
      case pattern::autocorrelated:
      case pattern::persistent:
        earlier = earlier ? 0.5 * *earlier + std::sqrt(0.75) * own : own;
        return machine_.spread * *earlier;
      case pattern::some_modes:
        if (place % 3 != 1) return machine_.spread * own;
        [[fallthrough]];
      case pattern::two_modes: return machine_.spread * own + (normal_.coin() ? std::log1p(0.05) : 0);
      case pattern::shared: return machine_.spread * std::sqrt(0.5) * (own + shared);
    }
    return 0;
  }

  /// The builds take turns: A B in one round and B A in the next, and the second of them is half a round later.
  [[nodiscard]] double drift_at(std::size_t round, std::size_t side) const {
    if (machine_.chance != pattern::drift) return 0;
    const bool is_second = (side == 1) == ((round + runs_) % 2 == 0);
    const double in_run = (static_cast<double>(round) + (is_second ? 0.5 : 0)) / static_cast<double>(fewest_rounds);
    return 0.01 * static_cast<double>(runs_) + 0.02 * in_run;
  }

  machine machine_;
  normal_numbers normal_;
  double change_of_first_;
  bool interleaved_;
  std::vector<case_pair> cases_;
  std::vector<std::optional<double>> earlier_;  // effects of the last process, by case and build
  std::size_t runs_ = 0;
};

struct outcome {
  std::vector<judgement> judgements;
  gate_outcome gate = gate_outcome::inconclusive;
  std::size_t runs = 0;
};

/// Measures and judges as `prumo bench --against --gate` does.
outcome compare(const machine& on, const design& how, double change_of_first, std::uint64_t seed) {
  comparison_maker maker(on, how, change_of_first, seed);
  judge_options options;
  options.margin = margin;
  options.confidence = 1 - permitted_error;
  options.plan = how.plan;
  outcome found;
  for (std::size_t look = how.plan.fewest;; look = next_look(how.plan, look)) {
    for (; found.runs < look; ++found.runs) maker.add_run();
    found.judgements = judge(maker.cases(), options);
    found.gate = gate_of(found.judgements);
    if (found.gate != gate_outcome::inconclusive || look >= how.plan.most) return found;
  }
}

bool is_changed(const judgement& it) { return it.which == verdict::slower || it.which == verdict::faster; }

double normal_upper(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

}  // namespace

std::string_view to_string(pattern which) {
  switch (which) {
    case pattern::independent: return "independent";
    case pattern::autocorrelated: return "autocorrelated";
    case pattern::drift: return "drift";
    case pattern::persistent: return "persistent";
    case pattern::two_modes: return "two modes";
    case pattern::some_modes: return "two modes in a third";
    case pattern::shared: break;
  }
  return "shared";
}

rates simulate(const machine& on, const design& how, int trials, std::uint64_t seed) {
  rates total;
  const double of_trials = 1.0 / trials;
  const double of_cases = of_trials / static_cast<double>(how.cases);
  for (int trial = 0; trial < trials; ++trial) {
    const std::uint64_t own_seed = seed + 2 * static_cast<std::uint64_t>(trial);
    const outcome same = compare(on, how, 0, own_seed);
    for (const judgement& it : same.judgements) {
      if (it.low <= 1 && 1 <= it.high) total.covered += of_cases;
      if (it.which == verdict::unclear) total.unclear += of_cases;
    }
    if (std::ranges::any_of(same.judgements, is_changed)) total.false_verdict += of_trials;
    if (same.gate == gate_outcome::inconclusive) total.inconclusive += of_trials;
    total.runs += static_cast<double>(same.runs) * of_trials;
    const outcome slower = compare(on, how, change, own_seed + 1);
    if (slower.judgements.front().which == verdict::slower) total.found += of_trials;
    if (slower.gate == gate_outcome::passed) total.missed += of_trials;
  }
  return total;
}

double bound_of_power(double spread, std::size_t cases, std::size_t runs) {
  const double error = spread * std::sqrt(2 / static_cast<double>(runs));
  double low = 0;
  double high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (normal_upper(middle) > permitted_error / static_cast<double>(cases) ? low : high) = middle;
  }
  return normal_upper(low - (std::log1p(change) - std::log1p(margin)) / error);
}

double standard_error(double rate, int trials) { return std::sqrt(rate * (1 - rate) / trials); }

}  // namespace prumo::bench::simulation
