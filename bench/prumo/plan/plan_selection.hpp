// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan_options.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// An operation of the plan with the values of its own axes. An operation that is measured with several shapes has one
/// of these for each.
struct op_choice {
  std::string op;
  int arrays = 0;
  std::vector<std::string> dtypes;
  std::vector<std::string> layouts;
  std::vector<std::string> compute_modes;
  std::vector<std::optional<std::uint64_t>> sizes;  ///< bytes of one array; absent if the shape is complete
  nlohmann::json shape;
  nlohmann::json parameters;
};

/// Axes that do not depend on the operation.
struct axis_choice {
  std::vector<std::string> data;
  bool data_named = false;  ///< the user asked for it, so that devices without transfers say so
  std::vector<std::string> host_memory;
  std::vector<std::string> caches;
  std::vector<std::string> dispatches;
  std::vector<std::string> implementations;  ///< empty: each worker's first
  bool tune = false;                         ///< `tuned` rather than the first
};

/// The operations to measure in the workers' order, each with its axes. If only some of the chosen operations know a
/// value, it applies to those. An operation gets the shapes that name one of its axes.
/// \throws program_error (wrong usage) for a name that none of them knows
[[nodiscard]] std::vector<op_choice> choose_ops(const plan_options& options, const worker_fleet& fleet,
                                                std::vector<std::string>& notes);

/// \throws program_error (wrong usage) for a value that does not exist
[[nodiscard]] axis_choice choose_axes(const plan_options& options);

/// The values of `data` for a device. A device that has its data in the host's memory has no transfers. It is asked for
/// them only if the user named them.
[[nodiscard]] std::vector<std::string> data_for(const axis_choice& choice, const protocol::device_summary& device);

/// The implementations of one worker's operation to measure. An empty one means the worker's first.
[[nodiscard]] std::vector<std::optional<std::string>> implementations_for(const axis_choice& choice,
                                                                          const protocol::case_description& described);

}  // namespace prumo::bench
