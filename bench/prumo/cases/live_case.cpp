// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases/live_case.hpp"

#include "cases/deadlines.hpp"
#include "statistics/run_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace prumo::bench {
namespace {

using steady = std::chrono::steady_clock;

/// Seconds that work on the group's arrays may take on a slow machine; limits are multiples of it.
double slow_seconds(const planned_group& group) {
  constexpr double slow_bytes_per_second = 2e8;
  constexpr double slow_flops_per_second = 1e9;
  constexpr double cold_copies_bytes = 1e9;
  return (group.footprint_bytes + cold_copies_bytes) / slow_bytes_per_second +
         cost_model::from_json(group.model).flops.value_or(0) / slow_flops_per_second;
}

}  // namespace

live_case::live_case(const planned_group& group, const planned_case& planned, worker_fleet& fleet,
                     const measure_options& options)
    : record_(group.result_stub(fleet, planned)),
      device_(fleet.devices()[planned.device]),
      client_(fleet.worker(device_.worker)),
      slow_seconds_(slow_seconds(group)),
      rule_{options.target_noise.value_or(standard_noise_target(device_.summary.backend)), options.minimum_samples,
            options.minimum_seconds} {
  request_ = make_case_request<protocol::prepare_request>(group.op, group.dtype, group.layout, group.shape,
                                                          fleet.parameters_for(device_, group.op, group.parameters));
  request_.device = device_.own_id;
  request_.compute_mode = group.compute_mode;
  request_.seed = options.seed;
  request_.transferred = planned.data == "transferred";
  request_.host_memory = planned.host_memory;
  request_.cold = planned.cache == "cold";
  request_.single_calls = planned.dispatch == "single";
  request_.implementation = planned.implementation;
  if (planned.outcome) record_.end(planned.outcome->status, planned.outcome->reason);
}

void live_case::ensure_prepared() {
  client_.greet();
  if (is_prepared()) return;
  prepared_ = client_.prepare(request_, slow_seconds_);
  generation_ = client_.generation();
  record_.set_prepared(*prepared_);
  // A worker of before there was a choice records short calls; hosts have nothing to record.
  if (request_.single_calls && prepared_->dispatch != "single" && prepared_->clock == "device") {
    throw request_refused("unsupported", fmt::format("{} cannot launch calls one by one", device_.id));
  }
}

bool live_case::is_prepared() const { return prepared_ && client_.alive() && generation_ == client_.generation(); }

live_case::fit live_case::prepare(bool may_wait) {
  if (record_.ended()) return fit::ended;
  try {
    ensure_prepared();
    return fit::yes;
  } catch (const request_refused& refusal) {
    if (may_wait && refusal.kind() == "memory") return fit::no_memory;
    record_.end_refused(refusal.kind(), refusal.what());
  } catch (const worker_failure& failure) {
    record_.end("failed", failure.what());
  }
  return fit::ended;
}

template <typename Action>
void live_case::guarded(Action action) {
  try {
    ensure_prepared();
    action();
  } catch (const request_refused& refusal) {
    record_.end_refused(refusal.kind(), refusal.what());
  } catch (const worker_failure& failure) {
    record_.end("failed", failure.what());
  }
}

void live_case::verify(double budget, double call_seconds) {
  guarded([&] {
    record_.set_verification(client_.verify(prepared_->case_id, budget, std::max(slow_seconds_, call_seconds)));
  });
}

void live_case::sample(double seconds, bool discards) {
  guarded([&] {
    const auto begun = steady::now();
    const protocol::sample_answer answer = client_.sample(prepared_->case_id, seconds, slow_seconds_);
    const double elapsed = seconds_since(begun);
    // The first answer includes that the worker warmed up and found out how many calls make an interval.
    const double intervals =
        static_cast<double>(answer.batch) * std::accumulate(answer.samples.begin(), answer.samples.end(), 0.0);
    last_seconds_ = last_seconds_ > 0 ? elapsed : std::min(elapsed, intervals);
    interval_seconds_ = intervals / static_cast<double>(answer.samples.size());
    if (discards && can_discard_settling(elapsed, seconds)) return;
    record_.add_sample(answer);
    sampled_seconds_ += std::min(elapsed, intervals);
  });
}

std::optional<protocol::sample_answer> live_case::look(double seconds) {
  std::string why;
  try {
    ensure_prepared();
    return client_.sample(prepared_->case_id, seconds, slow_seconds_);
  } catch (const request_refused& refusal) {
    why = refusal.what();
  } catch (const worker_failure& failure) {
    why = failure.what();
  }
  record_.warn("burst and sustained were not measured: " + why);
  return std::nullopt;
}

void live_case::check_stop() {
  if (!open() || !is_measured_enough(record_.samples(), record_.rounds(), sampled_seconds_, rule_)) return;
  stop(stop_reason::settled);
}

std::optional<steady_noise> live_case::find_noise() const {
  return find_steady_noise(record_.samples(), record_.rounds(), sampled_seconds_, rule_);
}

void live_case::release() {
  const bool held = is_prepared();
  if (held) {
    try {
      client_.release(prepared_->case_id);
    } catch (const request_refused&) {
      client_.abandon();  // whatever it holds would be missing later
    } catch (const worker_failure&) {
      // It is started again when it is next needed.
    }
  }
  prepared_.reset();
}

double live_case::next_seconds(double slice_seconds) const { return std::max(slice_seconds, last_seconds_); }

measured_case live_case::result() const {
  return {record_.ended() ? record_.result() : record_.finish(why_), record_.verified_wrong()};
}

}  // namespace prumo::bench
