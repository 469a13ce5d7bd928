// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "comparison/report/comparison_table.hpp"

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

/// How the text of comparison_csv() begins, in every version of prumo.
inline constexpr std::string_view comparison_csv_head = "key,op,dtype,bytes_per_array,device,base,side,";

/// Refuses a file that is no comparison: results, or another program's file. \throws file_error
void check_is_comparison(const std::string& path);

}  // namespace prumo::bench
