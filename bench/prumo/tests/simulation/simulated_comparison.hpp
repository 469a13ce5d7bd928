// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/run_plan.hpp"
#include "statistics/verdict.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prumo::bench::simulation {

/// What chance does to the process runs of a made-up machine. Times are in natural logarithms.
enum class pattern {
  independent,     ///< each process of a case has its own normal effect
  autocorrelated,  ///< the effect of a process has the correlation 0.5 with that of the process started before it
  persistent,      ///< the effect of a process has the correlation 0.5 with that of the same build in the run before
  drift,           ///< independent effects, and the machine gets 1 % slower with each run and 2 % within a run
  shared,          ///< one half of the variance of a process is common to all of its cases
  two_modes,       ///< independent effects, and each process of a case takes 5 % longer in one half of all processes
  some_modes       ///< the same, but only one case of three has two modes, not the one that is slower
};

inline constexpr std::array patterns{pattern::independent, pattern::autocorrelated, pattern::persistent, pattern::drift,
                                     pattern::shared,      pattern::two_modes,      pattern::some_modes};

[[nodiscard]] std::string_view to_string(pattern which);

/// A made-up machine. Beside the pattern, its speed differs from run to run (2 %, the same for both builds) and from
/// round to round (1 %, likewise). A sample of a round has an error of its own of 0.5 %, with the correlation 0.5
/// between neighbouring rounds. A run has the rounds that pairing by rounds needs, with a sample each.
struct machine {
  pattern chance = pattern::independent;
  double spread = 0.01;  ///< standard deviation between the process runs of a build, without drift and modes
};

/// A made-up comparison.
struct design {
  std::size_t cases = 1;
  run_plan plan;
  /// Both builds in turns, as `prumo bench --against` measures them; or all runs of one after all runs of the other.
  bool interleaved = true;
};

/// What many comparisons showed.
struct rates {
  double false_verdict = 0;  ///< of comparisons of unchanged code: any case called slower or faster
  double covered = 0;        ///< of the intervals of unchanged cases: contains 1
  double unclear = 0;        ///< of the unchanged cases
  double inconclusive = 0;   ///< of the gates over unchanged code
  double runs = 0;           ///< of each build, on average, for unchanged code
  double found = 0;          ///< of comparisons with one case 5 % slower: this case is called slower
  double missed = 0;         ///< of these comparisons: the gate passes
};

/// Makes `trials` comparisons of unchanged code and as many with one case 5 % slower, at a margin of 3 %. Equal seeds
/// give equal rates.
[[nodiscard]] rates simulate(const machine& on, const design& how, int trials, std::uint64_t seed);

/// The probability with which the best possible test finds a case that is 5 % slower, at a margin of 3 % (Neyman and
/// Pearson's lemma). The test is wrong in at most 5 % of comparisons by Holm's correction. It sees `runs` pairs of runs
/// of normal effects and knows their spread. All other cases are unchanged.
[[nodiscard]] double bound_of_power(double spread, std::size_t cases, std::size_t runs);

/// The standard error of a rate, by the binomial distribution.
[[nodiscard]] double standard_error(double rate, int trials);

}  // namespace prumo::bench::simulation
