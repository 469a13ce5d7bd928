// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"

#include <span>
#include <string>
#include <variant>

namespace prumo::bench {

/// Text that the command line itself asks for: `--help`, `--version`, the list of verbs.
struct text_request {
  std::string text;
};

using parsed_command = std::variant<text_request, bench_options, devices_options>;

/// Reads the command line; `words[0]` is the program.
/// \throws program_error (wrong usage) that names the word, the nearest known one and where to read more
[[nodiscard]] parsed_command parse_command_line(std::span<const std::string> words);

}  // namespace prumo::bench
