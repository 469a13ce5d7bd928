// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_descriptor.hpp>
#include <prumo/files/file_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::bench {

/// How much is read, and how long a pipe may be without anyone who writes to it.
struct input_limits {
  std::size_t bytes = std::size_t{256} << 20U;  ///< a hundred times the largest results file
  std::chrono::milliseconds without_writer{5000};
  std::string_view kind = "results file";  ///< what the file should be, for messages
};

/// How messages call an input: its path, or `standard input` for `-`.
[[nodiscard]] std::string input_name(const std::string& path);

/// A file, a pipe or standard input (`-`), read from its beginning to its end. A pipe is read until its writers close
/// it, however slow they are.
class input_file {
 public:
  /// \throws file_error where there is no such file, it is a folder, or the machine refuses to read it
  explicit input_file(const std::string& path, const input_limits& limits = {});

  /// As messages call it.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The bytes of a regular file; unknown for pipes and terminals.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }

  /// Reads up to `most` bytes and returns how many they are: zero at the end and only there.
  /// \throws file_error where the file holds more than the limit, nobody writes to the pipe, or the machine refuses
  [[nodiscard]] std::size_t read(char* to, std::size_t most);

 private:
  [[nodiscard]] short wait(int milliseconds) const;
  [[nodiscard]] bool writers_are_gone() const;
  [[noreturn]] void refuse_size() const;
  [[noreturn]] void fail() const;

  std::string name_;
  input_limits limits_;
  file_descriptor own_;
  int number_ = -1;
  bool may_wait_for_writer_ = false;
  std::optional<std::uint64_t> size_;
  std::size_t taken_ = 0;
  std::chrono::steady_clock::time_point opened_;
};

/// The text in a file, in a pipe, or in standard input (`-`).
/// \throws file_error where input_file does, or the file holds no text
[[nodiscard]] std::string read_text(const std::string& path, const input_limits& limits = {});

}  // namespace prumo::bench
