// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "results/result_fields.hpp"
#include "terminal/footnotes.hpp"
#include "terminal/text.hpp"
#include "terminal/text_table.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace prumo::bench {

// How the fields of a result read in a table; empty where they are unknown.

/// The bytes of one array: `2MiB`.
[[nodiscard]] std::string size_cell(const nlohmann::json& result);

/// `m=512 n=64`; `k=m=n=724` if all are equal; nothing for a single axis, if there is a size, which says it.
[[nodiscard]] std::string shape_cell(const nlohmann::json& result);

/// `resident`, or what transferred data came from: `pinned` or `pageable`.
[[nodiscard]] std::string data_cell(const nlohmann::json& result);

/// The rate in flops if arithmetic counts, or else in bytes, or else in elements.
[[nodiscard]] std::string rate_cell(const nlohmann::json& result);

/// Half of the interval of the median, over the median. Also the number of samples where they are few, or where there
/// is no interval.
[[nodiscard]] std::string spread_cell(const nlohmann::json& result, const text_style& style);

/// Half of the interval of the share of the roofline, over that share; empty where it is not known.
[[nodiscard]] std::string share_spread_cell(const nlohmann::json& result, const text_style& style);

/// `memory`; `compute: exp` if the rate of a kind of function is the bound, and not that of all flops.
[[nodiscard]] std::string bound_cell(const nlohmann::json& result);

/// True if flops bound the result, whatever their kind.
[[nodiscard]] bool is_bound_by_flops(const nlohmann::json& result);

/// A number of seconds with its unit.
[[nodiscard]] std::string seconds_cell(const nlohmann::json& value, const text_style& style);

/// A number of percent without a blank: columns are scarce.
[[nodiscard]] std::string percent_cell(const nlohmann::json& value);

/// The time of a call that the host launched by itself, less that of a kernel that does next to nothing; empty for
/// other calls.
[[nodiscard]] std::string beyond_launch_cell(const nlohmann::json& result, const text_style& style);

/// The time of a call with transfers, less that of its copies; empty if these overlap with the kernel, or if there are
/// none.
[[nodiscard]] std::string kernel_cell(const nlohmann::json& result, const text_style& style);

/// How many results were stopped because their noise was known, and what that means; empty if there are none.
[[nodiscard]] std::string steady_note(const nlohmann::json& results);

/// Whether a net's result was right: `ok`, `WRONG` or `failed`, with notes that tell the reason and the warnings.
[[nodiscard]] text_table::cell check_cell(const nlohmann::json& result, footnotes& notes);

}  // namespace prumo::bench
