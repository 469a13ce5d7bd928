// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The document, if it follows the schema of this version; `name` is how messages call it.
/// \throws file_error as parse_results()
[[nodiscard]] nlohmann::json checked_results(nlohmann::json document, std::string_view name);

/// One result as a line of JSON without a line break, fields in the order of the documentation.
[[nodiscard]] std::string dump_result_line(const nlohmann::json& result);

/// A document from results that are serialised already.
[[nodiscard]] std::string dump_document(const nlohmann::json& run, const nlohmann::json& devices,
                                        const std::vector<std::string>& result_lines);

}  // namespace prumo::bench
