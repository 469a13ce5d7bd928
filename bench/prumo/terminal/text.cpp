// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace prumo::bench {
namespace {

struct glyph {
  std::uint32_t code_point;
  std::size_t bytes;
  bool valid;
};

/// Decodes the first UTF-8 sequence of a text that is not empty.
glyph decode(std::string_view text) {
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

bool is_control(std::uint32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F); }

/// Code points from `first` to `last`.
struct code_range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t Count>
bool is_within(const std::array<code_range, Count>& ranges, std::uint32_t code_point) {
  return std::ranges::any_of(ranges,
                             [&](const code_range& it) { return code_point >= it.first && code_point <= it.last; });
}

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

/// Characters that show nothing, or change how their neighbours are shown: the soft hyphen, marks of direction,
/// characters without width, separators of lines and paragraphs, fillers, annotations and tags.
constexpr std::array<code_range, 11> invisible{{{0x00AD, 0x00AD},
                                                {0x061C, 0x061C},
                                                {0x115F, 0x1160},
                                                {0x180E, 0x180E},
                                                {0x200B, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2060, 0x206F},
                                                {0x3164, 0x3164},
                                                {0xFEFF, 0xFEFF},
                                                {0xFFF9, 0xFFFB},
                                                {0xE0000, 0xE0FFF}}};

constexpr std::array<std::string_view, 5> colours{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"};

/// How many bytes at the beginning of the text are plain: ASCII that is visible.
std::size_t plain_bytes(std::string_view text) {
  const auto is_special = [](unsigned char byte) { return byte < 0x20 || byte >= 0x7F; };
  return static_cast<std::size_t>(std::ranges::find_if(text, is_special) - text.begin());
}

/// A character that must not be shown as it is, spelled out. From the end of ASCII on, the spelling is that of JSON.
std::string spelled(const glyph& which, std::string_view bytes) {
  if (!which.valid) return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
  if (which.code_point < 0x7F) return fmt::format("\\x{:02x}", which.code_point);
  if (which.code_point < 0x10000) return fmt::format("\\u{:04x}", which.code_point);
  const std::uint32_t beyond = which.code_point - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10), 0xDC00 + (beyond & 0x3FFU));
}

/// Text in which `keep()`, asked at each special character, tells how many bytes stay as they are.
template <class Keep>
std::string spell_out(std::string_view text, Keep keep) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = plain_bytes(text);
    if (bytes == 0) bytes = keep(text);
    if (bytes > 0) {
      result.append(text.substr(0, bytes));
    } else {
      const glyph next = decode(text);
      bytes = next.bytes;
      if (next.valid && (next.code_point == '\n' || next.code_point == '\r' || next.code_point == '\t')) {
        result += ' ';
      } else if (next.valid && !is_control(next.code_point) && !is_within(invisible, next.code_point)) {
        result.append(text.substr(0, bytes));
      } else {
        result += spelled(next, text);
      }
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string sanitize(std::string_view text, std::string_view kept) {
  return spell_out(text, [&](std::string_view rest) {
    return kept.find(rest.front()) != std::string_view::npos ? std::size_t{1} : std::size_t{0};
  });
}

std::string sanitize_lines(std::string_view text) {
  return spell_out(text, [](std::string_view rest) -> std::size_t {
    if (rest.front() == '\n') return 1;
    const auto begins = [&](std::string_view colour) { return rest.starts_with(colour); };
    const auto colour = std::ranges::find_if(colours, begins);
    return colour == colours.end() ? 0 : colour->size();
  });
}

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
