// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/sanitize.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace prumo::bench {

/// A file that cannot be read or written. The message names the file, what is wrong where, and what
/// to do; it is sanitised.
class file_error : public std::runtime_error {
 public:
  enum class cause {
    input,  ///< the file's content, or what was asked for, is wrong (exit code 2)
    io      ///< the machine refuses: permission, full disk (exit code 3)
  };
  file_error(cause why, const std::string& message) : std::runtime_error(sanitize(message)), why_(why) {}
  [[nodiscard]] cause why() const noexcept { return why_; }

 private:
  cause why_;
};

/// Refuses a file: `NAME: WHAT`. \throws file_error (input)
[[noreturn]] void refuse_file(std::string_view name, std::string_view what);

/// Tells that the system refused something, with its reason and a remedy: `NAME: WHAT: No space left on device; ...`.
/// An absent folder counts as a mistyped path. \throws file_error (io, or input for an absent folder)
[[noreturn]] void throw_system_error(std::string_view name, std::string_view what, int error);

}  // namespace prumo::bench
