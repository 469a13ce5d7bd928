// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_process.hpp"
#include <prumo/protocol/net_messages.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::bench {

/// How a worker is started.
struct worker_launch {
  std::string name;                           ///< its name in messages
  std::vector<std::string> command;           ///< program and arguments, behind the words of the launcher
  std::size_t launcher_words = 0;             ///< the number of words of `--launcher` (ssh, srun)
  bool of_other_build = false;                ///< measured beside this build's: `--against`
  std::optional<int> threads = std::nullopt;  ///< the number that `command` tells it to start: `--threads`

  /// The same worker started with `words` in front of its own command: `env NAME=VALUE`.
  [[nodiscard]] worker_launch behind(const std::vector<std::string>& words) const;
};

/// A worker that died, hung, broke the protocol or cannot be started. The message names the worker, what it was doing
/// and what it said last. Its process has been ended.
class worker_failure : public std::runtime_error {
 public:
  enum class reason { died, hung, lied, cannot_start, unavailable };
  worker_failure(reason why, const std::string& message, std::string said = {})
      : std::runtime_error(message), why_(why), said_(std::move(said)) {}
  /// `unavailable`: the worker itself says that this machine cannot use its device (exit code 3).
  [[nodiscard]] reason why() const noexcept { return why_; }
  /// The last line that it wrote to its standard error, perhaps none.
  [[nodiscard]] const std::string& said() const noexcept { return said_; }

 private:
  reason why_;
  std::string said_;
};

/// A worker's refusal of a request. The worker itself still works. `kind` is as in docs/protocol.md.
class request_refused : public std::runtime_error {
 public:
  request_refused(std::string kind, const std::string& message) : std::runtime_error(message), kind_(std::move(kind)) {}
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

 private:
  std::string kind_;
};

/// A request about an operation at a shape. `shape` and `parameters` are objects of numbers by name.
template <std::derived_from<protocol::case_request> Request>
[[nodiscard]] Request make_case_request(const std::string& op, const std::string& dtype, const std::string& layout,
                                        const nlohmann::json& shape, const nlohmann::json& parameters) {
  Request request;
  request.op = op;
  request.dtype = dtype;
  request.layout = layout;
  // GCC 12 takes both for dependent names, and wants `template`.
  for (const auto& [axis, extent] : shape.items())
    request.shape.emplace_back(axis, extent.template get<std::int64_t>());
  for (const auto& [name, value] : parameters.items())
    request.parameters.emplace_back(name, value.template get<double>());
  return request;
}

/// A worker with typed requests, one at a time. After a worker_failure the next request starts the worker again. A
/// worker that cannot be started three times in a row is given up.
class worker_client {
 public:
  struct options {
    std::optional<double> time_limit;  ///< seconds for any answer; absent: generous limits by request
    bool forward_errors = false;       ///< show its standard error
  };

  worker_client(worker_launch launch, options how) : launch_(std::move(launch)), options_(how) {}

  /// Starts the process and sends `hello` without waiting, so that several workers start at the same time.
  void launch();

  /// Waits for the answer to `hello`, and starts the worker if needed. \throws worker_failure, interrupted
  const protocol::hello_answer& greet();

  /// The last answer to `hello`. \pre greet() succeeded once.
  [[nodiscard]] const protocol::hello_answer& hello() const { return *hello_; }

  /// Whether the worker has a feature of docs/protocol.md, such as the request `verify`. \pre greet() succeeded once.
  [[nodiscard]] bool has(std::string_view feature) const;
  /// Why the worker cannot be measured at all, because it lacks a request that every measurement needs; empty if it
  /// can.
  /// \pre greet() succeeded once.
  [[nodiscard]] std::string why_unmeasurable() const;

