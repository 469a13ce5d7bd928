// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/fitting_table.hpp"

#include <algorithm>
#include <utility>

namespace prumo::bench {

fitting_table::fitting_table(std::vector<text_table::column> columns) : columns_(std::move(columns)) {
  for (const text_table::column& column : columns_) widths_.push_back(display_width(column.title));
  filled_.assign(columns_.size(), false);
}

void fitting_table::heading(const std::string& text) {
  if (!rows_.empty() && text == heading_) return;
  heading_ = text;
  constexpr std::size_t longest = 160;
  rows_.push_back({{}, fit(sanitize(text), longest)});
}

void fitting_table::add_row(std::vector<text_table::cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = sanitize(cells[i].text);
    widths_[i] = std::max(widths_[i], display_width(cells[i].text));
    filled_[i] = filled_[i] || !cells[i].text.empty();
  }
  rows_.push_back({std::move(cells), {}});
}

std::string fitting_table::render(const text_style& style) const {
  std::vector<bool> kept = filled_;
  for (std::size_t i = columns_.size(); i-- > 0 && needed_width(kept) > static_cast<std::size_t>(style.width);) {
    if (columns_[i].may_be_dropped) kept[i] = false;
  }
  std::vector<text_table::column> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (kept[i]) columns.push_back(columns_[i]);
  }
  text_table table(std::move(columns));
  for (const auto& [cells, title] : rows_) {
    if (cells.empty()) {
      table.add_heading(title);
      continue;
    }
    std::vector<text_table::cell> shown;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (kept[i]) shown.push_back(cells[i]);
    }
    table.add_row(std::move(shown));
  }
  return table.render(style);
}

std::size_t fitting_table::needed_width(const std::vector<bool>& kept) const {
  constexpr std::size_t gap = 2;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) sum += kept[i] ? widths_[i] + gap : 0;
  return sum - std::min(sum, gap);
}

}  // namespace prumo::bench
