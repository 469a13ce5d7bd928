// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/standard_output.hpp"

#include "terminal/text.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace prumo::bench {
namespace {

int first_error = 0;

void remember(int error) {
  if (first_error == 0) first_error = error != 0 ? error : EIO;
}

extern "C" void prumo_bench_let_writes_fail(int) {}

}  // namespace

void prepare_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Opened the wrong way round, so that whoever uses the closed stream gets an error.
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  // A handler, because a signal that is ignored would stay so in programs that this one starts.
  struct sigaction action{};
  action.sa_handler = prumo_bench_let_writes_fail;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    struct sigaction earlier{};
    if (::sigaction(number, nullptr, &earlier) == 0 && earlier.sa_handler == SIG_DFL) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

void print_output(std::string_view lines) {
  const std::string text = sanitize_lines(lines);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) remember(errno);
}

int standard_output_error() noexcept {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) remember(errno);
  return first_error;
}

void print_error(std::string_view lines) {
  const std::string text = sanitize_lines(lines);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace prumo::bench
