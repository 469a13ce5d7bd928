// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace prumo::bench {
namespace {

constexpr std::size_t gap = 2;             // blanks between columns
constexpr std::size_t narrowest = 4;       // no column is cut below this
constexpr std::size_t legible = 8;         // text stays this long while something else can give way
constexpr std::size_t wrap_at_least = 20;  // the last column keeps this much before the others are cut

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

struct text_table::layout {
  std::vector<std::size_t> shown;                ///< columns that have anything to show
  std::vector<std::size_t> widths;               ///< of every column
  std::size_t line_width = 0;                    ///< without the indentation
  bool cut = false;                              ///< lines are still too wide
  std::vector<std::string> shortened, left_out;  ///< titles

  [[nodiscard]] std::size_t needed() const {
    std::size_t sum = gap * (shown.empty() ? 0 : shown.size() - 1);
    for (const std::size_t i : shown) sum += widths[i];
    return sum;
  }
  [[nodiscard]] std::size_t excess() const { return needed() > line_width ? needed() - line_width : 0; }

  /// Narrows the widest columns down to `least`, those aligned left alone where `text_only`.
  void narrow(const std::vector<column>& columns, std::size_t least, bool text_only) {
    while (excess() > 0) {
      std::size_t* widest = nullptr;
      for (const std::size_t i : shown) {
        if (text_only && columns[i].alignment != align::left) continue;
        if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
      }
      if (widest == nullptr || *widest <= least) return;
      --*widest;
    }
  }

  /// What the reader has to know of a table that was too wide; empty for others.
  [[nodiscard]] std::string note() const {
    std::string text;
    if (!left_out.empty()) text += fmt::format("Left out: {}. ", fmt::join(left_out, ", "));
    if (!shortened.empty()) text += fmt::format("Shortened: {}. ", fmt::join(shortened, ", "));
    if (cut) text += "The lines are cut. ";
    return text.empty() ? text : "The terminal is too narrow. " + text + "A file or a pipe gets the whole table.";
  }
};

text_table::text_table(std::vector<column> columns, std::size_t indent)
    : columns_(std::move(columns)), indent_(indent) {}

void text_table::add_row(std::vector<cell> cells) {
  if (cells.size() > columns_.size()) throw std::invalid_argument("text_table: more cells than columns");
  for (cell& entry : cells) entry.text = sanitize(entry.text);
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), false});
}

void text_table::add_heading(const std::string& text) {
  if (!rows_.empty() && text == heading_) return;
  heading_ = text;
  rows_.push_back({{cell{sanitize(text), emphasis::heading}}, true});
}

bool text_table::is_shared(std::size_t place) const {
  if (columns_[place].what != role::axis) return false;
  const std::string* value = nullptr;
  for (const row& it : rows_) {
    if (it.heading) continue;
    const std::string& text = it.cells[place].text;
    if (text.empty() || (value != nullptr && text != *value)) return false;
    value = &text;
  }
  return value != nullptr;
}

std::string text_table::shared_values() const {
  std::string values;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!is_shared(i)) continue;
    const auto first = std::ranges::find(rows_, false, &row::heading);
    values += fmt::format("{}{} {}", values.empty() ? "all rows: " : ", ", columns_[i].title, first->cells[i].text);
  }
  return values;
}

text_table::layout text_table::lay_out(const text_style& style) const {
  layout result;
  auto& [shown, widths, line_width, cut, shortened, left_out] = result;
  const auto total = static_cast<std::size_t>(std::max(style.width, static_cast<int>(narrowest)));
  line_width = total > indent_ + narrowest ? total - indent_ : narrowest;
  widths.assign(columns_.size(), 0);
  for (const row& entry : rows_) {
    if (entry.heading) continue;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(entry.cells[i].text));
    }
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0 || is_shared(i)) continue;
    widths[i] = std::max(widths[i], display_width(columns_[i].title));
    shown.push_back(i);
  }
  if (shown.empty()) return result;
  const std::size_t last = shown.back();
  const bool wraps =
      columns_[last].alignment == align::left && (columns_[last].what == role::prose || !style.whole_cells);
  if (wraps && widths[last] > wrap_at_least) {
    widths[last] = std::max(wrap_at_least, widths[last] - std::min(widths[last], result.excess()));
  }
  if (style.whole_cells) return result;
  for (std::size_t i = shown.size(); i-- > 0 && result.excess() > 0;) {
    if (columns_[shown[i]].what != role::detail) continue;
    left_out.insert(left_out.begin(), columns_[shown[i]].title);
    shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::vector<std::size_t> whole = widths;
  result.narrow(columns_, legible, true);
  result.narrow(columns_, narrowest, false);
  for (const std::size_t i : shown) {
    if (widths[i] < whole[i] && i != last && !columns_[i].title.empty()) shortened.push_back(columns_[i].title);
  }
  cut = result.excess() > 0;
  return result;
}

std::string text_table::render_row(const std::vector<cell>& cells, const layout& how, const text_style& style) const {
  std::string line(indent_, ' ');
  std::vector<std::string> wrapped;
  std::size_t start = indent_;  // where the last column begins
  for (const std::size_t i : how.shown) {
    const bool is_last = i == how.shown.back();
    const bool left = columns_[i].alignment == align::left;
    std::string text;
    if (is_last && left) {
      wrapped = wrap(cells[i].text, how.widths[i]);
      text = wrapped.front();
    } else {
      text = fit(cells[i].text, how.widths[i], style.unicode);
    }
    const std::string blanks(how.widths[i] - std::min(how.widths[i], display_width(text)), ' ');
    if (!left) line += blanks;
    line += emphasize(text, cells[i].how, style);
    if (is_last) break;
    if (left) line += blanks;
    line.append(gap, ' ');
    start += how.widths[i] + gap;
  }
  std::string out;
  const auto end_line = [&](std::string text) {
    trim_end(text);
    out += (how.cut ? fit(text, indent_ + how.line_width, style.unicode) : text) + '\n';
  };
  end_line(std::move(line));
  for (std::size_t i = 1; i < wrapped.size(); ++i) {
    end_line(std::string(start, ' ') + emphasize(wrapped[i], cells[how.shown.back()].how, style));
  }
  return out;
}

std::string text_table::render(const text_style& style) const {
  const layout how = lay_out(style);
  text_style line_style = style;
  line_style.color = style.color && !how.cut;  // a line must not be cut within a colour's sequence
  const std::string blanks(indent_, ' ');

  const auto indented = [&](std::string_view text, emphasis what) {
    std::string out;
    for (const std::string& line : wrap(text, how.line_width)) out += blanks + emphasize(line, what, style) + '\n';
    return out;
  };

  std::string out;
  if (const std::string shared = shared_values(); !shared.empty()) out += indented(shared, emphasis::muted);
  std::vector<cell> titles;
  for (const column& entry : columns_) titles.push_back({entry.title, emphasis::muted});
  const auto has_title = [&](std::size_t i) { return !columns_[i].title.empty(); };
  if (std::ranges::any_of(how.shown, has_title)) out += render_row(titles, how, line_style);
  for (const row& entry : rows_) {
    if (!entry.heading) {
      out += how.shown.empty() ? "" : render_row(entry.cells, how, line_style);
    } else if (style.whole_cells) {
      out += blanks + emphasize(entry.cells.front().text, emphasis::heading, style) + '\n';
    } else {
      out += indented(entry.cells.front().text, emphasis::heading);
    }
  }
  if (const std::string note = how.note(); !note.empty()) out += indented(note, emphasis::muted);
  return out;
}

}  // namespace prumo::bench
