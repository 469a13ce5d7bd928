// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace prumo::bench {

/// Owns a file descriptor.
class file_descriptor {
 public:
  file_descriptor() = default;
  explicit file_descriptor(int number) noexcept : number_(number) {}
  ~file_descriptor() { close(); }
  file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

  /// Closes it now. False, with errno set, where that fails.
  bool close() noexcept {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0;
  }

 private:
  int number_ = -1;
};

/// Writes everything. False, with errno set, where the system refuses.
inline bool write_all(int file, std::string_view content) noexcept {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace prumo::bench
