// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/case_record.hpp"
#include "cases/measure_options.hpp"
#include "plan/plan.hpp"
#include "statistics/stopping.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace prumo::bench {

/// A case, or a probe, while it is measured. It asks its worker, and survives a restart of the worker. An error ends
/// the case but not the group, and the case's entry says what it was.
class live_case {
 public:
  /// A planned outcome ends it at once.
  live_case(const planned_group& group, const planned_case& planned, worker_fleet& fleet,
            const measure_options& options);

  enum class fit { yes, no_memory, ended };

  /// Allocates and fills the arrays, if that was not done. With `no_memory` the case can be tried again when others
  /// have released their memory; without `may_wait` it ends instead.
  fit prepare(bool may_wait);

  /// Compares one call with the reference, which may cost `budget` operations. `call_seconds` is what a call may take.
  void verify(double budget, double call_seconds);

  /// Samples for this time, but takes one sample at least. `discards` drops the samples if the answer came so soon that
  /// the machine may not have settled yet.
  void sample(double seconds, bool discards);

  /// Samples for this time that do not count for the case: what it does in another state of the machine. Absent if the
  /// worker failed; the case keeps its own samples then, and gets a warning.
  [[nodiscard]] std::optional<protocol::sample_answer> look(double seconds);

  /// The case is settled if its samples satisfy the stopping rule.
  void check_stop();
  /// Its noise, if that no longer changes; see find_steady_noise().
  [[nodiscard]] std::optional<steady_noise> find_noise() const;
  [[nodiscard]] double target_noise() const { return rule_.target_noise; }
  /// No further samples.
  void stop(stop_reason why) {
    done_ = true;
    why_ = why;
  }

  /// Frees what the worker holds.
  void release();

  [[nodiscard]] bool open() const { return !record_.ended() && !done_; }
  [[nodiscard]] bool is_prepared() const;
  [[nodiscard]] case_record& record() { return record_; }
  [[nodiscard]] const case_record& record() const { return record_; }
  [[nodiscard]] const fleet_device& device() const { return device_; }
  [[nodiscard]] const std::vector<double>& samples() const { return record_.samples(); }
  /// The seconds that its samples took, without calibration.
  [[nodiscard]] double sampled_seconds() const { return sampled_seconds_; }
  [[nodiscard]] stop_reason why() const { return why_; }
  /// The seconds of a single sample of its last request: the calls of one interval that is long enough to be timed. 0
  /// before the first request.
  [[nodiscard]] double interval_seconds() const { return interval_seconds_; }
  /// The seconds that the next request for samples will take, judged by the last one.
  [[nodiscard]] double next_seconds(double slice_seconds) const;
  /// The finished entry.
  [[nodiscard]] measured_case result() const;

 private:
  void ensure_prepared();
  template <typename Action>
  void guarded(Action action);

  case_record record_;
  const fleet_device& device_;
  worker_client& client_;
  protocol::prepare_request request_;
  double slow_seconds_;
  stopping_rule rule_;
  std::optional<protocol::prepare_answer> prepared_;
  int generation_ = 0;
  double sampled_seconds_ = 0;
  double last_seconds_ = 0;
  double interval_seconds_ = 0;
  bool done_ = false;
  stop_reason why_ = stop_reason::budget;
};

}  // namespace prumo::bench
