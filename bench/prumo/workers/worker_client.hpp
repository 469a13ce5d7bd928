// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/protocol.hpp"
#include "workers/worker_process.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace prumo::bench {

/// How a worker is started.
struct worker_launch {
  std::string name;                           ///< how messages call it
  std::vector<std::string> command;           ///< program and arguments, behind the words of the launcher
  std::size_t launcher_words = 0;             ///< how many of `--launcher` (ssh, srun) they are
  bool of_other_build = false;                ///< measured beside this build's: `--against`
  std::optional<int> threads = std::nullopt;  ///< that `command` tells it to start: `--threads`

  /// The same worker started with `words` in front of its own command: `env NAME=VALUE`.
  [[nodiscard]] worker_launch behind(const std::vector<std::string>& words) const;
};

/// A worker that died, hung, broke the protocol or cannot be started. The message names it, what it was doing and what
/// it said last. Its process has been ended.
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

/// The answer "no" of a worker that is well: `kind` as docs/protocol.md lists them.
class request_refused : public std::runtime_error {
 public:
  request_refused(std::string kind, const std::string& message) : std::runtime_error(message), kind_(std::move(kind)) {}
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

 private:
  std::string kind_;
};

/// What `prepare` needs; names as in docs/protocol.md.
struct prepare_request {
  std::string device;
  std::string op;
  std::string dtype;
  nlohmann::json shape;
  std::string layout;
  nlohmann::json parameters;
  std::string compute_mode;
  std::uint64_t seed = 1;
  std::string data;
  std::optional<std::string> host_memory;
  std::string cache;
  std::optional<std::string> implementation;
  std::string dispatch;
};

/// A worker as typed requests. One request at a time. After a worker_failure the next request starts it again; a
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

  /// Waits for the answer to `hello`, starting the worker where needed. \throws worker_failure, interrupted
  const hello_answer& greet();

  /// The last answer to `hello`. \pre greet() succeeded once.
  [[nodiscard]] const hello_answer& hello() const { return *hello_; }

  /// Each sends the request of its name and checks the answer. `expected` is how many seconds the work may reasonably
  /// take; the limit is a multiple of it.
  /// \throws request_refused, worker_failure, interrupted
  nlohmann::json device(const std::string& device);
  resolve_answer resolve(const std::string& op, const std::string& dtype, std::optional<double> bytes_per_array,
                         const nlohmann::json& shape, const std::string& layout, const nlohmann::json& parameters);
  prepare_answer prepare(const prepare_request& what, double expected);
  verify_answer verify(std::int64_t case_id, std::optional<double> budget, double expected);
  nlohmann::json count(const std::string& op, const std::string& dtype, const nlohmann::json& shape,
                       const nlohmann::json& parameters, double limit, double expected);
  sample_answer sample(std::int64_t case_id, double seconds, double expected);
  void release(std::int64_t case_id);

  /// Ends the worker in order: `quit`, then by force.
  void quit() noexcept;
  /// Ends the worker by force, for instance after it lost its device; the next request starts it again.
  void abandon() noexcept { process_.reset(); }

  /// True where it has greeted and was not seen to end.
  [[nodiscard]] bool alive() const noexcept { return process_ != nullptr && greeted_; }
  /// How often it was started: cases prepared under an earlier number are gone.
  [[nodiscard]] int generation() const noexcept { return generation_; }
  /// True where it could not be started so often that it is not tried again.
  [[nodiscard]] bool given_up() const noexcept { return failed_starts_ >= 3; }
  [[nodiscard]] const std::string& name() const noexcept { return launch_.name; }
  [[nodiscard]] const worker_launch& how_launched() const noexcept { return launch_; }
  [[nodiscard]] const options& settings() const noexcept { return options_; }

 private:
  nlohmann::json request(std::string_view name, const nlohmann::json& fields, double limit);
  nlohmann::json exchange(std::string_view name, double limit);
  void start();
  void send(std::string_view name, const nlohmann::json& fields);
  /// How messages call it: `worker 'openmp'`, `worker 'openmp' with 4 threads`.
  [[nodiscard]] std::string called() const;
  [[noreturn]] void fail(worker_failure::reason why, const std::string& what);
  template <typename Parse>
  std::invoke_result_t<Parse, const nlohmann::json&> checked(std::string_view name, const nlohmann::json& answer,
                                                             Parse parse);

  worker_launch launch_;
  options options_;
  std::unique_ptr<worker_process> process_;
  std::optional<hello_answer> hello_;
  bool greeted_ = false;
  std::int64_t last_id_ = 0;
  int generation_ = 0;
  int failed_starts_ = 0;
};

}  // namespace prumo::bench
