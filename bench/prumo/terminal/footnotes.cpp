// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/footnotes.hpp"

#include "terminal/text_table.hpp"

#include <fmt/format.h>

namespace prumo::bench {

std::string footnotes::add(const std::string& note) {
  const auto [place, is_new] = places_.emplace(note, notes_.size());
  if (is_new) notes_.push_back({note, 0});
  ++notes_[place->second].rows;
  return fmt::format("[{}]", place->second + 1);
}

std::string footnotes::render(const text_style& style) const {
  text_table table({{"", text_table::align::right}, {"", text_table::align::left, text_table::role::prose}});
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const std::string rows = notes_[i].rows > 1 ? fmt::format(" ({} rows)", notes_[i].rows) : "";
    table.add_row({{fmt::format("[{}]", i + 1), emphasis::muted}, {notes_[i].text + rows}});
  }
  return table.render(style);
}

}  // namespace prumo::bench
