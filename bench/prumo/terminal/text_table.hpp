// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// How text for people is laid out.
struct text_style {
  int width = 100;      ///< columns of the terminal
  bool color = false;   ///< ANSI colours allowed
  bool unicode = true;  ///< `µ ± ✓ ─` allowed; otherwise ASCII
};

/// The style for a file descriptor: COLUMNS or the terminal's width, else 100; colour only on a terminal
/// without NO_COLOR and with TERM other than `dumb`; Unicode where the locale (LC_ALL, LC_CTYPE, LANG) says
/// UTF-8.
[[nodiscard]] text_style style_for(int file_descriptor);

/// Columns of the terminal as style_for() finds them, between 20 and 1000.
[[nodiscard]] int terminal_width(int file_descriptor);

/// True for a terminal that understands escape sequences.
[[nodiscard]] bool is_capable_terminal(int file_descriptor);

/// Makes text from outside harmless for a terminal and a table: control characters and escape sequences
/// become `?`, broken UTF-8 becomes U+FFFD, line breaks become spaces, direction overrides vanish.
[[nodiscard]] std::string sanitize(std::string_view text);

/// Columns that valid UTF-8 text takes on a terminal: wide characters count two, combining ones none.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Cuts text to at most `width` columns, the last one an ellipsis (`…`, or `~` without Unicode) where it was
/// cut.
[[nodiscard]] std::string fit(std::string_view text, std::size_t width, bool unicode = true);

/// Emphasis of a cell.
enum class emphasis { none, heading, good, bad, muted };

/// Text wrapped in the ANSI sequence of its emphasis, unchanged where the style has no colour.
[[nodiscard]] std::string emphasize(std::string_view text, emphasis how, const text_style& style);

/// A table of sanitised cells with aligned columns. Where it is too wide the last column is wrapped onto
/// further lines, then columns of text (aligned left) are shortened, then columns that may be dropped are,
/// and at last all are cut.
class text_table {
 public:
  enum class align { left, right };
  struct column {
    std::string title;
    align alignment = align::left;
    bool may_be_dropped = false;  ///< on a narrow terminal, the last such column first
  };
  struct cell {
    std::string text;
    emphasis how = emphasis::none;
  };

  explicit text_table(std::vector<column> columns);

  /// Adds a row; missing cells are empty, surplus ones are refused (std::invalid_argument).
  void add_row(std::vector<cell> cells);

  /// Adds a heading that spans the table.
  void add_heading(const std::string& text);

  /// The table, each line ended by a line break, no line wider than the style's width, no trailing blanks.
  /// Columns in which all cells are empty are left out, and the line of titles where there are none.
  [[nodiscard]] std::string render(const text_style& style) const;

 private:
  struct row {
    std::vector<cell> cells;
    bool heading = false;
  };
  struct layout {
    std::vector<std::size_t> shown;   ///< columns that have anything to show
    std::vector<std::size_t> widths;  ///< of every column
    bool cut = false;                 ///< lines are still too wide
  };
  [[nodiscard]] layout lay_out(std::size_t width) const;

  std::vector<column> columns_;
  std::vector<row> rows_;
};

}  // namespace prumo::bench
