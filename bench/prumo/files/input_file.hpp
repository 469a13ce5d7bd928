// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files/results_error.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace prumo::bench {

/// How much is read, and how long a pipe may be without anyone who writes to it.
struct input_limits {
  std::size_t bytes = std::size_t{256} << 20U;  ///< a hundred times the largest results file
  std::chrono::milliseconds without_writer{5000};
};

/// How messages call an input: its path, or `standard input` for `-`.
[[nodiscard]] std::string input_name(const std::string& path);

/// The text in a file, in a pipe, or in standard input (`-`). A pipe is read until its writers close it, however slow
/// they are.
/// \throws results_error where there is no such file, it is a folder, holds more than the limit or no text, nobody
///         writes to the pipe, or the machine refuses to read it
[[nodiscard]] std::string read_text(const std::string& path, const input_limits& limits = {});

}  // namespace prumo::bench
