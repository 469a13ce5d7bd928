// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/measure_options.hpp"
#include "ceilings/ceilings.hpp"
#include "measure/group_measurement.hpp"
#include "measure/time_model.hpp"
#include "plan/plan_options.hpp"
#include "results/results_file.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// Measures single sizes on all devices of a fleet, for searches in which each size follows from the last answer. The
/// devices take turns, as in `prumo bench`. Ceilings are not probed.
class point_measurer {
 public:
  /// Results also go to `writer`. `on_step` is called with what runs now.
  point_measurer(worker_fleet& fleet, results_writer& writer, measure_options options,
                 std::function<void(const std::string&)> on_step);

  /// The entries of one operation of one size or shape, on all devices. The entry of a failed case has the reason. Each
  /// case gets a first sample, and then `case_seconds` more before the deadline.
  /// \throws program_error as make_plan() does; interrupted, file_error
  [[nodiscard]] std::vector<nlohmann::json> measure(const plan_options& what, double case_seconds,
                                                    steady_time deadline);

 private:
  worker_fleet& fleet_;
  results_writer& writer_;
  measure_options options_;
  std::function<void(const std::string&)> on_step_;
  time_model times_;
  ceiling_store ceilings_;
  group_measurer measurer_;
};

/// The time of a call for a caller who waits for the result: that of the wall clock, fenced after a batch of calls, or
/// the sampled time if that is not known. In seconds; absent for an entry without a time.
[[nodiscard]] std::optional<double> waiting_seconds(const nlohmann::json& result);

}  // namespace prumo::bench
