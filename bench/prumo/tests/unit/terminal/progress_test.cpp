// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/progress.hpp"

#include "terminal/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fcntl.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>

namespace prumo::bench {
namespace {

using ::testing::HasSubstr;

TEST(progress_line, tells_what_how_far_and_how_long) {
  progress::state state{"add f32 2MiB openmp:0", 12, 40, 15.0, std::nullopt};
  EXPECT_EQ(progress::line(state, 100), "[12/40] add f32 2MiB openmp:0  15 s, about 35 s left");
  state.remaining_seconds = 4.0;
  EXPECT_EQ(progress::line(state, 100), "[12/40] add f32 2MiB openmp:0  15 s, about 4.0 s left");
  EXPECT_EQ(progress::line({"probing", 0, 0, 1.0, std::nullopt}, 100), "probing  1.0 s");
  EXPECT_EQ(progress::line({"add", 0, 40, 1.0, std::nullopt}, 100), "[0/40] add  1.0 s") << "no estimate from nothing";
  EXPECT_EQ(progress::line({"add", 41, 40, 10.0, std::nullopt}, 100), "[40/40] add  10 s, about 0.0 s left");
}

TEST(progress_line, fits_and_is_harmless) {
  const progress::state state{"softmax\x1b[2J " + std::string(200, 'x'), 1, 4, 15.0, std::nullopt};
  for (std::size_t width = 5; width < 150; ++width) {
    const std::string line = progress::line(state, width);
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST(progress, is_silent_without_a_terminal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    progress shown(ends[1]);
    EXPECT_FALSE(shown.enabled());
    shown.start(3);
    shown.update("add", 1);
    shown.clear();
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(progress, draws_one_line_on_a_terminal_and_clears_it) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) GTEST_SKIP() << "no pseudo-terminal here";
  const int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  if (slave < 0) GTEST_SKIP() << "no pseudo-terminal here";
  setenv("TERM", "xterm", 1);
  {
    progress shown(slave);
    EXPECT_TRUE(shown.enabled());
    shown.start(4);
    shown.update("add", 1);
    shown.update("add", 1);  // too soon and nothing new: not drawn
    shown.clear();
    shown.clear();  // nothing to clear
    shown.update("mul", 2);
  }
  close(slave);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(terminal, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ASSERT_GE(text.size(), 4u);
  EXPECT_EQ(text.rfind("\r\x1b[K[1/4] add", 0), 0u) << text;
  EXPECT_THAT(text, HasSubstr("left\r\x1b[K\r\x1b[K[2/4] mul"));
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
  EXPECT_EQ(text.find('\n'), std::string::npos);
  close(terminal);
}

}  // namespace
}  // namespace prumo::bench
