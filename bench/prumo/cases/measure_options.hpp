// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/power_state.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace prumo::bench {

/// How cases are measured.
struct measure_options {
  double budget_seconds = 120;     ///< of the whole run; infinite: none
  double case_limit_seconds = 10;  ///< the longest time for one case, even if time is left
  /// Half of the 95 % interval of the median, over the median; absent: 0.25 % for GPUs, 1 % for CPUs.
  std::optional<double> target_noise;
  std::size_t minimum_samples = 10;
  double minimum_seconds = 0.1;  ///< of samples for each case
  std::uint64_t seed = 1;
  bool verify = true;
  bool probe_ceilings = true;
  state_choice states = state_choice::largest;  ///< which cases are measured in `burst` and `sustained`, too
  double count_limit = 1e7;                     ///< operations up to which counted flops come from running the kernel
  std::size_t process_runs = 1;                 ///< how many times everything is measured by fresh worker processes
  /// What is left out if the budget is too short. True: the same shapes on all devices, because a shape that was
  /// measured on one device only cannot be compared. False: on each device the cases that take the longest there.
  bool leaves_out_whole_groups = false;
  /// Up to how many times, as long as the answer is open. Not used if it is not above `process_runs`.
  std::size_t most_process_runs = 1;
};

}  // namespace prumo::bench
