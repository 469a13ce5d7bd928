// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/started_child.hpp"

#include "workers/worker_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <fmt/format.h>

namespace prumo::bench {
namespace {

/// A pipe whose ends no other child inherits, or the end of input would never reach a worker. Ends are kept above the
/// standard descriptors, which the child replaces.
struct pipe_pair {
  int read_end = -1;
  int write_end = -1;

  explicit pipe_pair(const std::string& program) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe(ends.data()) != 0) {
      throw process_error(fmt::format("cannot start {}: no pipe: {}", program, std::strerror(errno)));
    }
    for (int& end : ends) {
      if (end <= STDERR_FILENO) {
        const int moved = ::fcntl(end, F_DUPFD, STDERR_FILENO + 1);
        ::close(end);
        end = moved;
      }
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  ~pipe_pair() {
    close_descriptor(read_end);
    close_descriptor(write_end);
  }
  pipe_pair(const pipe_pair&) = delete;
  pipe_pair& operator=(const pipe_pair&) = delete;
};

void make_non_blocking(int descriptor) noexcept {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/// A descriptor that becomes readable when the child ends, and that no other child inherits. -1 where there is none.
int open_end_of(pid_t child) noexcept {
#if defined(SYS_pidfd_open)
  return static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
#else
  static_cast<void>(child);
  return -1;
#endif
}

/// The child between fork and exec: calls only what is safe there. Does not return.
[[noreturn]] void become(char* const* arguments, const pipe_pair& input, const pipe_pair& output,
                         const pipe_pair& errors, const pipe_pair& failure, bool own_process_group, pid_t parent) {
  if (own_process_group) ::setpgid(0, 0);
#if defined(__linux__)
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  // The parent may have died before the line above.
  if (::getppid() != parent) ::_exit(127);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  ::sigemptyset(&standard.sa_mask);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &standard, nullptr);
  if (::dup2(input.read_end, STDIN_FILENO) >= 0 && ::dup2(output.write_end, STDOUT_FILENO) >= 0 &&
      ::dup2(errors.write_end, STDERR_FILENO) >= 0) {
    ::execvp(arguments[0], arguments);
  }
  const int reason = errno;
  if (::write(failure.write_end, &reason, sizeof reason) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

void close_descriptor(int& descriptor) noexcept {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

started_child start_child(std::vector<std::string> command, bool own_process_group) {
  const std::string& program = command.front();
  pipe_pair input(program);
  pipe_pair output(program);
  pipe_pair errors(program);
  pipe_pair failure(program);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw process_error(fmt::format("cannot start {}: {}", program, std::strerror(errno)));
  if (child == 0) become(arguments.data(), input, output, errors, failure, own_process_group, parent);

  close_descriptor(failure.write_end);
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.read_end, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof reason)) {
    ::waitpid(child, nullptr, 0);
    throw process_error(fmt::format("cannot start {}: {}", program, std::strerror(reason)));
  }
  const started_child result{child, std::exchange(input.write_end, -1), std::exchange(output.read_end, -1),
                             std::exchange(errors.read_end, -1), open_end_of(child)};
  for (const int descriptor : {result.input, result.output, result.errors}) make_non_blocking(descriptor);
  return result;
}

}  // namespace prumo::bench
