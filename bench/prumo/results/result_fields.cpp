// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/result_fields.hpp"

#include "statistics/median_interval.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace prumo::bench {

using nlohmann::json;

namespace {

constexpr std::string_view throttle_warning_begin = "the device was throttled: ";
constexpr std::string_view between_reasons = ", ";

}  // namespace

const json& field(const json& value, const char* pointer) {
  static const json null;
  // Not json::json_pointer, whose parsing would be most of the time that a long table takes.
  const json* found = &value;
  for (std::string_view rest(pointer); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string name(rest.substr(0, rest.find('/')));
    if (!found->is_object()) return null;
    const auto child = found->find(name);
    if (child == found->end()) return null;
    found = &*child;
    rest.remove_prefix(name.size());
  }
  return *found;
}

bool lacked_memory(const nlohmann::json& result) {
  return text_of(field(result, "/status")) == "skipped" &&
         text_of(field(result, "/reason")).starts_with(too_little_memory);
}

std::string throttle_warning(const std::set<std::string>& reasons) {
  return fmt::format("{}{}", throttle_warning_begin, fmt::join(reasons, between_reasons));
}

std::set<std::string> throttle_reasons(const json& result) {
  std::set<std::string> reasons;
  for (const json& warning : field(result, "/warnings")) {
    const std::string text = text_of(warning);
    if (!text.starts_with(throttle_warning_begin)) continue;
    for (std::size_t begin = throttle_warning_begin.size(); begin < text.size();) {
      const std::size_t end = std::min(text.find(between_reasons, begin), text.size());
      reasons.insert(text.substr(begin, end - begin));
      begin = end + between_reasons.size();
    }
  }
  return reasons;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

std::optional<double> number_of(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

json or_null(const std::optional<double>& number) { return number ? json(*number) : json(); }

json median_or_null(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double median = summarize(values).median;
  return median > 0 ? json(median) : json();
}

std::string named_values(const json& object) {
  std::string text;
  if (!object.is_object()) return text;
  for (const auto& [name, value] : object.items()) {
    const std::string shown =
        value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(shown);
  }
  return text;
}

json share_interval(const json& result) {
  const auto share = number_of(field(result, "/percent/roofline"));
  const auto floor = number_of(field(result, "/roof/floor_s"));
  const auto floor_low = number_of(field(result, "/roof/floor_interval/low"));
  const auto floor_high = number_of(field(result, "/roof/floor_interval/high"));
  const auto time = number_of(field(result, "/time_s/median"));
  const auto time_low = number_of(field(result, "/time_s/interval/low"));
  const auto time_high = number_of(field(result, "/time_s/interval/high"));
  if (!share || !floor || !floor_low || !floor_high || !time || !time_low || !time_high) return nullptr;
  if (!(*floor_low > 0) || !(*time_low > 0)) return nullptr;
  // A share is large if the ceiling allows a long time and the case took a short one.
  const double below = std::hypot(std::log(*floor / *floor_low), std::log(*time_high / *time));
  const double above = std::hypot(std::log(*floor_high / *floor), std::log(*time / *time_low));
  return {{"low", *share * std::exp(-below)}, {"high", *share * std::exp(above)}, {"confidence", interval_confidence}};
}

}  // namespace prumo::bench
