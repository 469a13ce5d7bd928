// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace prumo::data {

using json = nlohmann::json;

/// JSON to write, in which keys keep their order. Reading into it would take a time that grows with the square of the
/// number of keys.
using ordered_json = nlohmann::ordered_json;

/// Parses JSON in which no object names a key twice: readers would not agree on which of the two counts.
/// \throws bench::file_error that names the file and the line
[[nodiscard]] json parse_strict_json(std::string_view text, std::string_view name);

/// How messages show a value: cut to a few words.
[[nodiscard]] std::string shown(const json& value);

}  // namespace prumo::data
