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
#include <set>
#include <string>
#include <vector>

namespace prumo::bench {

/// How long a GPU is looked at in one go for the sake of its counter of energy, which advances in steps longer than a
/// turn.
inline constexpr double energy_look_seconds = 0.75;

/// What measuring a group needs beside the plan.
struct group_setting {
  measure_options options;
  steady_time deadline;           ///< of the run; each case gets one sample at least
  double case_seconds = 10;       ///< what a case may use beside what it takes to its first sample
  bool keeps_energy_time = true;  ///< a planned_case::is_largest_kernel may use energy_look_seconds more
  std::function<void(const std::string&)> on_step;  ///< told what runs now
};

/// Measures groups. Keeps counted flops, which are the same for all devices.
class group_measurer {
 public:
  /// Tells `times` how long things took. The probes of `ceilings` are measured in turns with the cases.
  group_measurer(worker_fleet& fleet, time_model& times, ceiling_store& ceilings)
      : fleet_(fleet), times_(times), ceilings_(ceilings) {}

  /// Prepares the cases of a group and the probes that it needs, verifies and counts the cases, settles, and samples
  /// all in turns until each case is measured enough or its time is spent. Cases that do not fit into memory together
  /// run one batch after the other. What goes wrong with a case is in its entry.
  /// \return one entry a case of `group`, in order \throws interrupted
  [[nodiscard]] std::vector<measured_case> measure(const planned_group& group, const group_setting& setting);

  /// False for a device that was looked at and told none.
  [[nodiscard]] bool may_tell_energy(std::size_t device) const { return !without_energy_.contains(device); }

 private:
  /// A case of the group at work.
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
  nlohmann::json counted_flops(const planned_group& group, const group_setting& setting, batch& now);
  void measure_batch(const planned_group& group, const group_setting& setting, batch& now);
  void measure_energy(const group_setting& setting, batch& now);
  void sample_in_turns(const planned_group& group, const group_setting& setting, batch& now);

  worker_fleet& fleet_;
  time_model& times_;
  ceiling_store& ceilings_;
  std::map<std::string, nlohmann::json> counted_;
  std::set<std::size_t> without_energy_;  ///< devices that did not tell any when they were asked long enough
};

}  // namespace prumo::bench
