// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/interrupt.hpp"

#include "terminal/standard_output.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace prumo::bench {
namespace {

constexpr std::array caught_signals{SIGINT, SIGTERM, SIGHUP};

/// Signals of one kind that follow within this time are the same request.
constexpr std::int64_t same_request_ns = 200'000'000;

std::atomic<bool> requested{false};
std::atomic<int> delays{0};                                                     ///< how many live
std::array<std::atomic<std::int64_t>, caught_signals.size()> first_arrivals{};  // ns; 0: none has come
std::array<int, 2> wake_pipe{-1, -1};
std::array<struct sigaction, caught_signals.size()> earlier_actions{};

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Whether an earlier signal of this kind has already asked the program to stop.
bool is_repeated(int number) noexcept {
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < caught_signals.size(); ++i) {
    if (caught_signals[i] != number) continue;
    std::int64_t first = 0;
    return !first_arrivals[i].compare_exchange_strong(first, now) && now - first > same_request_ns;
  }
  return false;
}

extern "C" void prumo_bench_on_signal(int number) {
  const int saved_errno = errno;
  requested.store(true);
  const char byte = 0;
  if (::write(wake_pipe[1], &byte, 1) < 0) {
    // The pipe is full: it is readable already, which is all that is wanted.
  }
  if (is_repeated(number)) {
    ::signal(number, SIG_DFL);
    ::raise(number);  // ends the program when this function returns
  }
  errno = saved_errno;
}

void set_flags(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

interrupt_guard::interrupt_guard() {
  requested.store(false);
  for (auto& arrival : first_arrivals) arrival.store(0);
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
  prepare_standard_streams();  // a worker that dies closes its pipe
}

interrupt_guard::~interrupt_guard() {
  for (std::size_t i = 0; i < caught_signals.size(); ++i) {
    ::sigaction(caught_signals[i], &earlier_actions[i], nullptr);
  }
  ::close(wake_pipe[0]);
  ::close(wake_pipe[1]);
  wake_pipe = {-1, -1};
  requested.store(false);
}

bool interrupt_requested() noexcept { return requested.load(); }

int interrupt_descriptor() noexcept { return delays.load() > 0 ? -1 : wake_pipe[0]; }

interrupt_delay::interrupt_delay() noexcept { ++delays; }
interrupt_delay::~interrupt_delay() { --delays; }

void throw_if_interrupted() {
  if (interrupt_requested() && delays.load() == 0) throw interrupted();
}

}  // namespace prumo::bench
