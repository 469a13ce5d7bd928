// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/live_case.hpp"
#include "measure/burst.hpp"

namespace prumo::bench {

/// About how long a case of short calls takes in the state `sustained`, and in both states.
inline constexpr double sustained_seconds = 1.75;
inline constexpr double power_states_seconds = burst_plans.front().seconds() + sustained_seconds;

/// Measures a case in the states `burst` and `sustained`, and adds both to its record. The device does nothing else
/// meanwhile.
///
/// - Burst: the device idles, then works for some milliseconds, several times, with the first of `burst_plans` that the
///   power limit does not hold down. Where none is, a warning says so.
/// - Sustained: the device works at this case until neither its clock nor the median of a quarter of a second changes
///   any more, for five seconds at most. Then it is measured for a second, which is also long enough for the energy
///   counters of GPUs. Where a power limit may hold the case down, both take two seconds at least.
///
/// A worker that fails costs the states only: the case keeps what was measured in turns, and a warning tells it.
/// \throws interrupted
void measure_power_states(live_case& which, steady_time deadline);

}  // namespace prumo::bench
