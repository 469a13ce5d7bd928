// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_fleet.hpp"

#include <span>
#include <string>

namespace prumo::bench {

/// Measures the ceilings of all devices of a fleet with each type: those of memory, and those of the last-level cache
/// if its size is known. They become the `ceilings` of the devices' entries. Takes about 1.5 s for each device, type
/// and place, and shows a progress line. \throws interrupted
void measure_device_ceilings(worker_fleet& fleet, std::span<const std::string> dtypes);

}  // namespace prumo::bench
