// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/json_text.hpp"

#include "results/results_file.hpp"
#include "terminal/text.hpp"
#include <prumo/protocol/parse_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <sys/stat.h>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string_view name, std::string_view what) {
  throw results_error(results_error::cause::input, fmt::format("{}: {}", sanitize(name), what));
}

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

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  struct stat information{};
  errno = 0;
  if (stat(path.c_str(), &information) != 0) {
    const int why = errno;
    const bool absent = why == ENOENT || why == ENOTDIR;
    throw results_error(absent ? results_error::cause::input : results_error::cause::io,
                        fmt::format("{}: {}", sanitize(path), absent ? "there is no such file" : std::strerror(why)));
  }
  if (S_ISDIR(information.st_mode)) refuse(path, "is a folder; name a results file in it");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && information.st_size != 0) text << file.rdbuf();
  if (!file || file.bad()) {
    throw results_error(results_error::cause::io,
                        fmt::format("{}: cannot be read ({})", sanitize(path), std::strerror(errno)));
  }
  return text.str();
}

json parse_json(std::string_view text, std::string_view name) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto last = text.find_last_not_of(blanks);
  if (last == std::string_view::npos) refuse(name, "is empty, so it is no results file");
  try {
    return protocol::parse_json<json>(text);
  } catch (const protocol::json_too_deep& error) {
    refuse(name, fmt::format("is {}; it is no results file of prumo", error.what()));
  } catch (const json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;  // the library counts from one
    const auto [line, column] = place_of(text, offset);
    if (offset > last && (text.front() == '{' || text.front() == '[')) {
      refuse(name, fmt::format("is truncated: it ends within the document, at line {}, column {}; use a complete copy "
                               "of the file",
                               line, column));
    }
    refuse(name, fmt::format("is broken JSON at line {}, column {}; prumo writes whole files, so it was changed by "
                             "something else, or it is no results file",
                             line, column));
  } catch (const json::exception& error) {
    refuse(name, fmt::format("cannot be read as JSON ({})", sanitize(error.what())));
  }
}

}  // namespace prumo::bench
