// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "ceilings/ceilings.hpp"
#include "measure/group_measurement.hpp"
#include "measure/group_needs.hpp"
#include "measure/time_model.hpp"
#include "plan/plan.hpp"
#include "results/results_file.hpp"
#include "terminal/progress.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// The outcome of a run.
struct run_outcome {
  std::size_t wrong = 0;           ///< cases whose verification failed
  std::size_t failed = 0;          ///< other failed cases
  std::size_t measured = 0;        ///< cases with times
  std::size_t lacking_memory = 0;  ///< cases that do not fit into memory
  std::size_t kept = 0;            ///< cases that a resumed file had already
};

/// Measures a plan group by group within its time budget and keeps the results file up to date.
///
/// Small sizes come first, because their times help to estimate those of large ones. Long calls come last. Before each
/// group the remaining time is shared out anew. Every remaining case gets what it needs up to its first sample (memory,
/// data, verification, counting, its probes). The rest is shared by max-min fairness.
///
/// With several process runs all groups are measured by each of them, one run after the other. The order of two builds
/// alternates (A B, B A, A B), in starting as well as within a group. Cases are verified and counted, ceilings and
/// states of power measured in the first run only. The budget is that of the first `measure_options::process_runs`
/// runs. Each further one may take as long as one of these.
class scheduler {
 public:
  /// `started` is when the program began: the budget counts from there.
  scheduler(worker_fleet& fleet, results_writer& writer, progress& shown, measure_options options, steady_time started);

  /// Cases that the writer has from an earlier run are kept. If the budget is too small for a sample of each case, the
  /// longest cases are left out. But if the user chose the sizes (`sizes_chosen`) and a single call of each already
  /// takes longer than the budget, each gets a sample, and one line says so.
  /// \param next_runs is asked when a number of process runs is finished, and returns up to how many measuring goes on;
  ///        it ends if that is not more. Absent: `measure_options::process_runs` are all.
  /// \throws interrupted, file_error
  run_outcome run(const bench_plan& plan, bool sizes_chosen,
                  const std::function<std::size_t(std::size_t finished)>& next_runs = {});

 private:
  [[nodiscard]] std::vector<planned_group> open_groups(const bench_plan& plan, std::size_t process_run) const;
  void measure_runs(const bench_plan& plan, bool sizes_chosen, std::size_t first, std::size_t end);
  [[nodiscard]] bool is_finished(const planned_group& group, const planned_case& which, std::size_t process_run) const;
  void drop_settled(planned_group& group) const;
  void begin_process_run(std::size_t number);
  [[nodiscard]] std::vector<std::size_t> cases_too_long(std::span<const planned_group> groups, const group_needs& all,
                                                        double available) const;
  void leave_out(planned_group& group, std::span<const std::size_t> places, const group_needs& all);
  void tell_overlong(double seconds);
  [[nodiscard]] double power_state_seconds(std::span<const planned_group> groups) const;
  void share_time(std::vector<planned_group>& groups, std::size_t current, bool sizes_chosen, needs_ahead& ahead,
                  group_setting& setting);
  void store(const planned_group& group, std::vector<measured_case> results);
  void store_devices();

  worker_fleet& fleet_;
  results_writer& writer_;
  progress& progress_;
  measure_options options_;
  steady_time started_;
  steady_time deadline_;
  time_model times_;
  ceiling_store ceilings_;
  group_measurer measurer_;
  double called_seconds_ = 0;  ///< one call of each case so far
  bool overlong_ = false;
  std::size_t kept_ = 0;  ///< cases of the last process run that an earlier run of the program had measured
  std::size_t process_run_ = 0;
  double restart_seconds_ = 0;  ///< the time for starting fresh worker processes
};

/// True if a result of an earlier run can be kept: it was measured, is unsupported, or was skipped for another reason
/// than time.
[[nodiscard]] bool is_final(const nlohmann::json& result);

}  // namespace prumo::bench
