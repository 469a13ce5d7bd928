// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const text_style ascii{60, false, false};

plot_frame frame(int height) {
  plot_frame result;
  result.x_title = "size";
  result.y_title = "time";
  result.height = height;
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(text_plot, puts_a_power_law_on_a_straight_line) {
  const auto lines = lines_of(log_log_plot({{"a", {{1, 1}, {100, 100}}, true}}, frame(11), ascii));
  ASSERT_EQ(lines.size(), 15U) << "title, field, axis, title, legend";
  EXPECT_EQ(lines[1].back(), '*') << "the largest is at the right of the uppermost line";
  EXPECT_EQ(lines[11].find('*'), lines[11].find('+') + 1) << "the smallest at the left of the lowest";
  EXPECT_THAT(lines[6], HasSubstr(".")) << "a line between";
  EXPECT_THAT(lines[12], HasSubstr("1"));
  EXPECT_THAT(lines[14], HasSubstr("* a"));
}

TEST(text_plot, is_never_wider_than_the_style) {
  for (const bool unicode : {false, true}) {
    for (const int width : {20, 50, 120}) {
      const text_style style{width, false, unicode};
      for (const std::string& line : lines_of(log_log_plot({{"a", {{1e-9, 3}, {5e6, 1e12}}, true}}, frame(8), style))) {
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
}

/// Losses of the first epochs differ in the fourth digit.
TEST(text_plot, has_labels_that_tell_ticks_apart) {
  const auto lines = lines_of(log_log_plot({{"a", {{1, 2.3080}, {2, 2.3002}}, true}}, frame(11), ascii));
  ASSERT_EQ(lines.size(), 15U);
  EXPECT_THAT(lines[1], StartsWith("2.308 +"));
  EXPECT_THAT(lines[6], StartsWith("2.304 +"));
  EXPECT_THAT(lines[11], StartsWith("2.300 +"));
  const auto usual = lines_of(log_log_plot({{"a", {{1, 2.31}, {2, 1.1}}, true}}, frame(11), ascii));
  EXPECT_THAT(usual[1], StartsWith("2.31 +"));
}

TEST(text_plot, leaves_out_what_no_logarithm_has) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(log_log_plot({{"a", {{0, 1}, {1, -1}, {1, nan}}, true}}, frame(8), ascii), "");
  EXPECT_THAT(log_log_plot({{"a", {{1, nan}, {2, 3}}, true}}, frame(8), ascii), HasSubstr("*"));
}

TEST(text_plot, has_colours_only_where_the_style_has) {
  const std::vector<plot_series> one{{"a", {{1, 1}, {2, 2}}, true}};
  EXPECT_THAT(log_log_plot(one, frame(8), ascii), Not(HasSubstr("\x1b")));
  EXPECT_THAT(log_log_plot(one, frame(8), text_style{60, true, true}), HasSubstr("\x1b[36m●"));
}

TEST(text_plot, points_stay_visible_where_lines_cross_them) {
  const std::string plot =
      log_log_plot({{"line", {{1, 1}, {100, 100}}, true}, {"point", {{10, 10}}, false}}, frame(11), ascii);
  EXPECT_THAT(lines_of(plot)[6], HasSubstr("#"));
}

}  // namespace
}  // namespace prumo::bench
