// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "ceilings/ceilings.hpp"
#include "measure/time_model.hpp"
#include "plan/plan.hpp"

#include <span>
#include <vector>

namespace prumo::bench {

/// What the cases of several groups need, one after the other as they stand there; settled ones need nothing.
struct group_needs {
  std::vector<double> least;   ///< seconds to the first sample, the group's share of counting and probes included
  std::vector<double> calls;   ///< of it, seconds of calls
  std::vector<double> useful;  ///< seconds of sampling that are of use; probes, which take turns too, at the end
  double least_sum = 0;
  double calls_sum = 0;

  /// The seconds of sampling without which little can be said of short calls, of those that are of use to them.
  /// Nobody's first sample is worth more.
  [[nodiscard]] double modest_sum() const;
};

/// The needs of these groups by what is known of their times.
[[nodiscard]] group_needs needs_of(std::span<const planned_group> groups, const measure_options& options,
                                   const time_model& times, ceiling_store& ceilings);

}  // namespace prumo::bench
