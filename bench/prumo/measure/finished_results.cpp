// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/finished_results.hpp"

#include "results/results_schema.hpp"

#include <fmt/format.h>

#include <utility>

namespace prumo::bench {

using nlohmann::json;

json finished_result(const planned_group& group, const planned_case& which, json result, const worker_fleet& fleet,
                     const ceiling_store& ceilings) {
  const fleet_device& device = fleet.devices()[which.device];
  if (result.at("status") == "ok") {
    store_rates_and_shares(result, group, device.entry.at("peaks"), ceilings.find(group, which));
  }
  if (const auto violations = validate_result(result); !violations.empty()) {
    // The numbers come from the worker: its mistake costs this case, not the run.
    result = group.result_stub(fleet, which);
    result["reason"] =
        fmt::format("worker '{}' gave numbers that break the format at {}: {}", fleet.worker(device.worker).name(),
                    violations.front().path, violations.front().message);
  }
  return result;
}

}  // namespace prumo::bench
