// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/interrupt.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace prumo::bench {
namespace {

constexpr std::array caught_signals{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> requested{false};
std::array<int, 2> wake_pipe{-1, -1};
std::array<struct sigaction, caught_signals.size()> earlier_actions{};
struct sigaction earlier_pipe_action{};

extern "C" void prumo_bench_on_signal(int number) {
  const int saved_errno = errno;
  requested.store(true);
  const char byte = 0;
  if (::write(wake_pipe[1], &byte, 1) < 0) {
    // The pipe is full: it is readable already, which is all that is wanted.
  }
  ::signal(number, SIG_DFL);
  errno = saved_errno;
}

void set_flags(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

interrupt_guard::interrupt_guard() {
  requested.store(false);
  if (::pipe(wake_pipe.data()) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  set_flags(wake_pipe[0]);
  set_flags(wake_pipe[1]);
  struct sigaction action{};
  action.sa_handler = prumo_bench_on_signal;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < caught_signals.size(); ++i) {
    ::sigaction(caught_signals[i], nullptr, &earlier_actions[i]);
    // nohup and background shells start programs with signals ignored, and mean it.
    if (earlier_actions[i].sa_handler != SIG_IGN) ::sigaction(caught_signals[i], &action, nullptr);
  }
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigemptyset(&ignore.sa_mask);
  ::sigaction(SIGPIPE, &ignore, &earlier_pipe_action);
}

interrupt_guard::~interrupt_guard() {
  for (std::size_t i = 0; i < caught_signals.size(); ++i) {
    ::sigaction(caught_signals[i], &earlier_actions[i], nullptr);
  }
  ::sigaction(SIGPIPE, &earlier_pipe_action, nullptr);
  ::close(wake_pipe[0]);
  ::close(wake_pipe[1]);
  wake_pipe = {-1, -1};
  requested.store(false);
}

bool interrupt_requested() noexcept { return requested.load(); }

int interrupt_descriptor() noexcept { return wake_pipe[0]; }

void throw_if_interrupted() {
  if (interrupt_requested()) throw interrupted();
}

}  // namespace prumo::bench
