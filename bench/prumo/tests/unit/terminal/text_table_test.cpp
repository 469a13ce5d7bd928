// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_table.hpp"

#include "surroundings.hpp"
#include "terminal/program_error.hpp"
#include "terminal/shell_words.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace prumo::bench {
namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(sanitize, spells_out_what_would_talk_to_the_terminal) {
  EXPECT_EQ(sanitize("plain é 漢字 🙂"), "plain é 漢字 🙂");
  EXPECT_EQ(sanitize("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(sanitize("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(sanitize(std::string_view("nul\0byte\x7F", 9)), "nul\\x00byte\\u007f");
  EXPECT_EQ(sanitize("\xC2\x9B"
                     "31m"),
            "\\u009b31m")
      << "the one-character form of the escape sequence";
  EXPECT_EQ(sanitize("abc\xE2\x80\xAE"
                     "fed"),
            "abc\\u202efed")
      << "right-to-left override";
  for (const char* invisible :
       {"\u061c", "\u200b", "\u200f", "\u2028", "\u202a", "\u2066", "\u2069", "\ufeff", "\u00ad"}) {
    EXPECT_EQ(sanitize(invisible).substr(0, 2), "\\u") << sanitize(invisible);
  }
  EXPECT_EQ(sanitize("\U000e0041"), "\\udb40\\udc41") << "a tag";
}

TEST(sanitize, spells_out_the_bytes_of_broken_utf8) {
  EXPECT_EQ(sanitize("a\xFF"
                     "b"),
            "a\\xffb");
  EXPECT_EQ(sanitize("\xC3"), "\\xc3");
  EXPECT_EQ(sanitize("\xE6\xBC"), "\\xe6\\xbc");
  EXPECT_EQ(sanitize("\xC0\xAF"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(sanitize("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(sanitize("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(sanitize, leaves_lines_and_colours_of_the_program_and_the_meaning_of_json) {
  text_style colourful;
  colourful.color = true;
  const std::string report = emphasize("heading", emphasis::heading, colourful) + "\nline\n" +
                             emphasize("bad", emphasis::bad, colourful) + '\n';
  EXPECT_EQ(sanitize_lines(report), report);
  EXPECT_EQ(sanitize_lines("\x1b[2Jgone\x1b]0;title\x07"), "\\x1b[2Jgone\\x1b]0;title\\x07");
  EXPECT_EQ(sanitize("a\tb\x1b\n", "\t\n"), "a\tb\\x1b\n");
  const nlohmann::json value = {{"name", "a\x1b\u009b\u202e\U000e0041\u007f"}};
  EXPECT_EQ(nlohmann::json::parse(sanitize(value.dump(2), "\n")), value);
}

TEST(program_error, keeps_to_its_lines) {
  const std::vector<std::string> lines{"one\x1b", "two\nthree"};
  EXPECT_STREQ(program_error(exit_code::no, "file a\nb\u202e", lines).what(), "file a b\\u202e\none\\x1b\ntwo three");
}

TEST(shell_quoted, is_read_back_by_a_shell) {
  EXPECT_EQ(shell_quoted("results/a-1.json"), "results/a-1.json");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("$(reboot) `x` \"!\" ~ * \\"), "'$(reboot) `x` \"!\" ~ * \\'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_quoted("a\nb\x1b' \u202e"), R"($'a\nb\033\' \342\200\256')");
}

TEST(display_width, counts_columns) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("µs ±"), 4u);
  EXPECT_EQ(display_width("漢字"), 4u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u) << "a combining accent";
}

TEST(fit, cuts_between_characters) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 5), "abcd…");
  EXPECT_EQ(fit("abcdef", 5, false), "abcd~");
  EXPECT_EQ(fit("漢字漢字", 6), "漢字…");
  EXPECT_EQ(fit("abc", 1), "…");
  EXPECT_EQ(fit("abc", 0), "");
}

TEST(text_table, aligns) {
  using align = text_table::align;
  text_table table({{"name", align::left}, {"value", align::right}, {"note", align::left}});
  table.add_heading("first");
  table.add_row({{"a"}, {"1"}, {"x"}});
  table.add_row({{"漢字"}, {"1234567"}, {""}});
  table.add_row({{"é"}});
  EXPECT_EQ(table.render({}),
            "name    value  note\n"
            "first\n"
            "a           1  x\n"
            "漢字  1234567\n"
            "é\n");
}

TEST(text_table, leaves_out_empty_columns_and_titles) {
  text_table table({{"a"}, {"empty"}, {"c"}});
  table.add_row({{"1"}, {""}, {"3"}});
  EXPECT_EQ(table.render({}), "a  c\n1  3\n");
  text_table untitled({{""}, {""}});
  untitled.add_row({{"1"}, {"2"}});
  EXPECT_EQ(untitled.render({}), "1  2\n");
  EXPECT_EQ(text_table({{"a"}}).render({}), "");
  EXPECT_EQ(text_table({}).render({}), "");
}

TEST(text_table, wraps_the_last_column) {
  text_table table({{"op"}, {"reason"}});
  table.add_row({{"add"}, {"a host device has no transfers to be measured"}});
  text_style style;
  style.width = 30;
  EXPECT_EQ(table.render(style),
            "op   reason\n"
            "add  a host device has no\n"
            "     transfers to be measured\n");
}

TEST(text_table, never_exceeds_the_width) {
  using align = text_table::align;
  text_table table(
      {{"name", align::left}, {"value", align::right}, {"long title", align::right}, {"note", align::left}});
  table.add_heading("a heading that is longer than a narrow terminal");
  table.add_row({{"a long name of a device"},
                 {"1234567890"},
                 {"漢字漢字漢字漢字"},
                 {"averyveryverylongwordthatbreaks and more"}});
  for (const bool color : {false, true}) {
    for (int width = 4; width < 120; ++width) {
      text_style style;
      style.width = width;
      style.color = false;
      EXPECT_LE(widest_line(table.render(style)), static_cast<std::size_t>(width)) << table.render(style);
      style.color = color;
      EXPECT_FALSE(table.render(style).empty());
    }
  }
}

TEST(text_table, an_axis_that_all_rows_share_stands_above) {
  using align = text_table::align;
  using role = text_table::role;
  text_table table({{"size", align::right, role::axis}, {"type", align::left, role::axis}, {"time", align::right}}, 1);
  table.add_heading("add");
  table.add_row({{"2MiB"}, {"f32"}, {"1"}});
  table.add_heading("add");
  table.add_row({{"4MiB"}, {"f32"}, {"1"}});
  EXPECT_EQ(table.render({}),
            " all rows: type f32\n"
            " size  time\n"
            " add\n"
            " 2MiB     1\n"
            " 4MiB     1\n");
  table.add_row({{"8MiB"}, {""}, {"2"}});
  EXPECT_EQ(table.render({}).substr(0, 19), " size  type  time\n ") << "one row has none";
}

TEST(text_table, says_what_a_narrow_terminal_lacks_and_is_whole_elsewhere) {
  using align = text_table::align;
  text_table table({{"shape"}, {"time", align::right}, {"peak", align::right, text_table::role::detail}, {"note"}});
  table.add_row({{"columns=1024 rows=512"}, {"1.05 ms"}, {"97.3%"}, {"some words that do not fit"}});
  text_style style;
  style.width = 40;
  EXPECT_EQ(table.render(style),
            "shape              time  note\n"
            "columns=1024 …  1.05 ms  some words that\n"
            "                         do not fit\n"
            "The terminal is too narrow. Left out:\n"
            "peak. Shortened: shape. A file or a pipe\n"
            "gets the whole table.\n");
  style.whole_cells = true;
  EXPECT_EQ(table.render(style),
            "shape                     time   peak  note\n"
            "columns=1024 rows=512  1.05 ms  97.3%  some words that do not fit\n");
}

TEST(text_table, colours_only_where_the_style_says_so) {
  text_table table({{"a"}, {"b"}});
  table.add_row({{"\x1b[5mx", emphasis::bad}, {"y", emphasis::good}});
  EXPECT_EQ(table.render({}).find('\x1b'), std::string::npos);
  text_style style;
  style.color = true;
  EXPECT_EQ(table.render(style),
            "\x1b[2ma\x1b[0m         \x1b[2mb\x1b[0m\n"
            "\x1b[31m\\x1b[5mx\x1b[0m  \x1b[32my\x1b[0m\n");
}

TEST(text_table, refuses_too_many_cells) {
  text_table table({{"a"}});
  EXPECT_THROW(table.add_row({{"1"}, {"2"}}), std::invalid_argument);
}

TEST(style_for, takes_the_width_from_columns) {
  std::FILE* file = std::tmpfile();
  const int descriptor = fileno(file);
  {
    const test::scoped_variable columns("COLUMNS", "77");
    EXPECT_EQ(style_for(descriptor).width, 77);
  }
  for (const char* odd : {"", "0", "-5", "wide", "99999999"}) {
    const test::scoped_variable columns("COLUMNS", odd);
    EXPECT_EQ(style_for(descriptor).width, 100) << odd;
  }
  {
    const test::scoped_variable columns("COLUMNS", "3");
    EXPECT_EQ(style_for(descriptor).width, 20);
  }
  EXPECT_FALSE(style_for(descriptor).color) << "a file is no terminal";
  EXPECT_TRUE(style_for(descriptor).whole_cells);
  std::fclose(file);
}

TEST(style_for, asks_the_locale_for_unicode) {
  const test::scoped_variable all("LC_ALL", std::nullopt);
  const test::scoped_variable ctype("LC_CTYPE", std::nullopt);
  {
    const test::scoped_variable lang("LANG", "pt_BR.UTF-8");
    EXPECT_TRUE(style_for(1).unicode);
  }
  {
    const test::scoped_variable lang("LANG", "C.utf8");
    EXPECT_TRUE(style_for(1).unicode);
    const test::scoped_variable stronger("LC_ALL", "C");
    EXPECT_FALSE(style_for(1).unicode);
  }
}

}  // namespace
}  // namespace prumo::bench
