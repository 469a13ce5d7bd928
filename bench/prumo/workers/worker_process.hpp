// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace prumo::bench {

/// A worker process that cannot be started, or that has ended while it was needed.
class process_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a process used from its start to its end, its own ended children included.
struct process_usage {
  double user_s = 0;
  double system_s = 0;
  std::uint64_t peak_memory_bytes = 0;
};

/// A child process that is talked to line by line over its standard input and output. The last lines of its standard
/// error are kept. The destructor ends the process, so no child outlives this object. On Linux none outlives this
/// program either, however it ends.
///
/// A process with its own process group runs from write_line() until the answer is read, and while read_line() waits.
/// At other times it is stopped, because its threads would take cores from the worker that is measured next: after
/// their last work, threads of OpenMP spin for some milliseconds, and those of OpenBLAS for a tenth of a second.
class worker_process {
 public:
  using clock = std::chrono::steady_clock;

  struct options {
    /// A process group of its own keeps Ctrl-C on the terminal away from the worker, so that it ends in order. A
    /// launcher such as ssh must stay in the terminal's group, or it could not ask for a password.
    bool own_process_group = true;
    std::size_t line_limit = std::size_t{16} << 20;  ///< bytes; a longer line is an error
    std::size_t kept_error_lines = 20;               ///< last lines of standard error that are kept
    bool forward_errors = false;                     ///< copy its standard error to ours
  };

  /// Starts `command` (the program, searched in PATH, then its arguments).
  /// \throws process_error that names the program and the system's reason.
  worker_process(std::vector<std::string> command, options how);
  explicit worker_process(std::vector<std::string> command) : worker_process(std::move(command), options{}) {}
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  /// Sends one line; the line break is added. False: the process did not read all of it by the deadline.
  /// \throws process_error if the process does not read any more; interrupted if it would have to wait and the user
  ///         asked the program to stop.
  [[nodiscard]] bool write_line(std::string_view line, clock::time_point deadline);

  /// Waits for one line, without its line break. Empty: the deadline passed.
  /// \throws process_error if the process has ended (even if a child of its own still holds the pipe), has closed its
  ///         output or sends an endless line; interrupted if the user asked the program to stop.
  [[nodiscard]] std::optional<std::string> read_line(clock::time_point deadline);

  /// Ends the process: closes its input, waits up to `grace`, then SIGTERM and SIGKILL.
  void stop(std::chrono::milliseconds grace) noexcept;

  /// True until the process was seen to have ended.
  [[nodiscard]] bool running();

  /// How it ended, in words: `exited with code 3`, `was killed by signal 9 (SIGKILL), perhaps by the out-of-memory
  /// killer`. While it runs: `still runs`.
  [[nodiscard]] std::string describe_end() const;

  /// Its exit code; empty while it runs or if a signal ended it.
  [[nodiscard]] std::optional<int> exit_status() const;

  /// What it used; absent while it runs.
  [[nodiscard]] std::optional<process_usage> usage() const { return usage_; }

  /// The last lines of its standard error, oldest first.
  [[nodiscard]] const std::deque<std::string>& error_lines() const { return error_lines_; }

  [[nodiscard]] pid_t id() const { return id_; }

 private:
  /// Waits until `descriptor` is ready for `events`, the process ends, the user asks the program to stop or the
  /// deadline comes. Meanwhile it reads what the process writes to its standard error.
  void wait_for(int descriptor, short events, clock::time_point deadline);
  void reap_within(std::chrono::milliseconds limit) noexcept;
  bool try_reap() noexcept;
  void signal_process(int number) const noexcept;
  void let_run() noexcept;
  void hold() noexcept;
  void read_errors();
  void keep_error_text(std::string_view text);
  void end_error_line();
  std::optional<std::string> take_line();

  options options_;
  pid_t id_ = -1;
  bool ended_ = false;
  bool group_ended_ = false;
  bool held_ = false;
  int wait_status_ = 0;
  std::optional<process_usage> usage_;
  int input_ = -1;   // our end of its standard input
  int output_ = -1;  // ... output
  int errors_ = -1;  // ... error
  int end_ = -1;     // readable once it has ended; Linux only
  std::string buffer_;
  std::size_t scanned_ = 0;  // no line break before this place of buffer_
  std::string partial_error_;
  std::deque<std::string> error_lines_;
};

}  // namespace prumo::bench
