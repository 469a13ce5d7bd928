// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reads the extras of device_facts, which backends compute peaks from.

#include <prumo/machine/device_facts.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::machine {

/// The extra of that name; null if there is none.
inline const fact_value* extra_of(const device_facts& facts, std::string_view name) {
  for (const fact& each : facts.extras) {
    if (each.name == name) return &each.value;
  }
  return nullptr;
}

/// A number, whole or not; none if the extra is unknown or no number.
inline std::optional<double> number_of(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra_of(facts, name);
  if (found == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&found->value)) return *real;
  return std::nullopt;
}

/// A text; empty if the extra is unknown or no text.
inline std::string text_of(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra_of(facts, name);
  const auto* const known = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return known == nullptr ? std::string() : *known;
}

/// Whether the extra is known to be true.
inline bool is_true(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra_of(facts, name);
  const auto* const known = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return known != nullptr && *known;
}

/// The number without decimals: `1980` for 1980.2.
inline std::string whole_digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.0f", value);
  return buffer;
}

}  // namespace prumo::machine
