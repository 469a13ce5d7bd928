// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/moderation.hpp"
#include "statistics/verdict.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace prumo::bench {

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

/// A case on its way to a judgement: the pairs' differences in `after` where it is interleaved, `before` being empty.
struct candidate {
  numbered_values values_before;
  numbered_values values_after;
  mean_estimate before;
  mean_estimate after;
  bool interleaved = false;
  bool assumed = false;
};

/// The candidate of a case of a comparison. `place` is its place there.
/// \throws std::invalid_argument as judge()
[[nodiscard]] candidate make_candidate(const case_pair& one, std::size_t place, const judge_options& options);

/// Moderates the variances of all candidates (moderate_variances()), multiplies them by what dependent runs cost
/// (estimate_dependence()), and finds those that jump (find_jump()). The means of pairs, of runs before and of runs
/// after are three kinds. Where the spread is assumed, nothing changes.
void moderate_candidates(std::span<candidate> candidates);

}  // namespace prumo::bench
