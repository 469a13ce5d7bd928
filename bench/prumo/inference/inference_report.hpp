// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// The results of nets in a document as text for people: a row for each step, net and program, where programs spend
/// their time, and the accuracy of each device and type.
[[nodiscard]] std::string inference_report(const nlohmann::json& document, const text_style& style);

}  // namespace prumo::bench
