// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reads the attributes that a GPU's runtime gives as plain integers.

#include <cstdint>
#include <optional>

namespace prumo::machine {

/// The value, or nothing if it is not above zero: drivers answer 0 for what they do not know.
inline std::optional<int> positive(std::optional<int> value) { return value.value_or(0) > 0 ? value : std::nullopt; }

/// The same for a size in bytes.
inline std::optional<std::int64_t> positive_size(std::optional<int> value) {
  if (!positive(value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

/// A clock in MHz from one in kHz; nothing if it is not above zero.
inline std::optional<double> megahertz_of(std::optional<int> kilohertz) {
  if (!positive(kilohertz)) return std::nullopt;
  return *kilohertz * 1e-3;
}

/// A yes or no that the runtime gives as a number.
inline std::optional<bool> flag(std::optional<int> value) {
  if (!value) return std::nullopt;
  return *value != 0;
}

}  // namespace prumo::machine
