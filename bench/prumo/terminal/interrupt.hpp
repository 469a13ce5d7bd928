// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <exception>

namespace prumo::bench {

/// Thrown where the program waits for a worker and the user has asked it to stop.
class interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// While it lives, SIGINT, SIGTERM and SIGHUP ask the program to stop instead of ending it. What is written to the pipe
/// of a dead worker fails with an error, also afterwards (prepare_standard_streams()).
/// A second signal of the same kind ends the program at once: the results file is valid at any moment. It counts if it
/// comes 0.2 s after the first or later, because timeout(1) and shells send theirs to the program and to its process
/// group, which it is in, too. One guard at a time.
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
};

/// While it lives, nothing throws `interrupted`: what is under way is short, and has to be finished before the program
/// can stop in order. A second signal ends the program as always.
class interrupt_delay {
 public:
  interrupt_delay() noexcept;
  ~interrupt_delay();
  interrupt_delay(const interrupt_delay&) = delete;
  interrupt_delay& operator=(const interrupt_delay&) = delete;
};

/// True from the first such signal on, while the guard lives.
[[nodiscard]] bool interrupt_requested() noexcept;

/// A descriptor that becomes readable with the first such signal, for poll(); -1 without a guard or while a delay
/// lives. It is never read, so that every later wait ends at once too.
[[nodiscard]] int interrupt_descriptor() noexcept;

/// Throws `interrupted` once the program is asked to stop.
void throw_if_interrupted();

}  // namespace prumo::bench
