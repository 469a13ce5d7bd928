// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "plan/plan.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace prumo::bench {

/// The longest useful time of sampling, for a case whose interval (a call, or a batch of short ones) takes this many
/// seconds: ten times the least that the stopping rule asks for, but not more than the limit of a case.
[[nodiscard]] double useful_seconds(const measure_options& options, double interval_seconds);

/// Predicts how long things will take, in seconds. First it uses the model's bytes and flops and usual rates. Later it
/// corrects these by how long the same took before, also at other sizes.
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
  /// Comparing with a reference that may take `budget` operations, with the call that is compared.
  [[nodiscard]] double verify_seconds(const planned_group& group, const planned_case& which, double budget) const;
  /// Counting the flops of a call, by running it if it has at most `limit` flops.
  [[nodiscard]] double count_seconds(const planned_group& group, const planned_case& which, double limit) const;
  /// The least time until the worker has a sample: it warms up, calibrates its batch and measures.
  [[nodiscard]] double first_sample_seconds(const planned_group& group, const planned_case& which) const;

  /// The operations that a reference may take, so that verifying takes about this many seconds. \return between
  /// least_verify_budget and usual_verify_budget
  [[nodiscard]] double verify_budget(const planned_group& group, const planned_case& which, double seconds) const;

  /// Says that the workers are new processes. The first time that such a worker prepares, verifies, counts or frees for
  /// an operation and a type, it also loads libraries and kernels, which may take many seconds. Nothing is learnt from
  /// it, because it would be expected of every case that follows.
  void begin_process_run() {
    passes_over_first_chores_ = true;
    begun_chores_.clear();
  }

  /// Learns from the samples of a case. The fastest one predicts larger sizes. What the others took longer, because the
  /// machine is busy with other things, is added to each call.
  void learn_call(const planned_group& group, const planned_case& which, std::span<const double> samples);
  void learn_prepare(const planned_group& group, const planned_case& which, double seconds);
  void learn_release(const planned_group& group, const planned_case& which, double seconds);
  void learn_verify(const planned_group& group, const planned_case& which, double budget, double seconds);
  void learn_count(const planned_group& group, const planned_case& which, double limit, double seconds);

  /// Forgets the slowest that was seen of preparing, verifying, counting and freeing this case and its like. A case
  /// that is left out because these seem to take too long teaches nothing, so a wrong estimate would leave out all that
  /// follow. After some of them the estimate is short enough for another try.
  void doubt_chores(const planned_case& which);

  /// With fewer operations too little is compared to find an error.
  static constexpr double least_verify_budget = 1e6;
  /// The budget of workers that are not given one. It takes some tenths of a second.
  static constexpr double usual_verify_budget = 3e7;

 private:
  using corrections = std::map<std::string, double, std::less<>>;
  /// The median of the last few values, so that a slow moment spoils no estimate. A peer may load kernels for seconds
  /// when it first meets an operation with some type, or with some kind of shape.
  class recent_median {
   public:
    explicit recent_median(double unknown) : unknown_(unknown) {}
    void add(double value);
    void drop_largest();
    /// Of an even number of values the lower one of the two in the middle.
    [[nodiscard]] double value() const;

   private:
    static constexpr std::size_t most_values = 5;
    double unknown_;  ///< what value() returns as long as nothing was added
    std::vector<double> values_;
  };
  /// What else a worker is asked for than calls. It takes a fixed time, and another one that grows with the work. Small
  /// cases tell the first and large ones the second.
  struct chore {
    recent_median fixed{request_seconds};
    recent_median factor{1};  ///< of the seconds that the work takes at the usual rates
  };
  static constexpr double request_seconds = 1e-3;  ///< of anything that a worker is asked

  [[nodiscard]] double predict(const std::string& key, double work) const;
  void learn_chore(const planned_group& group, const std::string& key, double seconds, double work);
  [[nodiscard]] double flops_per_second(const planned_group& group, const planned_case& which) const;
  /// The seconds of one call at the usual rates, and a name for what bounds it.
  [[nodiscard]] std::pair<double, const char*> usual_call(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double prepared_bytes(const planned_group& group, const planned_case& which) const;
  // Seconds at the usual rates that grow with the work.
  [[nodiscard]] double prepare_work(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double release_work(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double verify_work(const planned_group& group, const planned_case& which, double budget) const;
  [[nodiscard]] static double count_work(const planned_group& group, double limit);
  [[nodiscard]] std::string device_key(const char* what, const planned_case& which) const;
  [[nodiscard]] static std::string memory_key(const char* what, const planned_case& which);
  [[nodiscard]] std::string call_key(const planned_group& group, const planned_case& which) const;
  [[nodiscard]] double correction(const std::string& key, double unknown) const;
  void learn(const std::string& key, double seconds, double predicted);

  const worker_fleet& fleet_;
  corrections corrections_;
  std::map<std::string, chore, std::less<>> chores_;
  bool passes_over_first_chores_ = false;
  std::set<std::string, std::less<>> begun_chores_;  ///< of this process run
};

}  // namespace prumo::bench
