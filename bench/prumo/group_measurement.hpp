// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"
#include "case_record.hpp"
#include "plan.hpp"
#include "worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace prumo::bench {

using steady_time = std::chrono::steady_clock::time_point;

/// Seconds from now to `when`; negative where it has passed.
[[nodiscard]] double seconds_until(steady_time when);
/// Seconds since `when`.
[[nodiscard]] double seconds_since(steady_time when);
/// `seconds` from now; unlimited for an infinite number.
[[nodiscard]] steady_time after_seconds(double seconds);

/// What measuring a group needs beside the plan.
struct group_setting {
  measure_options options;
  bool verify = true;
  bool count = true;
  steady_time deadline;                             ///< sampling ends here; each case gets one sample at least
  std::function<void(const std::string&)> on_step;  ///< told what runs now
};

/// A case after its group: the entry, without derived figures.
struct measured_case {
  nlohmann::json result;
  bool wrong = false;  ///< its verification failed
};

/// Measures groups. Keeps counted flops, which are the same for all devices.
class group_measurer {
 public:
  explicit group_measurer(worker_fleet& fleet) : fleet_(fleet) {}

  /// Prepares the cases of a group, verifies and counts them, settles, and samples them in turns until each is
  /// measured enough or the deadline has passed. Cases that do not fit into memory together run one batch after the
  /// other. What goes wrong with a case is in its entry.
  /// \return one entry a case of `group`, in order \throws interrupted
  [[nodiscard]] std::vector<measured_case> measure(const planned_group& group, const group_setting& setting);

 private:
  class live_case;
  void measure_batch(const planned_group& group, const group_setting& setting, std::vector<live_case*>& batch);
  nlohmann::json counted_flops(const planned_group& group, const group_setting& setting);

  worker_fleet& fleet_;
  std::map<std::string, nlohmann::json> counted_;
};

}  // namespace prumo::bench
