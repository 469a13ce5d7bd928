// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/verbs/verb.hpp"
#include "terminal/program_error.hpp"

#include <memory>
#include <span>
#include <string>

namespace prumo::bench {

/// What a command line asks for: a call of a verb, or else a text to print.
struct requested_command {
  std::unique_ptr<verb_call> call;
  std::string answer;
};

/// Reads the command line, where `words[0]` is the program, and does nothing yet.
/// \throws program_error that names the word, the nearest known one and where to read more
[[nodiscard]] requested_command read_command_line(std::span<const std::string> words);

/// Reads the command line and does what it says.
/// \throws program_error as read_command_line(); file_error, worker_failure
[[nodiscard]] exit_code run_command_line(std::span<const std::string> words);

}  // namespace prumo::bench
