// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The beginning of the reason of a result that was skipped because memory is short, whoever noticed it.
inline constexpr std::string_view too_little_memory = "too little memory";

/// Whether a result was skipped for that reason.
[[nodiscard]] bool lacked_memory(const nlohmann::json& result);

/// The warning of a result whose device held its clock down while it was measured. What follows is why, as the device
/// tells it.
[[nodiscard]] std::string throttle_warning(const std::set<std::string>& reasons);

/// The reasons that the warnings of a result give for that; none where the device told of no throttling.
[[nodiscard]] std::set<std::string> throttle_reasons(const nlohmann::json& result);

/// A field of nested objects by its path (`/time_s/median`), null where it is absent.
[[nodiscard]] const nlohmann::json& field(const nlohmann::json& value, const char* pointer);

/// A text, empty where the value is none.
[[nodiscard]] std::string text_of(const nlohmann::json& value);

/// `m=512 n=64`: the fields of a flat object; empty where the value is none.
[[nodiscard]] std::string named_values(const nlohmann::json& object);

/// A number, null where it is absent.
[[nodiscard]] nlohmann::json or_null(const std::optional<double>& number);

/// The median of measured quantities, null where there are none or it is zero.
[[nodiscard]] nlohmann::json median_or_null(const std::vector<double>& values);

/// A number, absent where the value is none.
[[nodiscard]] std::optional<double> number_of(const nlohmann::json& value);

/// The field `percent.roofline_interval` of a result: `low`, `high` in percent and `confidence`, or null. It follows
/// from the intervals of the time and of its floor (`roof.floor_interval`). They come from different samples, so the
/// squares of their relative widths add up.
[[nodiscard]] nlohmann::json share_interval(const nlohmann::json& result);

}  // namespace prumo::bench
