// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prumo::bench {

/// A code point at the beginning of a text, or a byte of broken UTF-8.
struct glyph {
  std::uint32_t code_point;
  std::size_t bytes;
  bool valid;
};

/// Decodes the first UTF-8 sequence of a text that is not empty.
inline glyph decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {0, 1, false};
  std::uint32_t code_point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {0, 1, false};
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest[length] || code_point > 0x10FFFF || surrogate) return {0, 1, false};
  return {code_point, length, true};
}

/// Code points from `first` to `last`.
struct code_range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t Count>
[[nodiscard]] bool is_within(const std::array<code_range, Count>& ranges, std::uint32_t code_point) {
  return std::ranges::any_of(ranges,
                             [&](const code_range& it) { return code_point >= it.first && code_point <= it.last; });
}

}  // namespace prumo::bench
