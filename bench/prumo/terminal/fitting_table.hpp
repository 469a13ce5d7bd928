// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text_table.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace prumo::bench {

/// A table from which columns that may be dropped go before anything else is shortened: what tells a case is worth more
/// than a further figure.
class fitting_table {
 public:
  explicit fitting_table(std::vector<text_table::column> columns);

  /// Begins a group of rows unless it is that of the row before. Names without end are cut.
  void heading(const std::string& text);
  /// A cell for every column.
  void add_row(std::vector<text_table::cell> cells);
  [[nodiscard]] std::string render(const text_style& style) const;

 private:
  struct row {
    std::vector<text_table::cell> cells;  // none: a heading
    std::string title;
  };
  [[nodiscard]] std::size_t needed_width(const std::vector<bool>& kept) const;

  std::vector<text_table::column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<bool> filled_;
  std::vector<row> rows_;
  std::string heading_;
};

}  // namespace prumo::bench
