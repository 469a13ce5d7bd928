// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <span>
#include <stdexcept>
#include <string>

namespace prumo::bench {

/// Exit codes of every verb.
enum class exit_code : int {
  done = 0,
  no = 1,              ///< the answer is no: a verification or a gate failed
  wrong_usage = 2,     ///< an option, a size or an input file is wrong
  machine_cannot = 3,  ///< a device, memory or a permission is missing
  inconclusive = 4,    ///< a gate knows too little to answer
  interrupted = 130    ///< SIGINT or SIGTERM; the results file is valid
};

/// Ends the program with a message for the user, which names the thing and the remedy, and an exit code. The message is
/// sanitised, whatever names from files, workers or arguments it holds. It is one line; `lines` are those below it.
class program_error : public std::runtime_error {
 public:
  program_error(exit_code code, const std::string& message, std::span<const std::string> lines = {})
      : std::runtime_error(joined(message, lines)), code_(code) {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  static std::string joined(const std::string& message, std::span<const std::string> lines) {
    std::string text = sanitize(message);
    for (const std::string& line : lines) text += '\n' + sanitize(line);
    return text;
  }

  exit_code code_;
};

/// Ends the program because it was called wrongly. The message names the option or file and the remedy.
/// \throws program_error (wrong usage), always
[[noreturn]] inline void refuse_usage(const std::string& message) {
  throw program_error(exit_code::wrong_usage, message);
}

}  // namespace prumo::bench
