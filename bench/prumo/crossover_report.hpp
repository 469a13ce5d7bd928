// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "crossover.hpp"
#include "text_table.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// A workload's table (a row a size: the time of each device, and the challengers' as a multiple of the first host's),
/// its break-even sizes, and what was left out.
[[nodiscard]] std::string crossover_table(const crossover_workload& workload, const crossover_curves& curves,
                                          const text_style& style);

/// Time over size, both logarithmic.
[[nodiscard]] std::string crossover_plot(const crossover_workload& workload, const crossover_curves& curves,
                                         const text_style& style);

/// The lesson's published figures, each with what was measured here at its size beside it. `published` is the document
/// of the set `mps`.
[[nodiscard]] std::string lesson_table(const nlohmann::json& published, const crossover_curves& curves,
                                       const text_style& style);

}  // namespace prumo::bench
