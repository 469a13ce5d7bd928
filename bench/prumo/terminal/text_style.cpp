// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace prumo::bench {
namespace {

constexpr int default_width = 100;
constexpr int least_width = 20;
constexpr int most_width = 1000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::optional<int> width_from_environment() {
  const std::string_view text = environment("COLUMNS");
  if (text.empty() || text.size() > 6) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value == 0 ? std::nullopt : std::optional(value);
}

std::optional<int> width_of_terminal(int file_descriptor) {
  winsize size{};
  if (ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return static_cast<int>(size.ws_col);
}

bool locale_is_utf8() {
  std::string name;
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    name = environment(variable);
    if (!name.empty()) break;
  }
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
}

}  // namespace

int terminal_width(int file_descriptor) {
  auto width = width_from_environment();
  if (!width) width = width_of_terminal(file_descriptor);
  return std::clamp(width.value_or(default_width), least_width, most_width);
}

bool is_capable_terminal(int file_descriptor) {
  return isatty(file_descriptor) == 1 && environment("TERM") != "dumb" && !environment("TERM").empty();
}

text_style style_for(int file_descriptor) {
  text_style style;
  style.width = terminal_width(file_descriptor);
  style.color = is_capable_terminal(file_descriptor) && environment("NO_COLOR").empty();
  style.unicode = locale_is_utf8();
  style.whole_cells = isatty(file_descriptor) != 1;
  return style;
}

}  // namespace prumo::bench
