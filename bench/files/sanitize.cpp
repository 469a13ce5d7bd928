// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/code_points.hpp>
#include <prumo/files/sanitize.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace prumo::bench {
namespace {

bool is_control(std::uint32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F); }

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

std::string hexadecimal(std::uint32_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t place = digits; place-- > 0; value >>= 4) text[place] = "0123456789abcdef"[value & 0xFU];
  return text;
}

/// A character that must not be shown as it is, spelled out. From the end of ASCII on, the spelling is that of JSON.
std::string spelled(const glyph& which, std::string_view bytes) {
  if (!which.valid) return "\\x" + hexadecimal(static_cast<unsigned char>(bytes.front()), 2);
  if (which.code_point < 0x7F) return "\\x" + hexadecimal(which.code_point, 2);
  if (which.code_point < 0x10000) return "\\u" + hexadecimal(which.code_point, 4);
  const std::uint32_t beyond = which.code_point - 0x10000;
  return "\\u" + hexadecimal(0xD800 + (beyond >> 10), 4) + "\\u" + hexadecimal(0xDC00 + (beyond & 0x3FFU), 4);
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

}  // namespace prumo::bench
