// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/jumps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace prumo::bench {
namespace {

constexpr std::size_t most_values = 24;  // beyond it the chance hardly changes

/// The share of 4000 sets of this many normal numbers (Box and Muller 1958) that seem to jump.
double simulate_chance(std::size_t values) {
  constexpr int sets = 4000;
  std::mt19937_64 engine(values);
  const auto uniform = [&] { return (static_cast<double>(engine() >> 11U) + 0.5) * 0x1p-53; };
  int seen = 0;
  std::vector<double> set(values);
  for (int i = 0; i < sets; ++i) {
    for (double& it : set) it = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    seen += find_jump(set) ? 1 : 0;
  }
  return static_cast<double>(seen) / sets;
}

}  // namespace

std::optional<double> find_jump(std::span<const double> values) {
  constexpr double least_ratio = 3;
  constexpr std::size_t most_jumps = 2;
  if (values.size() < 3) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) gaps.push_back(sorted[i] - sorted[i - 1]);
  std::ranges::sort(gaps, std::ranges::greater());
  double sum = 0;
  for (std::size_t wide = 1; wide <= most_jumps && wide < gaps.size(); ++wide) {
    sum += gaps[wide - 1];
    if (gaps[wide - 1] > 0 && gaps[wide - 1] >= least_ratio * gaps[wide]) return sum / static_cast<double>(wide);
  }
  return {};
}

double chance_of_jump(std::size_t values) {
  static const auto chances = [] {
    std::array<double, most_values + 1> all{};
    for (std::size_t i = 3; i < all.size(); ++i) all.at(i) = simulate_chance(i);
    return all;
  }();
  return chances.at(std::min(values, most_values));
}

bool jumps_are_evident(std::span<const jump_sight> cases, double between_cases) {
  double seen = 0;
  double expected = 0;
  double variance = 0;
  for (const jump_sight& it : cases) {
    const double chance = chance_of_jump(it.values);
    seen += it.seen ? 1 : 0;
    expected += chance;
    variance += chance * (1 - chance);
  }
  variance *= 1 + (static_cast<double>(cases.size()) - 1) * between_cases;
  constexpr double upper_percent = 2.326;
  return seen >= 2 && seen > expected + upper_percent * std::sqrt(variance);
}

double least_probability_of_jumps(std::size_t runs_before, std::size_t runs_after, bool interleaved) {
  if (interleaved) return std::pow(0.25, static_cast<double>(std::min(runs_before, runs_after)));
  const auto before = static_cast<double>(runs_before);
  const auto after = static_cast<double>(runs_after);
  return std::exp(std::lgamma(before + 1) + std::lgamma(after + 1) - std::lgamma(before + after + 1));
}

}  // namespace prumo::bench
