// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace prumo::protocol {

/// How deep objects and lists may be nested. Copying, comparing and writing a value calls itself for each level, so
/// text from outside could overflow the stack without a limit.
inline constexpr int deepest_json = 64;

/// JSON text that is nested deeper than `deepest_json`.
class json_too_deep : public std::runtime_error {
 public:
  json_too_deep() : std::runtime_error("nested more than " + std::to_string(deepest_json) + " levels deep") {}
};

/// Parses JSON from files, workers or other programs. All such text comes through here.
/// \throws json_too_deep; nlohmann::json::exception for text that is no JSON
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text) {
  return Json::parse(text, [](int depth, typename Json::parse_event_t, Json&) {
    if (depth > deepest_json) throw json_too_deep();
    return true;
  });
}

}  // namespace prumo::protocol
