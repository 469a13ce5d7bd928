// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/protocol/messages.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prumo::bench {

/// Which cases are also measured in the two states of power: `burst`, short work after idling, and `sustained`, after
/// the device has worked at this case alone until its clock and its times were steady.
enum class state_choice {
  none,
  largest,  ///< the largest size of each operation on devices with memory of their own, and others if time is left
  all       ///< every case of every device, hosts included
};

/// What was measured of a case in one state of power. All samples are of this state. The case's own samples, which are
/// taken in turns with other cases, contain none of them.
class power_state_record {
 public:
  void add(const protocol::sample_answer& answer);

  /// Of all samples, of which there must be one.
  [[nodiscard]] double median() const;
  /// Whether the device told why it held its clock down.
  [[nodiscard]] bool is_throttled() const { return !throttle_.empty(); }
  /// The entry of the results file, without what only one of the states has.
  [[nodiscard]] nlohmann::json to_json() const;

 private:
  std::vector<double> samples_, clocks_mhz_, powers_w_;
  std::optional<double> temperature_c_;
  std::set<std::string> throttle_;
  double energy_j_ = 0, energy_calls_ = 0;
};

}  // namespace prumo::bench
