// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>

namespace prumo::bench {

using steady_time = std::chrono::steady_clock::time_point;

/// Seconds from now to `when`; negative where it has passed.
[[nodiscard]] double seconds_until(steady_time when);
/// Seconds since `when`.
[[nodiscard]] double seconds_since(steady_time when);
/// `seconds` from now, now for a negative number; unlimited for an infinite one.
[[nodiscard]] steady_time after_seconds(double seconds);

}  // namespace prumo::bench
