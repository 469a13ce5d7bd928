// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/stopping.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace prumo::bench {

/// A case of a group whose noise no longer changes, at the end of a round.
struct steady_candidate {
  steady_noise noise;
  double target_noise = 0;
  double turn_seconds = 0;  ///< of its next turn
  double own_seconds = 0;   ///< that it may use at most, whatever the others leave
  std::size_t device = 0;
};

/// Which of the candidates stop now. A case that goes on may end at any time and leave what it has to the others, so
/// the rounds that a candidate can still get are those that fit into `left_seconds` if all but the stopping ones end at
/// once. These could go on together only, since none of them would reach its target.
/// \param probe_seconds of a turn of all probes of a device; a device that is absent has none
/// \return a flag for each candidate
[[nodiscard]] std::vector<bool> which_stop(std::span<const steady_candidate> candidates,
                                           const std::map<std::size_t, double>& probe_seconds, double left_seconds);

}  // namespace prumo::bench
