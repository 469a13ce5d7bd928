// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "layers/step_team.hpp"
#include "plan/step_data.hpp"

namespace prumo::nets {

/// Adds the losses and correct answers of all groups to the counters.
template <class Team, class C>
PRUMO_STEP_FUNCTION void add_losses_of_groups(const Team& team, const step_data<C>& data, int groups) {
  // What is loaded together comes first.
  constexpr int groups_together = Team::lanes == 1 ? 1 : 4;
  double before[2] = {0, 0}, sums[2] = {0, 0};
  if (team.lane() == 0) {
    before[0] = data.counters->sums[0];
    before[1] = data.counters->sums[1];
  }
  PRUMO_KEEP_LOOP
  for (int begin = team.lane(); begin < groups; begin += groups_together * Team::lanes) {
    double values[groups_together][2];
    PRUMO_UNROLL
    for (int k = 0; k < groups_together; ++k) {
      const int group = begin + k * Team::lanes;
      values[k][0] = group < groups ? data.sums[2 * group] : 0;
      values[k][1] = group < groups ? data.sums[2 * group + 1] : 0;
    }
    PRUMO_UNROLL
    for (int k = 0; k < groups_together; ++k) {
      sums[0] += values[k][0];
      sums[1] += values[k][1];
    }
  }
  sums[0] = sum_of_lanes(team, sums[0]);
  sums[1] = sum_of_lanes(team, sums[1]);
  if (team.lane() == 0) {
    data.counters->sums[0] = before[0] + sums[0];
    data.counters->sums[1] = before[1] + sums[1];
  }
}

}  // namespace prumo::nets
