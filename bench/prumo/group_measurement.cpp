// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "group_measurement.hpp"

#include "interrupt.hpp"
#include "stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
using steady = std::chrono::steady_clock;

double model_number(const planned_group& group, const char* name) {
  if (!group.model.is_object() || !group.model.contains(name) || !group.model.at(name).is_number()) return 0;
  return group.model.at(name).get<double>();
}

/// Seconds that work on the group's arrays may take on a slow machine; limits are multiples of it.
double slow_seconds(const planned_group& group) {
  constexpr double slow_bytes_per_second = 2e8;
  constexpr double slow_flops_per_second = 1e9;
  constexpr double cold_copies_bytes = 1e9;
  return (group.footprint_bytes + cold_copies_bytes) / slow_bytes_per_second +
         model_number(group, "flops") / slow_flops_per_second;
}

}  // namespace

double seconds_until(steady_time when) { return std::chrono::duration<double>(when - steady::now()).count(); }

double seconds_since(steady_time when) { return -seconds_until(when); }

steady_time after_seconds(double seconds) {
  constexpr double a_year = 3e7;
  return steady::now() +
         std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, a_year)));
}

/// A case while its group is measured: knows how to ask its worker, and survives the worker's restart.
class group_measurer::live_case {
 public:
  live_case(const planned_group& group, const planned_case& planned, worker_fleet& fleet,
            const measure_options& options)
      : record(group.result_stub(fleet, planned)),
        device(fleet.devices()[planned.device]),
        client_(fleet.worker(device.worker)),
        slow_seconds_(slow_seconds(group)),
        rule_{options.target_noise.value_or(standard_noise_target(device.summary.backend)), options.minimum_samples,
              options.minimum_seconds} {
    request_ = {
        device.own_id,      group.op,     group.dtype,  group.shape,         group.layout,  group.parameters,
        group.compute_mode, options.seed, planned.data, planned.host_memory, planned.cache, planned.implementation};
    if (planned.outcome) record.end(planned.outcome->status, planned.outcome->reason);
  }

  enum class fit { yes, no_memory, ended };

  /// Allocates. `no_memory` leaves the case open, so that it can be tried again alone.
  fit prepare(bool may_wait) {
    try {
      ensure_prepared();
      return fit::yes;
    } catch (const request_refused& refusal) {
      if (may_wait && refusal.kind() == "memory") return fit::no_memory;
      record.end_refused(refusal.kind(), refusal.what());
    } catch (const worker_failure& failure) {
      record.end("failed", failure.what());
    }
    return fit::ended;
  }

  void verify() {
    guarded([&] { record.set_verification(client_.verify(prepared_->case_id, slow_seconds_)); });
  }

  /// Samples for so long; `discard` may drop the samples when it sees how long it took.
  template <typename Discard>
  void sample(double seconds, Discard discard) {
    guarded([&] {
      const auto begun = steady::now();
      const sample_answer answer = client_.sample(prepared_->case_id, seconds, slow_seconds_);
      last_seconds = seconds_since(begun);
      if (discard(last_seconds)) return;
      record.add_sample(answer);
      measured_seconds += last_seconds;
    });
  }

  void check_stop() {
    if (!done && is_measured_enough(record.samples(), measured_seconds, rule_)) {
      done = true;
      why = stop_reason::settled;
    }
  }

  void release() {
    if (!prepared_ || !client_.alive() || generation_ != client_.generation()) return;
    try {
      client_.release(prepared_->case_id);
    } catch (const request_refused&) {
      client_.abandon();  // whatever it holds would be missing later
    } catch (const worker_failure&) {
      // It is started again when it is next needed.
    }
    prepared_.reset();
  }

  [[nodiscard]] bool open() const { return !record.ended() && !done; }

  case_record record;
  const fleet_device& device;
  double measured_seconds = 0;
  double last_seconds = 0;
  bool done = false;
  stop_reason why = stop_reason::budget;

 private:
  void ensure_prepared() {
    client_.greet();
    if (prepared_ && generation_ == client_.generation()) return;
    prepared_ = client_.prepare(request_, slow_seconds_);
    generation_ = client_.generation();
    record.set_prepared(*prepared_);
  }

  /// Runs an action of this case; what goes wrong ends the case, not the group.
  template <typename Action>
  void guarded(Action action) {
    try {
      ensure_prepared();
      action();
    } catch (const request_refused& refusal) {
      record.end_refused(refusal.kind(), refusal.what());
    } catch (const worker_failure& failure) {
      record.end("failed", failure.what());
    }
  }

