// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text.hpp"

#include <prumo/files/code_points.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace prumo::bench {
namespace {

/// The blocks of combining marks (Unicode 15, general category Mn, by block).
constexpr std::array<code_range, 6> combining{
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};

/// The blocks of East Asian and pictorial characters (Unicode Standard Annex 11, classes W and F, by block).
constexpr std::array<code_range, 11> wide{{{0x1100, 0x115F},
                                           {0x2E80, 0x303E},
                                           {0x3041, 0xA4CF},
                                           {0xAC00, 0xD7A3},
                                           {0xF900, 0xFAFF},
                                           {0xFE30, 0xFE6F},
                                           {0xFF00, 0xFF60},
                                           {0xFFE0, 0xFFE6},
                                           {0x1F300, 0x1F64F},
                                           {0x1F900, 0x1F9FF},
                                           {0x20000, 0x3FFFD}}};

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const glyph next = decode(text);
    constexpr std::uint32_t first_uncommon = 0x0300;  // most text is below
    if (next.code_point < first_uncommon) {
      ++columns;
    } else {
      columns += is_within(combining, next.code_point) ? 0U : is_within(wide, next.code_point) ? 2U : 1U;
    }
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string fit(std::string_view text, std::size_t width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const glyph next = decode(text);
    const std::size_t columns = display_width(text.substr(0, next.bytes));
    if (used + columns > width - 1) break;
    result.append(text.substr(0, next.bytes));
    used += columns;
    text.remove_prefix(next.bytes);
  }
  return result + (unicode ? "…" : "~");
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  const auto end_line = [&] {
    lines.push_back(std::move(line));
    line.clear();
    used = 0;
  };
  std::size_t position = 0;
  while (position < text.size()) {
    const auto end = std::min(text.find(' ', position), text.size());
    std::string_view word = text.substr(position, end - position);
    position = end + 1;
    if (word.empty()) continue;
    if (used > 0 && used + 1 + display_width(word) > width) end_line();
    if (used > 0) {
      line += ' ';
      ++used;
    }
    while (!word.empty()) {  // a word wider than the line is broken
      const glyph next = decode(word);
      const std::size_t columns = display_width(word.substr(0, next.bytes));
      if (used > 0 && used + columns > width) end_line();
      line.append(word.substr(0, next.bytes));
      used += columns;
      word.remove_prefix(next.bytes);
    }
  }
  if (!line.empty() || lines.empty()) end_line();
  return lines;
}

std::string emphasize(std::string_view text, emphasis how, const text_style& style) {
  if (!style.color || how == emphasis::none || text.empty()) return std::string(text);
  std::string_view sequence;
  switch (how) {
    case emphasis::heading: sequence = "\x1b[1m"; break;
    case emphasis::good: sequence = "\x1b[32m"; break;
    case emphasis::bad: sequence = "\x1b[31m"; break;
    case emphasis::muted: sequence = "\x1b[2m"; break;
    case emphasis::none: break;
  }
  return std::string(sequence).append(text).append("\x1b[0m");
}

std::string with_micro(std::string text, const text_style& style) {
  const auto micro = style.unicode ? std::string::npos : text.find("µ");
  if (micro != std::string::npos) text.replace(micro, std::string_view("µ").size(), "u");
  return text;
}

std::string paragraph(std::string_view text, const text_style& style, emphasis how) {
  std::string out;
  for (const std::string& line : wrap(sanitize(text), static_cast<std::size_t>(style.width))) {
    out += emphasize(line, how, style) + '\n';
  }
  return out;
}

}  // namespace prumo::bench
