// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace prumo::bench {

/// A results file that cannot be read or written. The message names the file, what is wrong where, and what
/// to do; it is sanitised.
class results_error : public std::runtime_error {
 public:
  enum class cause {
    input,  ///< the file's content, or what was asked for, is wrong (exit code 2)
    io      ///< the machine refuses: permission, full disk (exit code 3)
  };
  results_error(cause why, const std::string& message) : std::runtime_error(sanitize(message)), why_(why) {}
  [[nodiscard]] cause why() const noexcept { return why_; }

 private:
  cause why_;
};

/// A result with every field of the schema, unknown ones null: fill in what is known and add it.
/// `kind` is `op`, `layout` `right`, `compute_mode` `strict`, `data` `resident`, `cache` `cold`; `status` is
/// `failed` until it is set. `op`, `dtype` and `device` must be set, and `reason` unless the status becomes
/// `ok`; `verified` null means not compared in this run; `time_s` is an object where the status is `ok`, its
/// `stop` one of `settled`, `budget`, `interrupted`.
[[nodiscard]] nlohmann::json blank_result();

/// The text by which a case is found in other files, on other machines and with other implementations. It has op,
/// dtype, shape, layout, parameters, compute_mode, data, host_memory and cache of `result`, and its threads if they
/// were chosen, but neither device nor implementation. A case has one text, whatever the order of fields or the
/// spelling of numbers (1 and 1.0): `gemm/f32/k=2048,m=2048,n=2048/right/alpha=1,beta=0/strict/resident/-/cold`.
/// \throws nlohmann::json::exception where `result` lacks one of these fields.
[[nodiscard]] std::string result_key(const nlohmann::json& result);

/// Reads and checks a results document; `name` is how messages call it.
/// \throws results_error for an empty or truncated text, broken JSON (with line and column), another kind of
/// document,
///         a newer version of the format, or a field that breaks the schema (with its path).
[[nodiscard]] nlohmann::json parse_results(std::string_view text, std::string_view name);

/// Reads and checks a results file; `-` is standard input.
/// \throws results_error as parse_results(), and where the file cannot be read.
[[nodiscard]] nlohmann::json load_results(const std::string& path);

/// Serialises a document: known fields in the order of the documentation, one result a line.
[[nodiscard]] std::string dump_results(const nlohmann::json& document);

/// Replaces the content of `path` so that readers see the old or the new content, never a part: temporary
/// file beside it, fsync, rename. A symbolic link is followed, permissions are kept; `-` is standard output;
/// a device or pipe is written to directly. \throws results_error (io) that names the file and the system's
/// reason.
void write_file_atomically(const std::string& path, std::string_view content);

/// Finds out whether write_file_atomically() could replace `path` now, and leaves it as it is.
/// \throws results_error as that does.
void probe_writable(const std::string& path);

/// Collects the results of a run and keeps its file valid on disk all the time.
///
/// A path of an empty string, `-`, a pipe or a device collects in memory only: its document is written once, at the
/// end, with write_file_atomically(). Nothing is replaced on disk before the first result is there.
class results_writer {
 public:
  /// Starts a new file. An earlier results file or an empty file at `path` will be replaced; anything else
  /// there is refused, as is a folder in which nothing can be written (found out now, not after an hour of
  /// measuring). `run` and `devices` are the document's fields of these names.
  /// \throws results_error
  results_writer(std::string path, nlohmann::json run, nlohmann::json devices);

  /// Goes on with the file at `path`: its results stay, `run` is appended to `run.resumed` of the file.
  /// Devices of the file are updated by id, new ones appended; one whose name or backend differs is refused
  /// (another machine's file). Conditions of the runs are the caller's to compare (run_conditions.hpp).
  /// \throws results_error also where there is no such file.
  [[nodiscard]] static results_writer resume(std::string path, nlohmann::json run, nlohmann::json devices);

  /// Sets the least time between two writes that nobody forced (one second unless told otherwise; zero: every
  /// add()).
  void set_interval(std::chrono::milliseconds interval) { interval_ = interval; }

  /// Adds a result, or replaces the one of the same key, device and implementation. An empty or absent `key`
  /// is filled in, and so are `run_id` and `measured`. Writes the file if the last write is older than the interval
  /// (and ten times as long as that write took). \throws results_error (input) where the result breaks the schema: a
  /// bug of the program or a worker that lies.
  void add(nlohmann::json result);

  /// Replaces the device of the same id or appends it (ceilings are known only after probing).
  void set_device(nlohmann::json device);

  /// The end of a group: writes the file if anything changed since the last write.
  void end_group();

  /// The result of this case if the file has it: the same key and device, and the same implementation where
  /// both are known (an empty `implementation` matches any). Null pointer if not. Valid until the next add().
  [[nodiscard]] const nlohmann::json* find(std::string_view key, std::string_view device,
                                           std::string_view implementation) const;

  /// The whole document as it would be written.
  [[nodiscard]] nlohmann::json document() const;

  [[nodiscard]] const std::vector<nlohmann::json>& results() const { return results_; }

 private:
  results_writer() = default;
  void store(nlohmann::json result);
  void write();

  std::string path_;
  nlohmann::json run_;
  nlohmann::json devices_;
  std::vector<nlohmann::json> results_;
  std::vector<std::string> lines_;  // each result serialised once: a write is then a concatenation
  std::unordered_map<std::string, std::vector<std::size_t>> by_case_;  // key and device -> places in results_
  std::chrono::milliseconds interval_{1000};
  std::chrono::milliseconds least_interval_{0};
  std::optional<std::chrono::steady_clock::time_point> last_write_;
  bool dirty_ = true;
};

}  // namespace prumo::bench
