// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_fleet.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The ways in which each device of a fleet runs or trains nets, of those that are named: empty where it has none of
/// them. `all` names every one. Without names it is the first one of each worker, which nullopt stands for.
/// \throws program_error (wrong usage) for a name that no worker knows
[[nodiscard]] std::vector<std::vector<std::optional<std::string>>> net_implementations(
    const worker_fleet& fleet, std::span<const std::string> named, std::string_view workload = "inference");

}  // namespace prumo::bench
