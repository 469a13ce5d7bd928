// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace prumo::bench {

/// How time is shared out fairly among those who want more of it than there is.

/// The level up to which everybody gets what he wishes so that all together get `available`: who wishes less than it
/// gets his wish, who wishes more gets the level (max-min fairness). Infinite where all wishes fit.
[[nodiscard]] double fair_level(std::span<const double> wishes, double available);

/// Which of the `least` times have to be given up, the longest first, so that the rest fits into `available`: the
/// fewest that it takes. \return their places, in order
[[nodiscard]] std::vector<std::size_t> too_long(std::span<const double> least, double available);

}  // namespace prumo::bench
