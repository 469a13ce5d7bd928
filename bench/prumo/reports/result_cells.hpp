// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "results/result_fields.hpp"
#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace prumo::bench {

// How the fields of a result read in a table; empty where they are unknown.

/// The bytes of one array: `2MiB`.
[[nodiscard]] std::string size_cell(const nlohmann::json& result);

/// `m=512 n=64`, `k=m=n=724` where all are equal, nothing for a single axis: the size says it.
[[nodiscard]] std::string shape_cell(const nlohmann::json& result);

/// `resident`, or what transferred data came from: `pinned` or `pageable`.
[[nodiscard]] std::string data_cell(const nlohmann::json& result);

/// The rate in flops where arithmetic is what counts, else in bytes, else in elements.
[[nodiscard]] std::string rate_cell(const nlohmann::json& result);

/// Half the inter-quartile range relative to the median; `±?` for a single sample.
[[nodiscard]] std::string spread_cell(const nlohmann::json& result, const text_style& style);

/// A number of seconds with its unit.
[[nodiscard]] std::string seconds_cell(const nlohmann::json& value, const text_style& style);

/// A number of percent without a blank: columns are scarce.
[[nodiscard]] std::string percent_cell(const nlohmann::json& value);

/// What a call that the host launched by itself takes beyond a kernel that does next to nothing; empty for other calls.
[[nodiscard]] std::string beyond_launch_cell(const nlohmann::json& result, const text_style& style);

/// What a call with transfers takes beside its copies; empty where they overlap with the kernel, or there are none.
[[nodiscard]] std::string kernel_cell(const nlohmann::json& result, const text_style& style);

}  // namespace prumo::bench
