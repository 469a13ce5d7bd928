// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What times depend on beside the case and the plan: host, processor, builds, compilers and flags, libraries, driver,
/// power, the places of threads, and the variables of the environment that matter. It is the field `conditions` of a
/// run (docs/results.md). `run` is a record of a run, and `devices` are the entries of a results document.
[[nodiscard]] nlohmann::json run_conditions(const nlohmann::json& run, const nlohmann::json& devices);

/// The conditions of the run that wrote last to a results document, also where its prumo was too old to record them.
[[nodiscard]] nlohmann::json last_conditions(const nlohmann::json& document);

/// A condition that is not the same in two runs.
struct condition_change {
  std::string what;  ///< `host`, `cuda:0 power_limit_w`
  std::string before;
  std::string now;
};

/// In what two runs differ. What one of them does not know is no difference, and neither is a device that only one of
/// them has.
[[nodiscard]] std::vector<condition_change> changed_conditions(const nlohmann::json& before, const nlohmann::json& now);

/// Says which results of a document were measured under other conditions than the others. Empty if none were.
[[nodiscard]] std::string describe_mixed_conditions(const nlohmann::json& document);

/// True for a variable of the environment that tells where prumo's files are, not how programs run.
[[nodiscard]] bool is_idle_variable(std::string_view name);

}  // namespace prumo::bench
