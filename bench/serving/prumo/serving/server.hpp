// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The conversation of a worker with the program that started it: a line in, a line out.

#include <prumo/protocol/net_messages.hpp>

#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::protocol {

/// What a worker that runs nets does with the requests about them. Functions may throw as those of request_handler.
class workload_handler {
 public:
  virtual ~workload_handler() = default;

  virtual open_answer open(const open_request& request) = 0;
  virtual check_answer check(const check_request& request) = 0;
  virtual sample_answer time(const time_request& request) = 0;
  virtual evaluate_answer evaluate(const evaluate_request& request) = 0;
  // A worker that trains no nets leaves these three as they are: they refuse.
  virtual advance_answer advance(const advance_request& request);
  virtual save_answer save(const save_request& request);
  virtual load_answer load(const load_request& request);
  virtual void close(std::int64_t session) = 0;
};

/// What a worker program does with requests. Every function may throw. A request_error has the kind of the refusal, and
/// kind_of() gives the kind of other exceptions.
class request_handler {
 public:
  virtual ~request_handler() = default;

  /// Without features, environment and process, which are the same for all workers.
  virtual hello_answer hello() = 0;
  virtual device_answer device(const device_request& request) = 0;
  virtual resolve_answer resolve(const resolve_request& request) = 0;
  virtual prepare_answer prepare(const prepare_request& request) = 0;
  virtual verify_answer verify(const verify_request& request) = 0;
  virtual count_answer count(const count_request& request) = 0;
  virtual sample_answer sample(const sample_request& request) = 0;
  virtual void release(std::int64_t case_id) = 0;

  /// Who answers the requests about nets; null if the worker runs none.
  virtual workload_handler* workloads() { return nullptr; }

  /// The kind of an exception that is no request_error.
  virtual error_kind kind_of(const std::exception& cause) const;
};

/// The answer to one line, without its line end. Sets `quit` if the request was to quit.
std::string answer_line(request_handler& handler, std::string_view line, bool& quit);

/// Longer lines are refused. No request needs a hundredth of this.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

/// Standard input for requests, and standard output for answers. The constructor keeps the real standard output for
/// answers, and redirects file descriptor 1 to standard error, where the output of libraries does no harm. So make this
/// object before any library runs.
class standard_channel {
 public:
  standard_channel();
  ~standard_channel();
  standard_channel(const standard_channel&) = delete;
  standard_channel& operator=(const standard_channel&) = delete;

  /// The next line without its end; empty at the end of input. A line that is longer than longest_line is cut to one
  /// character more than that.
  std::optional<std::string> read_line();

  /// Writes a line. False if nobody reads any more.
  bool write_line(std::string_view line);

  /// Whether the input is a terminal.
  bool is_terminal() const;

 private:
  int answers_ = -1;
  std::string buffer_;
  std::size_t searched_ = 0;  ///< this part of the buffer has no line end
};

/// Answers requests until `quit` or the end of input. Returns the program's exit code.
int serve(request_handler& handler, standard_channel& channel);

/// What a worker program says about itself outside of requests.
struct program_description {
  std::string name;         ///< `prumo-worker-openmp`
  std::string version;      ///< `0.1.0`
  std::string description;  ///< one or two sentences for `--help`
  std::string passed_on;    ///< arguments that begin with this are for a library: `--kokkos-`; empty: none
};

/// Handles `--help`, `--version` and unknown arguments, and greets a person at a terminal. Returns the exit code if the
/// program should end now.
std::optional<int> handle_arguments(const program_description& program, int argc, char** argv,
                                    standard_channel& channel);

}  // namespace prumo::protocol
