// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/json_text.hpp"

#include "terminal/text.hpp"
#include <prumo/files/file_error.hpp>
#include <prumo/protocol/parse_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Line and column, from one, of a byte offset, from zero.
std::pair<std::size_t, std::size_t> place_of(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < std::min(offset, text.size()); ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return {line, std::min(offset, text.size()) - start + 1};
}

}  // namespace

json parse_json(std::string_view text, std::string_view name) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto last = text.find_last_not_of(blanks);
  if (last == std::string_view::npos) refuse_file(name, "is empty, so it is no results file");
  try {
    return protocol::parse_json<json>(text);
  } catch (const protocol::json_too_deep& error) {
    refuse_file(name, fmt::format("is {}; it is no results file of prumo", error.what()));
  } catch (const json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;  // the library counts from one
    const auto [line, column] = place_of(text, offset);
    if (offset > last && (text.front() == '{' || text.front() == '[')) {
      refuse_file(name,
                  fmt::format("is truncated: it ends within the document, at line {}, column {}; use a complete copy "
                              "of the file",
                              line, column));
    }
    refuse_file(name,
                fmt::format("is broken JSON at line {}, column {}; prumo writes whole files, so it was changed by "
                            "something else, or it is no results file",
                            line, column));
  } catch (const json::exception& error) {
    refuse_file(name, fmt::format("cannot be read as JSON ({})", sanitize(error.what())));
  }
}

}  // namespace prumo::bench
