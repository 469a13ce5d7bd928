// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>

namespace prumo::bench {

/// With this number of process runs of each side, or more, the spread between them is estimated and not assumed. With
/// fewer there is no verdict.
inline constexpr std::size_t fewest_runs = 3;

/// How many process runs of each side a comparison takes. It is judged when `fewest` runs are there, and if the answer
/// is still open, at each next_look() until there are `most`. If both numbers are equal, it is judged once.
struct run_plan {
  std::size_t fewest = fewest_runs;
  std::size_t most = fewest_runs;

  bool operator==(const run_plan&) const = default;
};

/// How many runs there are at the look after the one at `runs` runs: a third more, one at least, `most` at most.
[[nodiscard]] inline std::size_t next_look(const run_plan& plan, std::size_t runs) {
  return std::min(plan.most, runs + std::max<std::size_t>(1, runs / 3));
}

/// The share of the permitted error that a look at `runs` runs may use.
///
/// Whoever judges several times at 5 % is wrong more often than in 5 % of the cases. So the error is spent over the
/// looks (Lan and DeMets, Biometrika 70, 1983), in proportion to their runs (Kim and DeMets, Biometrika 74, 1987, with
/// the power 1). The error is cut into `most` parts. The first look has `fewest` of them, and each later look has one
/// for each run that it adds. All shares add up to one. By Bonferroni's inequality the error then stays below what is
/// permitted, for any test, and however the looks depend on each other. An interrupted comparison, or a case that lost
/// a run, may have a number of runs between two looks. It has the share of the later look.
[[nodiscard]] inline double error_share(const run_plan& plan, std::size_t runs) {
  if (plan.most <= plan.fewest) return 1;
  std::size_t before = 0;
  std::size_t look = plan.fewest;
  while (look < std::min(runs, plan.most)) {
    before = look;
    look = next_look(plan, look);
  }
  return static_cast<double>(look - before) / static_cast<double>(plan.most);
}

}  // namespace prumo::bench
