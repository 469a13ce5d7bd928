// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace prumo::bench {

/// One field by RFC 4180: quoted where it holds a comma, quote or line break. Text that a spreadsheet would
/// take for a formula (it begins with `=`, `+`, `-`, `@`, tab or carriage return) gets an apostrophe in
/// front.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The results of a document as CSV: a header, then a line a result, ended by CRLF as RFC 4180 wants. The
/// columns are described in docs/results.md; unknown is empty.
[[nodiscard]] std::string results_csv(const nlohmann::json& document);

/// How the text of results_csv() begins, in every version of prumo.
inline constexpr std::string_view results_csv_head = "run_id,device_name,kind,key,op,";

}  // namespace prumo::bench
