// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/machine/device_facts.hpp>

#include <limits>
#include <optional>
#include <vector>

namespace prumo::machine {

/// The peak of that kind; null where there is none.
inline const peak* find(const std::vector<peak>& peaks, peak_unit unit, std::optional<dtype> type,
                        peak_clock clock = peak_clock::max) {
  for (const peak& each : peaks) {
    if (each.unit == unit && each.type == type && each.clock == clock) return &each;
  }
  return nullptr;
}

/// In units of 10^12 a second, as datasheets tell them; not a number where it is not known, zero where there is no such
/// peak.
inline double tera(const std::vector<peak>& peaks, peak_unit unit, std::optional<dtype> type) {
  const peak* const found = find(peaks, unit, type);
  if (found == nullptr) return 0;
  return found->value ? *found->value / 1e12 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace prumo::machine
