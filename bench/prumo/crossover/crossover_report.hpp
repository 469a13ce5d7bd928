// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "crossover/crossover.hpp"
#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// A workload's table, its break-even sizes, and what was left out. The table has a row for each size with the time of
/// each device, and the time of challengers as a multiple of the first host's.
[[nodiscard]] std::string crossover_table(const crossover_workload& workload, const crossover_curves& curves,
                                          const text_style& style);

/// A plot of time over size, both logarithmic.
[[nodiscard]] std::string crossover_plot(const crossover_workload& workload, const crossover_curves& curves,
                                         const text_style& style);

/// The published times of (x @ y.T).sum(), each beside the time measured here at its size. `published` is the document
/// of the set `mps`.
[[nodiscard]] std::string published_times_table(const nlohmann::json& published, const crossover_curves& curves,
                                                const text_style& style);

}  // namespace prumo::bench
