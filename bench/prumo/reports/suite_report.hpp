// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/suites.hpp"
#include "results/published_figures.hpp"
#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace prumo::bench {

/// The tables of a suite's study: MFlop/s and efficiency of each operation and size, of the published devices and, from
/// `document`, of those that were measured. Published rates are of flops that counters saw, those measured here of
/// counted flops; the text says so.
[[nodiscard]] std::string suite_report(const suite& which, const published_set& published,
                                       const nlohmann::json& document, const text_style& style);

/// Published rows below the table of what was measured: those of the operations of `document`, or all of a set that
/// has none of them. Each set with its source and what that lacks.
[[nodiscard]] std::string published_tables(std::span<const published_set> sets, const nlohmann::json& document,
                                           const text_style& style);

}  // namespace prumo::bench
