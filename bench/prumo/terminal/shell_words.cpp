// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/shell_words.hpp"

#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace prumo::bench {
namespace {

bool is_plain(char character) {
  const bool letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
  const bool digit = character >= '0' && character <= '9';
  return letter || digit || std::string_view("_@%+=:,./-").find(character) != std::string_view::npos;
}

/// For `$'...'`. Octal digits, because there are always three: a shell may read any number of hexadecimal ones.
std::string spelled_for_shell(std::string_view word) {
  std::string text;
  for (const char character : word) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '\n') {
      text += "\\n";
    } else if (character == '\\' || character == '\'') {
      text += {'\\', character};
    } else if (byte < 0x20 || byte >= 0x7F) {
      text += fmt::format("\\{:03o}", byte);
    } else {
      text += character;
    }
  }
  return text;
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  if (sanitize(word) != word) return fmt::format("$'{}'", spelled_for_shell(word));
  std::string text = "'";
  for (const char character : word) {
    if (character == '\'') {
      text += R"('\'')";
    } else {
      text += character;
    }
  }
  return text + "'";
}

}  // namespace prumo::bench
