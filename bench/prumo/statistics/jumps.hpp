// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace prumo::bench {

/// The distance between the values that `values` jump between: sorted, they fall into two or three groups, and the gaps
/// between groups are at least three times as wide as those within. The difference of two runs that jump has three
/// values. Absent for fewer than three values, and for values without such gaps. If there are two gaps, the mean of
/// them.
[[nodiscard]] std::optional<double> find_jump(std::span<const double> values);

/// How often find_jump() finds a jump in this many independent normal values, by simulation with a fixed seed.
[[nodiscard]] double chance_of_jump(std::size_t values);

/// What find_jump() said of a case.
struct jump_sight {
  std::size_t values = 0;
  bool seen = false;
};

/// True if more cases seem to jump than chance explains: two at least, and beyond the upper 1 % of the normal
/// approximation to the number that normal values would show. The variance is multiplied by the design effect
/// 1 + (m - 1) rho for cases of which any two have the correlation rho within a process run.
[[nodiscard]] bool jumps_are_evident(std::span<const jump_sight> cases, double between_cases);

/// The least probability that a test of one side may give where process runs jump between two values. Chance may put
/// every run of one build on one value and every run of the other build on the other one. No statistic of the case can
/// tell that from a change of the program.
///
/// In pairs, a run lands on one value before and on the other one after with probability 1/4 at most, so n pairs do
/// with 4^-n. For sides that were measured one after the other it is the permutation bound, n! m! / (n + m)!.
[[nodiscard]] double least_probability_of_jumps(std::size_t runs_before, std::size_t runs_after, bool interleaved);

}  // namespace prumo::bench
