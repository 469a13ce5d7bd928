// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"
#include "ceilings.hpp"
#include "group_measurement.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "results_file.hpp"
#include "worker_fleet.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace prumo::bench {

/// What a run came to.
struct run_outcome {
  std::size_t wrong = 0;   ///< cases whose verification failed
  std::size_t failed = 0;  ///< other failed cases
  std::size_t kept = 0;    ///< cases that a resumed file had already
};

/// Measures a plan group by group within its time budget and keeps the results file up to date.
class scheduler {
 public:
  /// `started` is when the program began: the budget counts from there.
  scheduler(worker_fleet& fleet, results_writer& writer, progress& shown, measure_options options, steady_time started);

  /// Cases that the writer has from an earlier run are kept. `sizes_chosen` tells that the user named sizes: then
  /// nothing is left out for being long. \throws interrupted, results_error
  run_outcome run(const bench_plan& plan, bool sizes_chosen);

 private:
  [[nodiscard]] planned_group without_finished(const planned_group& group, std::size_t& kept) const;
  void leave_out_long_cases(planned_group& group, double share);
  void leave_out(planned_group& group, const std::string& reason);
  void store(const planned_group& group, std::vector<measured_case> results, run_outcome& outcome);
  [[nodiscard]] nlohmann::json checked(const planned_group& group, const planned_case& which,
                                       nlohmann::json result) const;
  void store_devices();

  worker_fleet& fleet_;
  results_writer& writer_;
  progress& progress_;
  measure_options options_;
  steady_time started_;
  group_measurer measurer_;
  ceiling_store ceilings_;
};

/// True where a result of an earlier run stands: measured, unsupported, or skipped for another reason than time.
[[nodiscard]] bool is_final(const nlohmann::json& result);

}  // namespace prumo::bench
