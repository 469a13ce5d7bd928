// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/case_record.hpp"
#include "ceilings/ceilings.hpp"
#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

namespace prumo::bench {

/// The entry of a measured case for the results file: rates, shares and bound are filled in. If the worker's numbers
/// break the format, the entry becomes a failed one that says so.
[[nodiscard]] nlohmann::json finished_result(const planned_group& group, const planned_case& which,
                                             nlohmann::json result, const worker_fleet& fleet,
                                             const ceiling_store& ceilings);

}  // namespace prumo::bench
