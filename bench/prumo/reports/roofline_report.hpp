// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "rates/roofline.hpp"
#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace prumo::bench {

/// The roofs of each device of a results document: memory, arithmetic, ridge points. Where the document has results,
/// the best of each operation with its share of the measured roof. Devices of which nothing is known say so.
[[nodiscard]] std::string roofline_table(const nlohmann::json& document, const std::vector<std::string>& dtypes,
                                         const text_style& style);

/// Plots of rate over intensity, both logarithmic, for each device and type, with its measured roofs, its theoretical
/// one, and the operations of the document as points.
[[nodiscard]] std::string roofline_plots(const nlohmann::json& document, const std::vector<std::string>& dtypes,
                                         const text_style& style);

}  // namespace prumo::bench
