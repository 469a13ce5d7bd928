// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_table.hpp"

#include <ftxui/screen/string.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace prumo::bench {
namespace {

constexpr std::size_t gap = 2;             // blanks between columns
constexpr std::size_t narrowest = 4;       // no column is cut below this
constexpr std::size_t legible = 8;         // text stays this long while something else can give way
constexpr std::size_t wrap_at_least = 20;  // the last column keeps this much before the others are cut

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

/// Characters that show nothing but change how their neighbours are shown.
bool is_invisible(std::uint32_t code_point) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) {
    return code_point >= first && code_point <= last;
  };
  return within(0x200B, 0x200F) || within(0x2028, 0x202E) || within(0x2060, 0x206F) || code_point == 0x061C ||
         code_point == 0xFEFF || within(0xE0000, 0xE0FFF);
}

/// Splits at `width` columns, at a blank where there is one.
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

std::size_t needed_width(const std::vector<std::size_t>& shown, const std::vector<std::size_t>& widths) {
  return std::accumulate(shown.begin(), shown.end(), gap * (shown.size() - 1),
                         [&](std::size_t sum, std::size_t i) { return sum + widths[i]; });
}

std::string padding(std::size_t used, std::size_t width) { return std::string(width > used ? width - used : 0, ' '); }

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string sanitize(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const glyph next = decode(text);
    if (!next.valid) {
      result += "\xEF\xBF\xBD";  // U+FFFD
    } else if (next.code_point == '\n' || next.code_point == '\r' || next.code_point == '\t') {
      result += ' ';
    } else if (is_control(next.code_point)) {
      result += '?';
    } else if (!is_invisible(next.code_point)) {
      result.append(text.substr(0, next.bytes));
    }
    text.remove_prefix(next.bytes);
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return text.size();
  return static_cast<std::size_t>(std::max(0, ftxui::string_width(std::string(text))));
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

text_table::text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

void text_table::add_row(std::vector<cell> cells) {
  if (cells.size() > columns_.size()) throw std::invalid_argument("text_table: more cells than columns");
  for (cell& entry : cells) entry.text = sanitize(entry.text);
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), false});
}

void text_table::add_heading(const std::string& text) {
  rows_.push_back({{cell{sanitize(text), emphasis::heading}}, true});
}

text_table::layout text_table::lay_out(std::size_t width) const {
  layout result;
  auto& [shown, widths, cut] = result;
  widths.assign(columns_.size(), 0);
  for (const row& entry : rows_) {
    if (entry.heading) continue;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(entry.cells[i].text));
    }
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], display_width(columns_[i].title));
    shown.push_back(i);
  }
  if (shown.empty()) return result;

  const auto excess = [&] {
    const std::size_t needed = needed_width(shown, widths);
    return needed > width ? needed - width : 0;
  };
  const auto shorten = [&](std::size_t least, bool text_only) {
    while (excess() > 0) {
      std::size_t* widest = nullptr;
      for (const std::size_t i : shown) {
        if (text_only && columns_[i].alignment != align::left) continue;
        if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
      }
      if (widest == nullptr || *widest <= least) return;
      --*widest;
    }
  };

  std::size_t& last = widths[shown.back()];
  if (last > wrap_at_least) last = std::max(wrap_at_least, last - std::min(last, excess()));
  shorten(legible, true);
  for (std::size_t i = shown.size(); i-- > 0 && excess() > 0;) {
    if (columns_[shown[i]].may_be_dropped) shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(i));
  }
  shorten(narrowest, false);
  cut = excess() > 0;
  return result;
}

std::string text_table::render(const text_style& style) const {
  const std::size_t total = static_cast<std::size_t>(std::max(style.width, static_cast<int>(narrowest)));
  const layout laid_out = lay_out(total);
  const auto& shown = laid_out.shown;
  const auto& widths = laid_out.widths;
  const bool cut = laid_out.cut;
  text_style line_style = style;
  line_style.color = style.color && !cut;  // a line must not be cut within a colour's sequence

  std::string out;
  const auto append_line = [&](const std::vector<cell>& cells) {
    std::string line;
    std::vector<std::string> wrapped;
    std::size_t start = 0;  // where the last column begins
    std::size_t used = 0;
    for (const std::size_t i : shown) {
      const bool is_last = i == shown.back();
      std::string text;
      if (is_last && columns_[i].alignment == align::left) {
        wrapped = wrap(cells[i].text, widths[i]);
        text = wrapped.front();
      } else {
        text = fit(cells[i].text, widths[i], style.unicode);
      }
      if (used > 0) line.append(gap, ' ');
      used += used > 0 ? gap : 0;
      start = used;
      const std::string blanks = padding(display_width(text), widths[i]);
      if (columns_[i].alignment == align::right) line += blanks;
      line += emphasize(text, cells[i].how, line_style);
      if (columns_[i].alignment == align::left && !is_last) line += blanks;
      used += widths[i];
    }
    trim_end(line);
    if (cut) line = fit(line, total, style.unicode);
    out += line + '\n';
    for (std::size_t i = 1; i < wrapped.size(); ++i) {
      std::string more = std::string(start, ' ') + emphasize(wrapped[i], cells[shown.back()].how, line_style);
      if (cut) more = fit(more, total, style.unicode);
      trim_end(more);
      out += more + '\n';
    }
  };

  std::vector<cell> titles;
  for (const column& entry : columns_) titles.push_back({entry.title, emphasis::muted});
  const auto has_title = [](const column& entry) { return !entry.title.empty(); };
  if (!shown.empty() && std::any_of(columns_.begin(), columns_.end(), has_title)) append_line(titles);
  for (const row& entry : rows_) {
    if (!entry.heading) {
      append_line(entry.cells);
      continue;
    }
    for (const std::string& line : wrap(entry.cells.front().text, total)) {
      out += emphasize(line, emphasis::heading, style) + '\n';
    }
  }
  return out;
}

}  // namespace prumo::bench
