// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/sanitize.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// How text for people is laid out.
struct text_style {
  int width = 100;           ///< columns of the terminal: text is wrapped there
  bool color = false;        ///< ANSI colours allowed
  bool unicode = true;       ///< `µ ± ✓ ─` allowed; otherwise ASCII
  bool whole_cells = false;  ///< tables may be wider than `width`: nothing in them is shortened or left out
};

/// The style for a file descriptor. Width: COLUMNS or the terminal's width, else 100. Colour: only on a terminal
/// without NO_COLOR and with TERM other than `dumb`. Unicode: where the locale (LC_ALL, LC_CTYPE, LANG) says UTF-8.
/// Whole cells: wherever it is no terminal, for a file or a pipe has no width.
[[nodiscard]] text_style style_for(int file_descriptor);

/// Columns of the terminal as style_for() finds them, between 20 and 1000.
[[nodiscard]] int terminal_width(int file_descriptor);

/// True for a terminal that understands escape sequences.
[[nodiscard]] bool is_capable_terminal(int file_descriptor);

/// Columns that valid UTF-8 text takes on a terminal: wide characters count two, combining ones none.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Cuts text to at most `width` columns, the last one an ellipsis (`…`, or `~` without Unicode) where it was cut.
[[nodiscard]] std::string fit(std::string_view text, std::size_t width, bool unicode = true);

/// Lines of at most `width` columns, split at blanks where there are some. One line at least.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `µ` as `u` where the style has no Unicode.
[[nodiscard]] std::string with_micro(std::string text, const text_style& style);

/// Emphasis of a text.
enum class emphasis { none, heading, good, bad, muted };

/// Text wrapped in the ANSI sequence of its emphasis, unchanged where the style has no colour.
[[nodiscard]] std::string emphasize(std::string_view text, emphasis how, const text_style& style);

/// Sanitised text in lines of the style's width, each ended by a line break.
[[nodiscard]] std::string paragraph(std::string_view text, const text_style& style, emphasis how = emphasis::none);

}  // namespace prumo::bench
