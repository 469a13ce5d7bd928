// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace prumo::bench {

/// The time now by ISO 8601: `2026-11-21T10:15:00Z`.
[[nodiscard]] std::string utc_now();

/// The release of this program.
[[nodiscard]] std::string program_version();

/// The `run` object of a results document: id, started (UTC), command, versions, host, cpu, memory, power, the
/// variables of the environment that matter, warnings. What may be a secret is left out (privacy/recorded_words.hpp).
/// What the system does not tell is null. `worker_versions` are the versions of the workers and their libraries by
/// name.
[[nodiscard]] nlohmann::json make_run_record(const std::vector<std::string>& command,
                                             const nlohmann::json& worker_versions,
                                             const std::vector<std::string>& warnings);

/// What the whole program took until now: `elapsed_s`, `user_s`, `system_s`, `cpu_share` (1 is one core all the time),
/// `peak_memory_bytes` (of the largest single process), workers that have ended included.
[[nodiscard]] nlohmann::json measure_resources(double elapsed_seconds);

}  // namespace prumo::bench
