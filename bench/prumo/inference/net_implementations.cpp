// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/net_implementations.hpp"

#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"

#include <algorithm>

namespace prumo::bench {
namespace {

/// What a worker says of itself; empty if it has no such workload.
std::vector<std::string> known_to(const worker_fleet& fleet, const fleet_device& device, std::string_view workload) {
  if (!device.missing.empty()) return {};
  const auto& workloads = fleet.worker(device.worker).hello().workloads;
  if (!workloads) return {};
  for (const protocol::workload_description& it : *workloads) {
    if (it.workload == workload) return it.implementations;
  }
  return {};
}

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<std::vector<std::optional<std::string>>> net_implementations(const worker_fleet& fleet,
                                                                         std::span<const std::string> named,
                                                                         std::string_view workload) {
  std::vector<std::vector<std::optional<std::string>>> chosen;
  std::vector<std::string> all;
  for (const fleet_device& device : fleet.devices()) {
    const std::vector<std::string> known = known_to(fleet, device, workload);
    auto& of_device = chosen.emplace_back();
    for (const std::string& name : known) {
      if (!contains(all, name)) all.push_back(name);
      if (contains(named, name) || contains(named, "all")) of_device.emplace_back(name);
    }
    // A worker without the workload tells why when it is asked.
    if (named.empty() || known.empty()) of_device.emplace_back(std::nullopt);
  }
  for (const std::string& name : named) {
    if (name == "all" || contains(all, name)) continue;
    throw program_error(exit_code::wrong_usage, "--impl: " + unknown_name_message("implementation", name, all));
  }
  return chosen;
}

}  // namespace prumo::bench
