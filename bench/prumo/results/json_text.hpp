// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace prumo::bench {

/// The document that `text` holds; `name` is how messages call it.
/// \throws file_error for an empty or truncated text, broken JSON (with line and column), and values nested so deep
///         that they could overflow the stack of whoever walks them
[[nodiscard]] nlohmann::json parse_json(std::string_view text, std::string_view name);

}  // namespace prumo::bench
