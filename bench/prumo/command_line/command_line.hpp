// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/program_error.hpp"

#include <span>
#include <string>

namespace prumo::bench {

/// Reads the command line, where `words[0]` is the program, and does what it says.
/// \throws program_error that names the word, the nearest known one and where to read more; results_error,
///         worker_failure
[[nodiscard]] exit_code run_command_line(std::span<const std::string> words);

}  // namespace prumo::bench
