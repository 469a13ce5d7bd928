// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace prumo::bench {

/// A child process and our ends of its pipes, which do not block. Its owner closes them and waits for the child.
struct started_child {
  pid_t id = -1;
  int input = -1;   ///< our end of its standard input
  int output = -1;  ///< our end of its standard output
  int errors = -1;  ///< our end of its standard error
  int end = -1;     ///< readable once the child has ended; -1 where the system has nothing of the kind
};

/// Starts `command` (the program, searched in PATH, then its arguments). On Linux the child ends with this program.
/// \param own_process_group gives the child its own process group; Ctrl-C on the terminal then does not reach it
/// \throws process_error that names the program and the system's reason.
[[nodiscard]] started_child start_child(std::vector<std::string> command, bool own_process_group);

/// Closes a descriptor, if it is open, and sets it to -1.
void close_descriptor(int& descriptor) noexcept;

}  // namespace prumo::bench
