// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The name that a document of this version carries in its field `schema`.
inline constexpr std::string_view results_schema_name = "prumo.results/1";

/// The text of docs/results.schema.json, embedded when the program was built.
[[nodiscard]] std::string_view results_schema_text();

/// One field that breaks the schema.
struct schema_violation {
  std::string path;     ///< JSON pointer of the offending value, `/results/3/time_s/median`; empty: the document
  std::string message;  ///< what is wrong with it
};

/// Checks a whole document. Empty: it is valid.
[[nodiscard]] std::vector<schema_violation> validate_results(const nlohmann::json& document);

/// Checks one entry of `results` alone; paths start at the entry. Empty: it is valid.
[[nodiscard]] std::vector<schema_violation> validate_result(const nlohmann::json& result);

}  // namespace prumo::bench
