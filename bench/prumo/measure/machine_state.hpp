// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "results/host_load.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// Watches what else happens on the machine during a run, for `run.state` of docs/results.md. The host is not looked at
/// if a launcher starts the workers, because they may run on another one.
class machine_watch {
 public:
  /// Begins to watch. Best before any worker is started, so that their start is watched, too.
  explicit machine_watch(bool looks_at_host);

  /// Keeps what happened since the watch began as the state at the start: mostly, the workers were started meanwhile.
  /// If that took less than a quarter of a second, it waits for the rest of it. The facts of devices are those that
  /// read_facts() has asked for. \throws interrupted
  void look_at_start(const worker_fleet& fleet);
  /// Looks again for a quarter of a second, in which no worker has anything to do, and asks the devices again.
  /// \throws interrupted
  void look_at_end(worker_fleet& fleet);
  /// Ends to watch. \pre all workers have ended
  void finish();

  /// What is known until now, as the file has it.
  [[nodiscard]] const nlohmann::json& state() const { return state_; }
  /// Why times will be wrong or vary, after look_at_start(), as a note for the user. Empty if the machine is quiet.
  [[nodiscard]] std::string concern_at_start() const;
  /// The same of the whole run, after finish().
  [[nodiscard]] std::string concern_at_end() const;

 private:
  [[nodiscard]] nlohmann::json look_since(const load_reading& earlier, const worker_fleet& fleet) const;
  [[nodiscard]] std::string concern(const char* look, const char* begin, const char* end) const;

  bool looks_at_host_;
  load_reading begun_;
  nlohmann::json state_ = nlohmann::json::object();
};

}  // namespace prumo::bench
