// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "terminal/text.hpp"

#include <optional>
#include <span>
#include <string>

namespace prumo::bench {

// Clocks of the device while the compared times were measured. Under one power limit, two cards of one model run at
// different clocks, which is no difference of the code.

/// The ratio of time x clock of a side and the base, which is that of the clock cycles of a call. Absent if a clock is
/// not known, or if the times have no ratio.
[[nodiscard]] std::optional<double> ratio_per_clock(const compared_case& it, std::size_t base, std::size_t side);

/// The cases whose clocks differ by more than a percent between two devices of one model, or between versions: a row
/// with clocks, why they were held down, the ratio of times and that per clock, and how to read them. Empty if there
/// are none.
/// \param cases in the order of the table
/// \param all every such case, not only the first ones
[[nodiscard]] std::string clock_lines(const comparison& of, std::span<const compared_case* const> cases, bool all,
                                      const text_style& style);

}  // namespace prumo::bench
