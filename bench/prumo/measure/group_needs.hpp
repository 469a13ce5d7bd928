// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/measure_options.hpp"
#include "ceilings/ceilings.hpp"
#include "measure/time_model.hpp"
#include "plan/plan.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace prumo::bench {

/// What the cases of one or several groups need, one after the other as they stand there; settled ones need nothing.
struct group_needs {
  std::vector<double> least;   ///< seconds to the first sample, the group's share of counting and probes included
  std::vector<double> calls;   ///< of it, seconds of calls
  std::vector<double> useful;  ///< seconds of sampling that are of use to cases, and to probes, which take turns too
  double least_sum = 0;
  double calls_sum = 0;

  /// The seconds of sampling without which little can be said of short calls, of those that are of use to them.
  /// Nobody's first sample is worth more.
  [[nodiscard]] double modest_sum() const;

  void add(const group_needs& others);
};

/// The needs of what is left of some groups, which are measured one after the other. Estimates get better with each
/// group that was measured. But to estimate a thousand groups takes seconds, so those behind the current one are
/// estimated again only from time to time.
class needs_ahead {
 public:
  /// \param groups the same in all calls, except that those before `current` may have changed, and the current one
  [[nodiscard]] group_needs from(std::span<const planned_group> groups, std::size_t current,
                                 const measure_options& options, const time_model& times, ceiling_store& ceilings);

 private:
  std::vector<group_needs> of_groups_;
  steady_time next_estimate_{};  ///< when all are estimated again
};

}  // namespace prumo::bench
