// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/live_case.hpp"

namespace prumo::bench {

/// About how long a case of short calls takes in both states.
inline constexpr double power_states_seconds = 2.6;

/// Measures a case in the states `burst` and `sustained`, and adds both to its record. The device does nothing else
/// meanwhile.
///
/// - Burst: the device idles, then works for some hundredths of a second, several times. That is too short for its
/// power
///   limit to act, and for it to become warm.
/// - Sustained: the device works at this case until neither its clock nor the median of a quarter of a second changes
///   any more, for five seconds at most. Then it is measured for a second, which is also long enough for the energy
///   counters of GPUs.
///
/// A worker that fails costs the states only: the case keeps what was measured in turns, and a warning tells it.
/// \throws interrupted
void measure_power_states(live_case& which, steady_time deadline);

}  // namespace prumo::bench
