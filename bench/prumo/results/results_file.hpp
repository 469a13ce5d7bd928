// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_error.hpp>
#include <prumo/files/output_file.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace prumo::bench {

/// A result with every field of the schema, unknown ones null: fill in what is known and add it.
/// `kind` is `op`, `layout` `right`, `compute_mode` `strict`, `data` `resident`, `cache` `cold`; `status` is
/// `failed` until it is set. `op`, `dtype` and `device` must be set, and `reason` unless the status becomes
/// `ok`; `verified` null means not compared in this run; `time_s` is an object where the status is `ok`, its
/// `stop` one of `settled`, `steady`, `budget`, `interrupted`.
[[nodiscard]] nlohmann::json blank_result();

/// The text by which a case is found in other files, on other machines and with other implementations. It has op,
/// dtype, shape, layout, parameters, compute_mode, data, host_memory and cache of `result`, and its threads if they
/// were chosen, but neither device nor implementation. A case has one text, whatever the order of fields or the
/// spelling of numbers (1 and 1.0): `gemm/f32/k=2048,m=2048,n=2048/right/alpha=1,beta=0/strict/resident/-/cold`.
/// \throws nlohmann::json::exception where `result` lacks one of these fields.
[[nodiscard]] std::string result_key(const nlohmann::json& result);

/// Reads and checks a results document; `name` is how messages call it.
/// \throws file_error for an empty or truncated text, broken JSON (with line and column), another kind of
/// document,
///         a newer version of the format, or a field that breaks the schema (with its path).
[[nodiscard]] nlohmann::json parse_results(std::string_view text, std::string_view name);

/// Reads and checks a results file; `-` is standard input.
/// \throws file_error as parse_results() and read_text()
[[nodiscard]] nlohmann::json load_results(const std::string& path);

/// Serialises a document: known fields in the order of the documentation, one result a line.
[[nodiscard]] std::string dump_results(const nlohmann::json& document);

/// Refuses a file for results that holds something already: what is no results file is never replaced, and results are
/// replaced only if the user allows it with `force`.
/// \throws file_error
void check_replaceable(const output_file& file, bool force);

/// Refuses to resume a file of other devices, which also `--allow-mixed` does not: devices that share an id must have
/// the same backend, name and number of threads.
/// \param earlier, devices the `devices` of the file and of this run
/// \throws file_error
void check_same_devices(const std::string& path, const nlohmann::json& earlier, const nlohmann::json& devices);

/// Collects the results of a run and keeps its file valid on disk all the time.
///
/// A stream (output_file) is written once, at the end. Older content of the file stays until there is a result that was
/// measured, so that a run in which everything fails destroys nothing. If the file cannot be written (a full disk, a
/// folder that vanished), results are kept in memory, and the next write tries again.
class results_writer {
 public:
  /// Begins a document. `file` must outlive the writer; what it holds will be replaced (check_replaceable()). `run` and
  /// `devices` are the document's fields of these names.
  results_writer(const output_file& file, nlohmann::json run, nlohmann::json devices);

  /// Goes on with `document`, which is what `file` holds: its results stay, `run` is appended to its `run.resumed`.
  /// Its devices are updated by id, new ones appended. Conditions of the runs are the caller's to compare
  /// (run_conditions.hpp).
  /// \throws file_error as check_same_devices(), and for a stream
  [[nodiscard]] static results_writer resume(const output_file& file, nlohmann::json document, nlohmann::json run,
                                             nlohmann::json devices);

  /// Sets what is called with a note for the user when the file cannot be written, and when it can be written again.
  void on_note(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

  /// Writes documents that can be published: see anonymized().
  void set_anonymous() { anonymous_ = true; }

  /// Sets the least time between two writes that nobody forced (one second unless told otherwise; zero: every
  /// add()).
  void set_interval(std::chrono::milliseconds interval) { interval_ = interval; }

  /// Adds a result, or replaces the one of the same key, device and implementation. An empty or absent `key`
  /// is filled in, and so are `run_id` and `measured`. Writes the file if the last write is older than the interval
  /// (and ten times as long as that write took). \throws file_error (input) where the result breaks the schema: a
  /// bug of the program or a worker that lies.
  void add(nlohmann::json result);

  /// Replaces the device of the same id or appends it (ceilings are known only after probing).
  void set_device(nlohmann::json device);

  /// The end of a group: writes the file if anything changed since the last write.
  void end_group();

  /// True if at least one case was measured.
  [[nodiscard]] bool has_measured() const;

  /// The result of this case if the file has it: the same key and device, and the same implementation where
  /// both are known (an empty `implementation` matches any). Null pointer if not. Valid until the next add().
  [[nodiscard]] const nlohmann::json* find(std::string_view key, std::string_view device,
                                           std::string_view implementation) const;

  /// The whole document as it would be written.
  [[nodiscard]] nlohmann::json document() const;

  [[nodiscard]] const std::vector<nlohmann::json>& results() const { return results_; }

 private:
  explicit results_writer(const output_file& file) : file_(&file) {}
  void store(nlohmann::json result);
  void write();
  void tell(const std::string& note) const;

  const output_file* file_;
  nlohmann::json run_;
  nlohmann::json devices_;
  std::vector<nlohmann::json> results_;
  std::vector<std::string> lines_;  // each result serialised once: a write is then a concatenation
  std::unordered_map<std::string, std::vector<std::size_t>> by_case_;  // key and device -> places in results_
  std::chrono::milliseconds interval_{1000};
  std::chrono::milliseconds least_interval_{0};
  std::optional<std::chrono::steady_clock::time_point> last_write_;
  bool dirty_ = true;
  bool keeps_older_ = false;  // the file holds other results, which stay until something is measured
  bool failed_ = false;       // the last write
  bool anonymous_ = false;
  std::function<void(const std::string&)> tell_;
};

}  // namespace prumo::bench