  /// Each function sends the request of its name and checks the answer. If the worker lacks the request, it counts as
  /// refused, with `unsupported`. `expected` are the seconds that the work may reasonably take; the time limit is a
  /// multiple of it.
  /// \throws request_refused, worker_failure, interrupted
  nlohmann::json device(const std::string& device, bool clocks = true);
  protocol::resolve_answer resolve(const protocol::resolve_request& what);
  protocol::prepare_answer prepare(const protocol::prepare_request& what, double expected);
  protocol::verify_answer verify(std::int64_t case_id, std::optional<double> budget, double expected);
  /// The counted flops for the results file; null if the worker cannot count.
  nlohmann::json count(const protocol::count_request& what, double expected);
  protocol::sample_answer sample(std::int64_t case_id, double seconds, double expected);
  void release(std::int64_t case_id);

  protocol::open_answer open(const protocol::open_request& what, double expected);
  protocol::check_answer check(const protocol::check_request& what, double expected);
  protocol::sample_answer time(const protocol::time_request& what, double expected);
  protocol::evaluate_answer evaluate(std::int64_t session, double expected);
  protocol::advance_answer advance(const protocol::advance_request& what, double expected);
  protocol::save_answer save(const protocol::save_request& what);
  protocol::load_answer load(const protocol::load_request& what);
  void close(std::int64_t session);

  /// Ends the worker in order: `quit`, then by force.
  /// \return what its process used; absent if none was running or the system does not tell
  std::optional<process_usage> quit() noexcept;
  /// Ends the worker by force, for instance after it lost its device; the next request starts it again.
  void abandon() noexcept { process_.reset(); }

  /// True if it has answered `hello` and was not seen to end.
  [[nodiscard]] bool alive() const noexcept { return process_ != nullptr && greeted_; }
  /// The process; absent if none is running.
  [[nodiscard]] std::optional<int> process_id() const {
    return process_ == nullptr ? std::nullopt : std::optional(static_cast<int>(process_->id()));
  }
  /// The number of times that it was started. Cases that were prepared under an earlier number are gone.
  [[nodiscard]] int generation() const noexcept { return generation_; }
  /// True if it could not be started several times, so that it is not tried again.
  [[nodiscard]] bool given_up() const noexcept { return failed_starts_ >= 3; }
  [[nodiscard]] const std::string& name() const noexcept { return launch_.name; }
  [[nodiscard]] const worker_launch& how_launched() const noexcept { return launch_; }
  [[nodiscard]] const options& settings() const noexcept { return options_; }

 private:
  /// Seconds that an answer may take although nothing is to be done: start-up of a framework, a slow launcher.
  static constexpr double patience = 60;

  /// Sends a request with these fields and waits for its answer for `limit` seconds.
  protocol::json request(std::string_view name, const protocol::json& fields, double limit);
  /// The same for a request about nets, which all need one feature.
  protocol::json request_about_nets(std::string_view name, const protocol::json& fields, double limit);
  protocol::json exchange(std::string_view name, const protocol::json& fields, double limit);
  /// `limit` is the whole time that was allowed, for messages.
  protocol::json read_answer(std::string_view name, double limit, worker_process::clock::time_point deadline);
  void read_greeting(const protocol::json& answer);
  void start();
  /// False: the worker has not read it by the deadline.
  [[nodiscard]] bool send(std::string_view name, const protocol::json& fields,
                          worker_process::clock::time_point deadline);
  /// Its name in messages: `worker 'openmp'`, `worker 'openmp' with 4 threads`.
  [[nodiscard]] std::string called() const;
  [[nodiscard]] std::string describe_lack(std::string_view requests) const;
  [[noreturn]] void fail(worker_failure::reason why, const std::string& what);
  [[noreturn]] void break_protocol(std::string_view name, const protocol::message_error& error);
  template <class Message>
  Message checked(std::string_view name, const protocol::json& answer);

  worker_launch launch_;
  options options_;
  std::unique_ptr<worker_process> process_;
  std::optional<protocol::hello_answer> hello_;
  bool greeted_ = false;
  std::int64_t last_id_ = 0;
  int generation_ = 0;
  int failed_starts_ = 0;
};

}  // namespace prumo::bench
