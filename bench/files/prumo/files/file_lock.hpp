// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_descriptor.hpp>

#include <string>

namespace prumo::bench {

/// While it lives, no other prumo writes to the same file. The lock is a file `.NAME.lock` beside it, which tells who
/// holds it and vanishes with it. The system gives up the lock of a program that dies, so the file of a killed run
/// does not block the next run, which removes it.
class file_lock {
 public:
  file_lock() = default;
  /// \throws file_error which tells the process, host and time of the other run, or why there can be no lock.
  ///         A file system without locks is no error.
  explicit file_lock(const std::string& target);
  ~file_lock();
  file_lock(file_lock&&) noexcept = default;
  file_lock& operator=(file_lock&& other) noexcept;

 private:
  void release() noexcept;

  std::string path_;
  file_descriptor file_;
};

/// The path of a file of prumo's beside `target`: `.NAME.SUFFIX`.
[[nodiscard]] std::string beside(const std::string& target, const char* suffix);

}  // namespace prumo::bench
