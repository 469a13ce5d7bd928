// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_identity.hpp>
#include <prumo/files/input_file.hpp>
#include <prumo/files/sanitize.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace prumo::bench {
namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void throw_unreadable(const std::string& name) {
  throw file_error(file_error::cause::io, sanitize(name) + ": cannot be read: " + std::strerror(errno));
}

/// Opens without waiting: a named pipe without a writer would hold up the program for ever.
file_descriptor open_to_read(const std::string& path) {
  file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file) return file;
  switch (errno) {
    case ENOENT:
    case ENOTDIR: refuse_file(path, "there is no such file");
    case ENXIO: refuse_file(path, "is a socket or an absent device; name a file or a pipe");
    default: throw_unreadable(path);
  }
}

std::string in_mebibytes(std::size_t bytes) {
  constexpr unsigned shift = 20;
  const std::size_t whole = bytes >> shift;
  return (whole << shift) == bytes ? std::to_string(whole) + "MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

input_file::input_file(const std::string& path, const input_limits& limits)
    : name_(input_name(path)), limits_(limits), opened_(clock::now()) {
  if (path.empty()) {
    throw file_error(file_error::cause::input, "the name of a file to read is empty; is a shell variable not set?");
  }
  if (!is_standard_input(path)) own_ = open_to_read(path);
  number_ = own_ ? own_.get() : STDIN_FILENO;
  struct stat status{};
  if (::fstat(number_, &status) != 0) fail();
  if (S_ISDIR(status.st_mode)) refuse_file(name_, "is a folder; name a " + std::string(limits_.kind) + " in it");
  if (S_ISREG(status.st_mode)) {
    // Files of the system's own, such as those in /proc, have a size of zero and hold text nevertheless.
    if (status.st_size > 0) size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ && *size_ > limits_.bytes) refuse_size();
  }
  may_wait_for_writer_ = own_ && S_ISFIFO(status.st_mode);
}

std::size_t input_file::read(char* to, std::size_t most) {
  if (most == 0) return 0;
  for (;;) {
    const ssize_t got = ::read(number_, to, most);
    if (got > 0) {
      taken_ += static_cast<std::size_t>(got);
      if (taken_ > limits_.bytes) refuse_size();
      return static_cast<std::size_t>(got);
    }
    if (got == 0) {
      // A pipe looks ended, too, as long as nobody has opened it for writing.
      if (taken_ > 0 || !may_wait_for_writer_ || writers_are_gone()) return 0;
      if (clock::now() - opened_ >= limits_.without_writer) refuse_file(name_, "is a pipe to which nobody writes");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      (void)wait(-1);
    } else if (errno != EINTR) {
      fail();
    }
  }
}

short input_file::wait(int milliseconds) const {
  struct pollfd one{number_, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) > 0 ? one.revents : short{0};
}

bool input_file::writers_are_gone() const {
  constexpr int pause = 20;
  const short events = wait(pause);
  return (events & POLLHUP) != 0 && (events & POLLIN) == 0;
}

void input_file::refuse_size() const {
  refuse_file(name_, "holds more than " + in_mebibytes(limits_.bytes) + ", so it is no " + std::string(limits_.kind));
}

void input_file::fail() const { throw_unreadable(name_); }

std::string read_text(const std::string& path, const input_limits& limits) {
  input_file file(path, limits);
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) {
    const std::string_view more(buffer.data(), got);
    if (more.find('\0') != std::string_view::npos) {
      refuse_file(file.name(), "holds bytes that are zero, so it is no text; name a " + std::string(limits.kind));
    }
    text += more;
  }
  return text;
}

}  // namespace prumo::bench
