// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>

namespace prumo::bench {

using steady_time = std::chrono::steady_clock::time_point;

/// Seconds from now to `when`; negative if it has passed.
[[nodiscard]] double seconds_until(steady_time when);
/// Seconds since `when`.
[[nodiscard]] double seconds_since(steady_time when);
/// The time `seconds` from now; now if the number is negative, and never if it is infinite.
[[nodiscard]] steady_time after_seconds(double seconds);

}  // namespace prumo::bench
