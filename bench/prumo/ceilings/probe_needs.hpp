// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A way to measure a ceiling: a case of a worker. Some cases measure two ceilings at a time.
struct probe_need {
  std::vector<std::string_view> ceilings;  ///< `triad`; `h2d` and `d2h`
  std::string op;                          ///< the worker's case
  std::string dtype;
  std::string compute_mode = "strict";
  nlohmann::json shape = {};  ///< null: as large as the arrays of the group
  planned_case which;         ///< where and how
  std::string key;            ///< the same for all needs that one measurement serves
};

/// The ways to measure a ceiling by name for a case of a group: one for each implementation of a probe, and one for
/// each size of a product. Empty if the worker cannot.
[[nodiscard]] std::vector<probe_need> ways_to_probe(std::string_view ceiling, const worker_fleet& fleet,
                                                    const planned_group& group, const planned_case& which);

/// The ceilings of memory that may bound the group's cases on a device: that of its traffic if it can be measured, else
/// what stands in for it (see find_memory_ceiling()).
[[nodiscard]] std::vector<std::string_view> memory_ceilings(const worker_fleet& fleet, const planned_group& group,
                                                            const planned_case& which);

/// The type that a ceiling of the group's cases is measured with: the group's, or f32, in which 16-bit types are
/// computed. Empty if the worker cannot measure it with either.
[[nodiscard]] std::string probed_type(std::string_view ceiling, const worker_fleet& fleet, const fleet_device& device,
                                      const std::string& dtype);

/// The unit that the group's case can use, among those that its device has.
[[nodiscard]] compute_unit unit_of(const fleet_device& device, const planned_group& group);

}  // namespace prumo::bench
