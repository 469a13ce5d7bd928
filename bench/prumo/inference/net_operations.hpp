// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "inference/inference_options.hpp"
#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"
#include <prumo/data/net_file.hpp>

namespace prumo::bench {

/// The convolutions of a net as operations by themselves, without bias, activation and pooling, as `prumo bench`
/// measures them and others have published them. Convolutions whose stride or padding differs between rows and columns
/// are left out with a note.
[[nodiscard]] bench_plan plan_net_operations(const data::net& net, const inference_plan& plan, worker_fleet& fleet);

}  // namespace prumo::bench
