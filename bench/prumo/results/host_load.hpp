// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// Counters of processor time at one moment, in seconds. What the system does not tell is absent.
struct load_reading {
  std::chrono::steady_clock::time_point when;
  int processors = 0;             ///< that prumo may use; the counters are of these
  std::optional<double> busy;     ///< all programs together, and the kernel
  std::optional<double> stolen;   ///< the hypervisor gave it to other virtual machines
  std::optional<double> group;    ///< programs of prumo's own control group, which in a container is the container
  std::optional<double> stopped;  ///< the control group was stopped, because it had used up its quota
  double own = 0;                 ///< prumo, and its workers that have ended
};

/// Reads the counters below `root`, which tests choose. Only `own` is of the real system.
/// \param processors numbers of the processors that count; empty: those that this process may use
[[nodiscard]] load_reading read_load(const std::filesystem::path& root = "/", std::vector<int> processors = {});

/// Seconds that a running process and its children that have ended spent on a processor; 0 if the system does not tell.
[[nodiscard]] double processor_seconds(int process, const std::filesystem::path& root = "/");

/// How the processors were used between two readings, as `host` of docs/results.md, `run.state`. Null if the system
/// does not tell. If processes of prumo worked in between that have not ended by the later reading, its `own` must have
/// their processor_seconds(), too.
[[nodiscard]] nlohmann::json load_between(const load_reading& earlier, const load_reading& later,
                                          const std::filesystem::path& root = "/");

/// What is wrong with a `host` of `run.state`: `other programs use 1.9 of 2 processors`. Empty for a quiet machine.
[[nodiscard]] std::string describe_load(const nlohmann::json& host);

}  // namespace prumo::bench
