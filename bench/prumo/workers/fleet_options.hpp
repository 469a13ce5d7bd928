// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_client.hpp"
#include "workers/worker_discovery.hpp"

#include <string>
#include <vector>

namespace prumo::bench {

/// Options of every verb that starts workers.
struct fleet_options {
  worker_options workers;
  worker_client::options client;
  std::vector<std::string> devices;  ///< filters; empty: all but peers
  /// Numbers of threads of the host's devices, see thread_numbers(); empty: as found.
  std::vector<std::string> threads;
};

}  // namespace prumo::bench
