// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "command_line/options/bench_options.hpp"
#include "command_line/verbs/outputs.hpp"
#include "measure/machine_state.hpp"
#include "results/results_file.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace prumo::bench {

/// The files that `prumo bench` and `prumo infer` write.
struct bench_files {
  output_file results;
  output_file table;
  bool resumed = false;
  nlohmann::json earlier;  ///< what is in `results` if the run is resumed

  [[nodiscard]] bool take_standard_output() const { return results.is_standard_output() || table.is_standard_output(); }
};

/// Finds out about the files before anything is measured. \throws program_error, file_error
[[nodiscard]] bench_files open_files(const bench_options& options);

/// Begins the results of a run that measures `plan`, or continues those in the file.
/// \param notes that the run's record keeps
/// \param fields further ones of the record
/// \throws program_error where the earlier run had another plan or other conditions, file_error
[[nodiscard]] results_writer begin_results(const bench_options& options, bench_files& files, const worker_fleet& fleet,
                                           const std::vector<std::string>& notes, nlohmann::json plan,
                                           const machine_watch& machine, const nlohmann::json& fields = {});

/// Writes the files at the end, and tells where the results are.
class finished_files {
 public:
  /// Older files stay as they are if nothing was measured.
  finished_files(const bench_files& files, const results_writer& writer, const nlohmann::json& document);

  /// True if the file of results holds those of this run.
  [[nodiscard]] bool has_results() const { return has_results_; }

  /// Lines for the end of the table.
  [[nodiscard]] const std::string& lines() const { return lines_; }

  /// Prints what could not be written. \return the exit code of the command, which would have `code` otherwise
  [[nodiscard]] exit_code tell(exit_code code) const { return writes_.tell(code); }

 private:
  closing_writes writes_;
  bool has_results_ = false;
  std::string lines_;
};

/// What is known when everything was measured.
struct finished_run {
  nlohmann::json resources;  ///< that the whole program used
  nlohmann::json document;
  finished_files files;
};

/// Ends the workers and the watch of the machine, prints what there is to say about it, and writes the files.
[[nodiscard]] finished_run end_run(const bench_options& options, const bench_files& files, const results_writer& writer,
                                   worker_fleet& fleet, steady_time started, machine_watch& machine);

/// Writes what an interrupted run has finished into its files. \return whether -o is a file that holds results now
/// \param elapsed seconds since the program began
[[nodiscard]] bool keep_finished(const bench_options& options, const bench_files& files, const results_writer& writer,
                                 double elapsed, const machine_watch& machine);

/// Keeps what an interrupted run has finished, and prints how much it is and how to continue.
/// \param elapsed seconds since the program began
[[nodiscard]] exit_code interrupted_end(const bench_options& options, const bench_files& files,
                                        const results_writer& writer, double elapsed, const machine_watch& machine);

}  // namespace prumo::bench
