// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "comparison/comparison_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The name that a comparison carries in its field `schema`; docs/comparing.md describes it.
inline constexpr std::string_view comparison_schema_name = "prumo.comparison/1";

/// A judged comparison as a JSON document, one case a line. `command` are the words of the command line.
[[nodiscard]] std::string dump_comparison(const comparison& of, const comparison_view& view,
                                          const std::vector<std::string>& command);

/// A judged comparison as CSV: a header, then a line a case and side other than the base, ended by CRLF as RFC 4180
/// wants.
[[nodiscard]] std::string comparison_csv(const comparison& of);

/// Refuses a path for a comparison where something else lies already: results, or another program's file.
/// \throws results_error
void check_comparison_replaceable(const std::string& path);

}  // namespace prumo::bench
