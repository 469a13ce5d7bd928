// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// The table of `prumo bench` for people, from a results document: a block for each operation, and a row for each size,
/// device and mode, with time and spread, rate, share of the roofline, bound and verification; skipped and failed
/// rows with their reason; warnings and a count of statuses below. Ends with a line break.
[[nodiscard]] std::string bench_table(const nlohmann::json& document, const text_style& style);

}  // namespace prumo::bench
