// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/case_record.hpp"
#include "cases/deadlines.hpp"
#include "cases/live_case.hpp"
#include "cases/measure_options.hpp"
#include "ceilings/ceilings.hpp"
#include "measure/time_model.hpp"
#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// What is needed beside the plan to measure a group.
struct group_setting {
  measure_options options;
  steady_time deadline;          ///< of the run; each case gets one sample at least
  double case_seconds = 10;      ///< the time for a case after its first sample
  bool keeps_state_time = true;  ///< a planned_case::is_largest_kernel may use power_states_seconds more
  std::function<void(const std::string&)> on_step;  ///< called with what runs now
};

/// Measures groups. Keeps counted flops, which are the same for all devices.
class group_measurer {
 public:
  /// `times` learns how long things took. The probes of `ceilings` are measured in turns with the cases.
  group_measurer(worker_fleet& fleet, time_model& times, ceiling_store& ceilings)
      : fleet_(fleet), times_(times), ceilings_(ceilings) {}

  /// Prepares the cases of a group and the probes that it needs, verifies and counts the cases, and lets the machine
  /// settle. Then it samples all in turns, until each case is measured enough, cannot be, or its time is used up. Cases
  /// that do not fit into memory together run in several batches. If a case fails, its entry says why.
  /// \return one entry a case of `group`, in order \throws interrupted
  [[nodiscard]] std::vector<measured_case> measure(const planned_group& group, const group_setting& setting);

  /// True if the states `burst` and `sustained` are to be measured of the case: time is reserved for them.
  [[nodiscard]] bool owes_power_states(const planned_case& which, const measure_options& options) const;

 private:
  /// A case of the group while it is measured.
  struct member {
    const planned_case* planned;
    live_case measured;
  };
  struct batch;
  struct turn;

  live_case::fit prepare(const planned_group& group, member& which, bool may_wait);
  void prepare(live_probe& probe);
  void release(const planned_group& group, member& which);
  void verify(const planned_group& group, const group_setting& setting, batch& now);
  nlohmann::json counted_flops(const planned_group& group, const group_setting& setting, std::vector<member>& cases);
  void measure_batch(const planned_group& group, const group_setting& setting, batch& now);
  void measure_states(const group_setting& setting, batch& now);
  void sample_in_turns(const planned_group& group, const group_setting& setting, batch& now);
  static void stop_steady(const group_setting& setting, std::span<const turn> turns, double slice_seconds,
                          double left_seconds);

  worker_fleet& fleet_;
  time_model& times_;
  ceiling_store& ceilings_;
  std::map<std::string, nlohmann::json> counted_;
};

}  // namespace prumo::bench
