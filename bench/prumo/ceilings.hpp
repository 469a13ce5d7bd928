// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"
#include "derive.hpp"
#include "group_measurement.hpp"
#include "plan.hpp"
#include "worker_fleet.hpp"

#include <map>
#include <string>

namespace prumo::bench {

/// Measured ceilings of the devices: the probes `copy`, `triad`, `read` and `fma`, measured as any case at the size,
/// type and cache state of the groups that need them, each once.
class ceiling_store {
 public:
  ceiling_store(worker_fleet& fleet, group_measurer& measurer) : fleet_(fleet), measurer_(measurer) {}

  /// Measures what is missing for the cases of a group, `seconds` a probe at most, and enters it into the devices'
  /// `ceilings`. A probe that fails leaves its ceiling unknown; none is begun after the setting's deadline. \return
  /// true where something was measured
  /// \throws interrupted
  bool measure_for(const planned_group& group, const group_setting& setting, double seconds);

  /// The ceilings that apply to a case; unknown ones are absent.
  [[nodiscard]] measured_ceilings find(const planned_group& group, const planned_case& which) const;

  /// How many probes a plan needs, to share out its time.
  [[nodiscard]] std::size_t count_needed(const bench_plan& plan) const;

 private:
  [[nodiscard]] std::map<std::string, std::vector<planned_case>> missing(const planned_group& group) const;

  worker_fleet& fleet_;
  group_measurer& measurer_;
  std::map<std::string, std::optional<double>> values_;
};

}  // namespace prumo::bench
