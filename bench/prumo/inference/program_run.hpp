// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "inference/net_inputs.hpp"
#include "inference/open_net.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <functional>

namespace prumo::bench {

/// Measures a program that classifies all images, as a process of its own: from its start, when nothing is loaded, to
/// its end. It is a fresh worker that starts its runtime, reads the files, places the arrays, runs all images, and
/// ends.
/// \param stub the entry as net_result_stub() makes it
/// \param on_step is called before each of the `processes`
/// \return the finished entry; `usage` tells where the time of the median process went
/// \throws what `on_step` throws, interrupted
[[nodiscard]] nlohmann::json measure_program(worker_fleet& fleet, const net_inputs& inputs, const net_place& place,
                                             int processes, nlohmann::json stub,
                                             const std::function<void(int)>& on_step);

}  // namespace prumo::bench
