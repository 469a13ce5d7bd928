// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace prumo::bench {

/// Shares out time fairly if more is wanted than there is.

/// The level for max-min fairness: wishes below the level are granted, and larger ones are cut to it, so that the sum
/// is `available`. Infinite if all wishes fit.
[[nodiscard]] double fair_level(std::span<const double> wishes, double available);

/// Which of the `least` times must be given up, so that the rest fits into `available`: as few as possible, the longest
/// first, and of equally long ones the last. \return their places, in order
[[nodiscard]] std::vector<std::size_t> too_long(std::span<const double> least, double available);

}  // namespace prumo::bench
