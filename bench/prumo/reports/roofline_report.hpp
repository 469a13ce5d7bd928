// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "rates/roofline.hpp"
#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace prumo::bench {

/// The roofs of each device of a results document: memory, arithmetic, ridge points. Then a row for each result that
/// has a time, with the ceilings and the share that the document has for it (`roof`, `percent.roofline`). Devices of
/// which nothing is known say so. `dtypes` are the types, all if it is empty.
[[nodiscard]] std::string roofline_table(const nlohmann::json& document, const std::vector<std::string>& dtypes,
                                         const text_style& style);

/// Plots of rate over intensity, both logarithmic: for each device, type, cache state and size its results as points,
/// below the roofs that they were judged by and the theoretical one. A type without results has a plot of its roofs.
[[nodiscard]] std::string roofline_plots(const nlohmann::json& document, const std::vector<std::string>& dtypes,
                                         const text_style& style);

}  // namespace prumo::bench
