// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan_options.hpp"
#include "rates/rates_and_shares.hpp"
#include "terminal/text.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The outcome of a case that is not measured.
struct settled_outcome {
  std::string status;  ///< `skipped`, `unsupported` or `failed`
  std::string reason;
};

/// One case of a group: where and how its operation is measured.
struct planned_case {
  std::size_t device = 0;  ///< index in worker_fleet::devices()
  std::string data;        ///< `resident` or `transferred`
  std::optional<std::string> host_memory;
  std::string cache;
  std::optional<std::string> implementation;  ///< absent: the worker's first
  std::optional<settled_outcome> outcome;
  std::string dispatch = "recorded";  ///< short calls are replayed as one launch; `single`: each is launched by itself
  bool is_largest_kernel =
      false;  ///< of its operation and device, with resident data: gets time for the states of power
};

/// One operation of one shape and type over devices, implementations and modes: measured together.
struct planned_group {
  std::string op;
  std::string dtype;
  std::string layout;
  std::string compute_mode;
  nlohmann::json shape;       ///< complete, whole numbers
  nlohmann::json parameters;  ///< complete
  nlohmann::json model;       ///< as in the protocol's answer to `resolve`
  std::optional<double> bytes_per_array;
  std::optional<double> probe_bytes;  ///< the bytes of one array of its ceilings' probes, if these are of another size
  double footprint_bytes = 0;
  int arrays = 0;
  std::vector<planned_case> cases;
  std::size_t process_run = 0;  ///< the number of the process run that measures it

  /// Takes shape, parameters, model and bytes from a worker's answer.
  void set_resolved(const protocol::resolve_answer& resolved);
  /// The bytes of one array of the probes that tell its ceilings.
  [[nodiscard]] std::optional<double> size_of_probes() const { return probe_bytes ? probe_bytes : bytes_per_array; }
  /// `softmax f32 2MiB`, or `softmax f32 columns=1024 rows=512` if no size is known.
  [[nodiscard]] std::string label() const;
  /// A result with the fields that the plan knows. The rest is as in blank_result().
  [[nodiscard]] nlohmann::json result_stub(const worker_fleet& fleet, const planned_case& which) const;
};

/// The whole run.
struct bench_plan {
  std::vector<planned_group> groups;
  std::vector<std::string> notes;  ///< what the user should know, for instance values without effect
  [[nodiscard]] std::size_t case_count() const;
};

/// Turns filters and axes into groups. Shapes come from the workers (`resolve`). Cases that cannot be measured, because
/// a worker lacks memory, the type or the implementation, already have their outcome.
/// \throws program_error (wrong usage) for a name that no worker knows, (this machine cannot) if no case fits into
///         memory; worker_failure, interrupted
[[nodiscard]] bench_plan make_plan(const plan_options& options, worker_fleet& fleet);

/// Which measured bandwidth bounds the group's operation, judged by the bytes of its model.
[[nodiscard]] memory_roof memory_roof_of(const planned_group& group);

/// The plan as a table for `--list`.
[[nodiscard]] std::string plan_table(const bench_plan& plan, const worker_fleet& fleet, const text_style& style);

}  // namespace prumo::bench