  worker_client& client_;
  prepare_request request_;
  double slow_seconds_;
  std::optional<prepare_answer> prepared_;
  int generation_ = 0;
  stopping_rule rule_;
};

json group_measurer::counted_flops(const planned_group& group, const group_setting& setting) {
  const std::string key =
      fmt::format("{} {} {} {}", group.op, group.dtype, group.shape.dump(), group.parameters.dump());
  if (const auto known = counted_.find(key); known != counted_.end()) return known->second;
  json counted;
  std::vector<std::size_t> asked;
  for (const planned_case& planned : group.cases) {
    const std::size_t worker = fleet_.devices()[planned.device].worker;
    if (planned.outcome || std::ranges::find(asked, worker) != asked.end()) continue;
    asked.push_back(worker);
    const double operations = std::min(setting.options.count_limit, model_number(group, "flops"));
    try {
      counted = fleet_.worker(worker).count(group.op, group.dtype, group.shape, group.parameters,
                                            setting.options.count_limit, operations * 1e-7);
    } catch (const request_refused&) {
      continue;
    } catch (const worker_failure&) {
      continue;
    }
    if (!counted.is_null()) break;
  }
  return counted_[key] = counted;
}

void group_measurer::measure_batch(const planned_group& group, const group_setting& setting,
                                   std::vector<live_case*>& batch) {
  const auto step = [&](const char* what) {
    if (setting.on_step) setting.on_step(fmt::format("{}{}", group.label(), what));
  };
  if (setting.verify) {
    step(": verifying");
    for (live_case* it : batch) {
      if (it->open()) it->verify();
    }
  }
  const auto any_open = [&] { return std::ranges::any_of(batch, [](const live_case* it) { return it->open(); }); };
  if (setting.count && any_open()) {
    step(": counting");
    const json counted = counted_flops(group, setting);
    for (live_case* it : batch) it->record.set_counted(counted);
  }
  step("");
  const auto open_count = std::ranges::count_if(batch, [](const live_case* it) { return it->open(); });
  const double share =
      std::max(0.0, seconds_until(setting.deadline)) / static_cast<double>(std::max<long>(1, open_count));
  const pace chosen = choose_pace(share);
  for (live_case* it : batch) {
    if (it->open() && chosen.settle_seconds > 0) {
      it->sample(chosen.settle_seconds, [&](double elapsed) { return can_discard_settling(elapsed, share); });
    }
  }
  double round_seconds = 0;
  for (std::size_t round = 0; any_open(); ++round) {
    throw_if_interrupted();
    step("");
    const bool late = seconds_until(setting.deadline) < round_seconds;
    const auto begun = steady::now();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      live_case& it = *batch[(first_of_round(round, batch.size()) + i) % batch.size()];
      if (!it.open()) continue;
      // Rounds are whole, so that all cases see the same machine; only the first may end early for those that have a
      // sample already.
      const bool stops_now = late || (round == 0 && seconds_until(setting.deadline) <= 0);
      if (stops_now && !it.record.samples().empty()) {
        it.done = true;
        continue;
      }
      it.sample(chosen.slice_seconds, [](double) { return false; });
    }
    round_seconds = seconds_since(begun);
    for (live_case* it : batch) {
      if (it->open()) it->check_stop();
    }
  }
}

std::vector<measured_case> group_measurer::measure(const planned_group& group, const group_setting& setting) {
  std::vector<live_case> cases;
  cases.reserve(group.cases.size());
  for (const planned_case& planned : group.cases) cases.emplace_back(group, planned, fleet_, setting.options);

  std::vector<live_case*> waiting;
  for (live_case& it : cases) {
    if (it.open()) waiting.push_back(&it);
  }
  while (!waiting.empty()) {
    std::vector<live_case*> batch;
    std::vector<live_case*> later;
    for (live_case* it : waiting) {
      if (setting.on_step) setting.on_step(fmt::format("{}: preparing", group.label()));
      switch (it->prepare(!batch.empty())) {
        case live_case::fit::yes: batch.push_back(it); break;
        case live_case::fit::no_memory: later.push_back(it); break;
        case live_case::fit::ended: break;
      }
    }
    group_setting now = setting;
    const double left = seconds_until(setting.deadline);
    now.deadline = after_seconds(
        budget_share(left, static_cast<double>(batch.size()), static_cast<double>(batch.size() + later.size())));
    measure_batch(group, now, batch);
    for (live_case* it : batch) it->release();
    waiting = std::move(later);
  }

  std::vector<measured_case> results;
  for (const live_case& it : cases) {
    results.push_back({it.record.ended() ? it.record.result() : it.record.finish(it.why), it.record.verified_wrong()});
  }
  return results;
}

}  // namespace prumo::bench
