// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"

#include <map>
#include <span>
#include <string>
#include <utility>

namespace prumo::bench {

/// Seconds of sampling that are of use to a case whose interval (a call, or a batch of short ones) takes so long: ten
/// times the least that the stopping rule asks for, the longest that a case may take at most.
[[nodiscard]] double useful_seconds(const measure_options& options, double interval_seconds);

/// How long things will take: first from the model's bytes and flops and rates that are usual, then corrected by how
/// much longer or shorter the same took before, at other sizes too. Seconds throughout.
class time_model {
 public:
  explicit time_model(const worker_fleet& fleet) : fleet_(fleet) {}

  /// One call of a case at the usual rates of its device, before anything is learnt.
  [[nodiscard]] double usual_call_seconds(const planned_group& group, const planned_case& which) const {
    return usual_call(group, which).first;
  }
  /// One call of a case. \return above zero
  [[nodiscard]] double call_seconds(const planned_group& group, const planned_case& which) const;
  /// Allocating and filling its arrays, all copies of them.
  [[nodiscard]] double prepare_seconds(const planned_group& group, const planned_case& which) const;
  /// Freeing them.
  [[nodiscard]] double release_seconds(const planned_group& group, const planned_case& which) const;
  /// Comparing with a reference that may cost `budget` operations; the call that is compared is part of it.
  [[nodiscard]] double verify_seconds(const planned_group& group, const planned_case& which, double budget) const;
  /// Counting the flops of a call by running it where it has no more than `limit`.
  [[nodiscard]] double count_seconds(const planned_group& group, const planned_case& which, double limit) const;
  /// What the worker takes at least until it has one sample: it warms up, calibrates its batch and measures.
  [[nodiscard]] double first_sample_seconds(const planned_group& group, const planned_case& which) const;

  /// The operations that a reference may cost so that verifying takes about this many seconds. \return between
  /// least_verify_budget and usual_verify_budget
  [[nodiscard]] double verify_budget(const planned_group& group, const planned_case& which, double seconds) const;

  /// By the samples of a case: the fastest tells how large sizes will do, what others took longer on a machine that is
  /// busy with other things is added to each call.
  void learn_call(const planned_group& group, const planned_case& which, std::span<const double> samples);
  void learn_prepare(const planned_group& group, const planned_case& which, double seconds);
  void learn_release(const planned_group& group, const planned_case& which, double seconds);
  void learn_verify(const planned_group& group, const planned_case& which, double budget, double seconds);
  void learn_count(const planned_group& group, const planned_case& which, double limit, double seconds);

  /// Fewer operations compare too little to find a fault.
  static constexpr double least_verify_budget = 1e6;
  /// What workers take where they are not told: some tenths of a second.
  static constexpr double usual_verify_budget = 3e7;

 private:
  using corrections = std::map<std::string, double, std::less<>>;
  [[nodiscard]] double flops_per_second(const planned_group& group, const planned_case& which) const;
  /// Of one call at the usual rates, and a name for what bounds it.
  [[nodiscard]] std::pair<double, const char*> usual_call(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double prepared_bytes(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double usual_prepare_seconds(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double usual_release_seconds(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] std::string device_key(const char* what, const planned_case& which) const;
  [[nodiscard]] static std::string memory_key(const char* what, const planned_case& which);
  [[nodiscard]] std::string call_key(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double correction(const std::string& key, double unknown) const;
  void learn(const std::string& key, double seconds, double predicted);

  const worker_fleet& fleet_;
  corrections corrections_;
};

}  // namespace prumo::bench
