// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace prumo::bench {

/// Call this first. If the caller closed a standard stream, no file that is opened later takes its place. Writing to a
/// closed pipe, or beyond a limit of file sizes, fails with an error (EPIPE, EFBIG) instead of ending the program by a
/// signal. Programs that this one starts still get these signals.
void prepare_standard_streams();

// All text for people passes the two functions below, so that nothing from files, workers or arguments can talk to the
// terminal: line breaks and the colours of emphasize() stay, and everything else is sanitised.

/// Prints whole lines on standard output, at once. If that fails, the command goes on, because there may be more to
/// save; standard_output_error() tells it at the end.
void print_output(std::string_view lines);

/// Why something that was printed on standard output is lost: the system's number of the first error; 0: all is
/// written.
[[nodiscard]] int standard_output_error() noexcept;

/// Prints whole lines on standard error. If that fails, there is nobody to tell.
void print_error(std::string_view lines);

}  // namespace prumo::bench
