// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace prumo::bench {

/// A table of sanitised cells with aligned columns. A table that is too wide is made to fit, unless the style asks for
/// whole cells. These steps follow each other until it fits: the last column is wrapped onto further lines, details are
/// left out, columns of text (aligned left) are shortened, all columns are shortened. A line below the table then says
/// what is missing.
class text_table {
 public:
  enum class align { left, right };

  /// What a column is to the table.
  enum class role {
    figure,
    axis,    ///< tells rows apart: where all rows have the same value, it stands once above the table
    detail,  ///< is left out on a narrow terminal, the last such column first
    prose    ///< the last column: sentences, which are wrapped in files and pipes, too
  };
  struct column {
    std::string title;
    align alignment = align::left;
    role what = role::figure;
  };
  struct cell {
    std::string text;
    emphasis how = emphasis::none;
  };

  /// The indent of a table that stands below a heading.
  static constexpr std::size_t below_heading = 2;

  /// `indent` is the number of blanks in front of each line.
  explicit text_table(std::vector<column> columns, std::size_t indent = 0);

  /// Adds a row; missing cells are empty, surplus ones are refused (std::invalid_argument).
  void add_row(std::vector<cell> cells);

  /// Adds a heading that spans the table, unless the rows above have the same.
  void add_heading(const std::string& text);

  /// The table, each line ended by a line break, no trailing blanks. Columns in which all cells are empty are left out,
  /// and the line of titles where there are none.
  [[nodiscard]] std::string render(const text_style& style) const;

 private:
  struct row {
    std::vector<cell> cells;
    bool heading = false;
  };
  struct layout;
  [[nodiscard]] bool is_shared(std::size_t place) const;
  [[nodiscard]] layout lay_out(const text_style& style) const;
  [[nodiscard]] std::string render_row(const std::vector<cell>& cells, const layout& how,
                                       const text_style& style) const;
  [[nodiscard]] std::string shared_values() const;

  std::vector<column> columns_;
  std::vector<row> rows_;
  std::string heading_;
  std::size_t indent_;
};

}  // namespace prumo::bench
