// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

namespace prumo::bench {

/// The field `percent.roofline_interval` of a result: `low`, `high` in percent and `confidence`, or null. It follows
/// from the intervals of the time and of its floor (`roof.floor_interval`). They come from different samples, so the
/// squares of their relative widths add up.
[[nodiscard]] nlohmann::json share_interval(const nlohmann::json& result);

}  // namespace prumo::bench
