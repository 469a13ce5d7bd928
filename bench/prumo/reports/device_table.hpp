// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// The tables of `prumo devices` for people, from the `devices` array of a results document: a block for each
/// device with facts, caches, clocks and power, then its peaks with where each came from, then its measured
/// ceilings. Unknown is `n/a`. Ends with a line break.
[[nodiscard]] std::string devices_table(const nlohmann::json& devices, const text_style& style);

}  // namespace prumo::bench
