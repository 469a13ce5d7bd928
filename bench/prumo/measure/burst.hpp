// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/protocol/messages.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <optional>

namespace prumo::bench {

/// How a device is looked at in the state `burst`: it idles, then works for a moment, several times.
struct burst_plan {
  double idle_seconds;
  double work_seconds;  ///< a longer call is made once
  int repetitions;

  [[nodiscard]] constexpr double seconds() const { return repetitions * (idle_seconds + work_seconds); }
};

/// The plans in the order in which they are tried. A device's power controller acts on an average of the last tenths of
/// a second or longer, and within some milliseconds. Its makers do not tell these times, so they are measured: work is
/// not held down if the device does not say so, and if a longer idling makes it no faster.
inline constexpr std::array burst_plans{burst_plan{0.2, 0.005, 6}, burst_plan{0.5, 0.005, 4}, burst_plan{1, 0.005, 4},
                                        burst_plan{2, 0.0025, 4}};

/// By which share a median must be smaller than another one to be faster.
inline constexpr double burst_tolerance = 0.005;

/// What is known of a case before its burst is measured.
struct burst_setting {
  double turn_seconds = 0;  ///< the time of a call in turns with other cases; 0: not known
  bool throttled_in_turns = false;
  bool may_be_limited = true;  ///< false: only the first plan is tried
  double seconds_left = 1e9;   ///< no plan but the first is tried that takes longer
};

/// Measures a case in the state `burst`, with the first plan that is not held down by the power limit.
///
/// The first plan will do if the device tells of no throttling, neither during the turns nor now, and if the case is no
/// faster than in its turns. Otherwise the next ones are tried, until the device tells of none and the case is no
/// faster than with the plan before (`settled`). Then the fastest plan that was not held down counts, because a device
/// that idles for long also takes longer to wake up. If no plan settles it, the last one counts.
/// \param look idles and works once; absent if the worker failed
/// \return the entry of docs/results.md; null if the worker failed with the first plan
/// \throws what `look` throws
[[nodiscard]] nlohmann::json measure_burst(
    const std::function<std::optional<protocol::sample_answer>(const burst_plan&)>& look, const burst_setting& setting);

}  // namespace prumo::bench
