// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan.hpp"
#include "rates/rates_and_shares.hpp"
#include "statistics/stopping.hpp"
#include <prumo/protocol/messages.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prumo::bench {

/// A case after its group: the entry, without derived figures.
struct measured_case {
  nlohmann::json result;
  bool wrong = false;  ///< its verification failed
};

/// What is known about a case. It becomes the case's entry in the results file.
class case_record {
 public:
  /// `stub` is the result as the plan knows it.
  explicit case_record(nlohmann::json stub) : result_(std::move(stub)) {}

  void set_prepared(const protocol::prepare_answer& prepared);
  void set_verification(const protocol::verify_answer& verification);
  void add_sample(const protocol::sample_answer& sample);
  /// Ends a round. All cases of a batch go through the rounds together.
  void end_round();
  /// What the case does in the state `burst` or `sustained`; docs/results.md has the fields.
  void set_power_state(const std::string& name, nlohmann::json state) { result_["states"][name] = std::move(state); }
  /// What a reader of the figures must know.
  void warn(const std::string& warning) { result_["warnings"].push_back(warning); }
  /// `counted` is what worker_client::count() returned.
  void set_counted(nlohmann::json counted);

  /// The case ends without a time. `status` is `skipped`, `unsupported` or `failed`.
  void end(const std::string& status, const std::string& reason);
  /// The case ends because the worker refused it; `kind` is the error kind of docs/protocol.md.
  void end_refused(const std::string& kind, const std::string& message);

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool verified_wrong() const { return wrong_; }
  [[nodiscard]] bool compared() const { return compared_; }
  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }
  /// Whether the device told that it held its clock down while the samples were taken.
  [[nodiscard]] bool throttled() const { return !throttle_.empty(); }
  /// The number of samples of each round.
  [[nodiscard]] const std::vector<std::size_t>& rounds() const { return rounds_; }

  /// With transferred data: the seconds of the copies to the device, or back, and the bytes that each call copies.
  [[nodiscard]] const std::vector<double>& copy_samples(bool to_device) const { return to_device ? h2d_ : d2h_; }
  [[nodiscard]] double copied_bytes(bool to_device) const {
    return static_cast<double>((to_device ? h2d_bytes_ : d2h_bytes_).value_or(0));
  }

  /// The finished entry of a case with samples.
  [[nodiscard]] nlohmann::json finish(stop_reason why) const;
  /// The entry of an ended case.
  [[nodiscard]] const nlohmann::json& result() const { return result_; }

 private:
  nlohmann::json result_;
  std::string clock_ = "wall";
  std::vector<double> samples_, wall_, h2d_, d2h_, clocks_mhz_;
  std::vector<std::size_t> rounds_;  ///< samples of each round
  std::size_t samples_of_rounds_ = 0;
  std::optional<std::uint64_t> h2d_bytes_, d2h_bytes_;
  std::optional<double> temperature_c_;
  bool transferred_ = false;
  double energy_j_ = 0, energy_calls_ = 0;
  std::set<std::string> throttle_;
  bool ended_ = false, wrong_ = false, compared_ = false;
};

/// Fills in rates, shares and bound of a measured entry.
void store_rates_and_shares(nlohmann::json& result, const planned_group& group, const nlohmann::json& peaks,
                            const ceilings_of_case& ceilings);

}  // namespace prumo::bench
