// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_fleet.hpp"

#include <span>
#include <string>

namespace prumo::bench {

/// Measures the ceilings of all devices of a fleet with each type: of memory, and of the last-level cache where its
/// size is known. They become the `ceilings` of the devices' entries. Takes about 1.5 s a device, type and place, shown
/// on a progress line. \throws interrupted
void measure_device_ceilings(worker_fleet& fleet, std::span<const std::string> dtypes);

}  // namespace prumo::bench
