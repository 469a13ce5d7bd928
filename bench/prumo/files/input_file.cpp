// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/input_file.hpp"

#include "files/file_descriptor.hpp"
#include "files/file_identity.hpp"
#include "terminal/text.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace prumo::bench {
namespace {

using clock = std::chrono::steady_clock;

/// Opens without waiting: a named pipe without a writer would hold up the program for ever.
file_descriptor open_to_read(const std::string& path) {
  file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file) return file;
  switch (errno) {
    case ENOENT:
    case ENOTDIR: refuse_file(path, "there is no such file");
    case ENXIO: refuse_file(path, "is a socket or an absent device; name a file or a pipe");
    default:
      throw results_error(results_error::cause::io,
                          fmt::format("{}: cannot be read: {}", sanitize(path), std::strerror(errno)));
  }
}

class input_reader {
 public:
  input_reader(const std::string& path, const input_limits& limits) : name_(input_name(path)), limits_(limits) {
    if (!is_standard_input(path)) own_ = open_to_read(path);
    number_ = own_ ? own_.get() : STDIN_FILENO;
    struct stat status{};
    if (::fstat(number_, &status) != 0) fail();
    if (S_ISDIR(status.st_mode)) refuse_file(name_, "is a folder; name a results file in it");
    if (S_ISREG(status.st_mode) && status.st_size > 0 && static_cast<std::size_t>(status.st_size) > limits_.bytes) {
      refuse_size();
    }
    may_wait_for_writer_ = own_ && S_ISFIFO(status.st_mode);
  }

  std::string read() {
    std::string text;
    std::array<char, 65536> buffer{};
    const auto begin = clock::now();
    for (;;) {
      const ssize_t got = ::read(number_, buffer.data(), buffer.size());
      if (got > 0) {
        append(text, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0) {
        // A pipe looks ended, too, as long as nobody has opened it for writing.
        if (!text.empty() || !may_wait_for_writer_ || writers_are_gone()) return text;
        if (clock::now() - begin >= limits_.without_writer) refuse_file(name_, "is a pipe to which nobody writes");
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        wait(-1);
      } else if (errno != EINTR) {
        fail();
      }
    }
  }

 private:
  short wait(int milliseconds) const {
    struct pollfd one{number_, POLLIN, 0};
    return ::poll(&one, 1, milliseconds) > 0 ? one.revents : short{0};
  }

  [[nodiscard]] bool writers_are_gone() const {
    constexpr int pause = 20;
    const short events = wait(pause);
    return (events & POLLHUP) != 0 && (events & POLLIN) == 0;
  }

  void append(std::string& text, std::string_view more) const {
    if (more.find('\0') != std::string_view::npos) {
      refuse_file(name_, "holds bytes that are zero, so it is no text; name a results file");
    }
    if (text.size() + more.size() > limits_.bytes) refuse_size();
    text += more;
  }

  [[noreturn]] void refuse_size() const {
    refuse_file(name_, fmt::format("holds more than {}, so it is no results file", format_bytes(limits_.bytes)));
  }

  [[noreturn]] void fail() const {
    throw results_error(results_error::cause::io,
                        fmt::format("{}: cannot be read: {}", sanitize(name_), std::strerror(errno)));
  }

  std::string name_;
  const input_limits& limits_;
  file_descriptor own_;
  int number_ = -1;
  bool may_wait_for_writer_ = false;
};

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string read_text(const std::string& path, const input_limits& limits) {
  if (path.empty()) {
    throw results_error(results_error::cause::input,
                        "the name of a file to read is empty; is a shell variable not set?");
  }
  return input_reader(path, limits).read();
}

}  // namespace prumo::bench
