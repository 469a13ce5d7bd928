// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "terminal/footnotes.hpp"
#include "terminal/text_table.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace prumo::bench {

/// What the sides of a comparison show of each case.
enum class comparison_value { time, rate, elements, roofline, peak, energy };

/// `time`, `rate`, ...
[[nodiscard]] std::string_view to_string(comparison_value by);

// How a comparison reads in a table; empty where it is unknown.

/// The rate that fits the case, in flops, bytes or elements, of a cell and its figures.
[[nodiscard]] std::string rate_text(const case_cell& cell, const cell_figures& figures);

/// The value of a cell: `1.05 ms`, `38.1 GB/s`, `95.8%`, `3.5 J`; a published figure has a star behind it. Where
/// nothing was measured, the status: `skipped`, or with a note that tells why, `failed [1]`.
[[nodiscard]] text_table::cell value_cell(const case_cell& cell, comparison_value by, footnotes& notes,
                                          const text_style& style);

/// How a side stands to the base in this value: for time and rates how many times as fast, for shares and energy the
/// quotient of the values. Absent where one is unknown or the two cannot be compared.
[[nodiscard]] std::optional<double> relative_value(const compared_case& it, std::size_t base, std::size_t side,
                                                   comparison_value by);

/// `1.23x`; `~` in front where the interval holds one: it may as well be the same.
[[nodiscard]] text_table::cell relative_cell(const compared_case& it, std::size_t base, std::size_t side,
                                             comparison_value by, footnotes& notes);

/// `0.97..1.02`, the confidence interval of the ratio of times.
[[nodiscard]] std::string interval_cell(const case_outcome& outcome);

/// `same`, `slower`; `refused [2]`, `failed [1]`, `no verdict`.
[[nodiscard]] text_table::cell verdict_cell(const compared_case& it, std::size_t base, std::size_t side,
                                            footnotes& notes);

}  // namespace prumo::bench
