// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/open_net.hpp"

#include "cases/deadlines.hpp"
#include "results/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Flops a second of a slow machine; limits of time are multiples of what follows from it.
constexpr double slow_flops_per_second = 5e8;

/// Operations that the reference may take: about a second.
constexpr double check_budget = 1e8;

protocol::prepare_answer as_prepared(const protocol::open_answer& opened) {
  protocol::prepare_answer prepared;
  prepared.implementation = opened.implementation;
  prepared.clock = opened.clock;
  prepared.dispatch = opened.dispatch.value_or("");
  return prepared;
}

protocol::verify_answer as_verification(const protocol::check_answer& checked) {
  protocol::verify_answer verification;
  verification.verified = checked.verified;
  verification.error = checked.error;
  verification.error_bound = checked.error_bound;
  if (checked.checked) verification.checked = static_cast<std::uint64_t>(*checked.checked);
  verification.method = checked.method;
  verification.message = checked.message;
  verification.dispatch = checked.dispatch;
  return verification;
}

}  // namespace

json net_result_stub(const worker_fleet& fleet, const net_inputs& inputs, const net_place& place,
                     const std::string& kind, const std::string& op) {
  const fleet_device& device = fleet.devices()[place.device];
  json result = blank_result();
  result["kind"] = kind;
  result["op"] = op;
  result["dtype"] = place.dtype;
  result["shape"] = {{"images", place.batch}};
  result["device"] = device.id;
  if (device.threads) result["threads"] = *device.threads;
  result["data"] = place.images.data;
  if (place.images.host_memory) result["host_memory"] = *place.images.host_memory;
  if (place.implementation) result["implementation"] = *place.implementation;
  result["net"] = inputs.net().description.name;
  result["weights_sha256"] = inputs.weights_sha256();
  result["data_sha256"] = inputs.data_sha256();
  result["key"] = result_key(result);
  return result;
}

open_net::open_net(worker_fleet& fleet, const net_inputs& inputs, const net_place& place, bool wants_net,
                   bool wants_steps, const measure_options& options)
    : client_(fleet.worker(fleet.devices()[place.device].worker)), place_(place) {
  const fleet_device& device = fleet.devices()[place.device];
  rule_ = {options.target_noise.value_or(standard_noise_target(device.summary.backend)), options.minimum_samples,
           options.minimum_seconds};
  const auto flops = static_cast<double>(std::max<std::int64_t>(1, inputs.net().facts.flops_inside));
  slow_seconds_ = flops * static_cast<double>(place.batch) / slow_flops_per_second;
  slow_images_seconds_ = slow_seconds_ + flops * static_cast<double>(inputs.images()) / slow_flops_per_second;
  const std::string name = inputs.net().description.name;
  const auto add = [&](const std::string& kind, const std::string& part, std::optional<std::int64_t> step,
                       const protocol::cost_model& model) {
    json stub = net_result_stub(fleet, inputs, place, kind, fmt::format("{}/{}", name, part));
    stub["flops"]["model"] = model.flops ? json(*model.flops) : json();
    stub["bytes"] = model.bytes ? json(*model.bytes) : json();
    parts_.push_back({step, model, case_record(std::move(stub))});
    if (opened_) parts_.back().record.set_prepared(as_prepared(*opened_));
  };
  // If the net cannot be opened, its steps are not known: one entry tells the reason.
  const auto add_refused = [&](const std::function<void(case_record&)>& how) {
    add(wants_net ? "inference" : "layer", wants_net ? "net" : "steps", std::nullopt, {});
    end_all(how);
  };
  if (!device.missing.empty()) {
    add_refused([&](case_record& it) { it.end("skipped", device.missing); });
    return;
  }
  protocol::open_request request = inputs.request();
  request.device = device.own_id;
  request.dtype = place.dtype;
  request.batch = place.batch;
  request.implementation = place.implementation;
  request.transferred = place.images.data == "transferred";
  request.host_memory = place.images.host_memory;
  try {
    opened_ = client_.open(request, slow_images_seconds_);
    generation_ = client_.generation();
    if (wants_net) add("inference", "net", std::nullopt, opened_->model);
    if (!wants_steps) return;
    for (std::size_t step = 0; step < opened_->steps.size(); ++step) {
      add("layer", opened_->steps[step].name, static_cast<std::int64_t>(step), opened_->steps[step].model);
    }
  } catch (const request_refused& refusal) {
    add_refused([&](case_record& it) { it.end_refused(refusal.kind(), refusal.what()); });
  } catch (const worker_failure& failure) {
    add_refused([&](case_record& it) { it.end("failed", failure.what()); });
  }
}

void open_net::end_all(const std::function<void(case_record&)>& how) {
  for (timed_part& it : parts_) {
    if (!it.record.ended()) how(it.record);
  }
}

/// A worker that ended has lost the session: what is not measured yet ends with the reason.
void open_net::guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const request_refused& refusal) {
    end_all([&](case_record& it) { it.end_refused(refusal.kind(), refusal.what()); });
  } catch (const worker_failure& failure) {
    end_all([&](case_record& it) { it.end("failed", failure.what()); });
  }
}

bool open_net::any_open() const {
  return std::ranges::any_of(parts_, [](const timed_part& it) { return it.open(); });
}

void open_net::verify() {
  if (!any_open()) return;
  guarded([&] {
    std::optional<protocol::check_answer> of_level[2];
    for (timed_part& it : parts_) {
      auto& told = of_level[it.step ? 1 : 0];
      if (!told) {
        protocol::check_request request;
        request.session = opened_->session;
        request.layer = it.step.has_value();
        request.budget = check_budget;
        told = client_.check(request, slow_seconds_ + 1);
      }
      it.record.set_verification(as_verification(*told));
    }
  });
}

void open_net::evaluate() {
  if (!any_open()) return;
  guarded([&] {
    protocol::evaluate_answer told = client_.evaluate(opened_->session, slow_images_seconds_);
    predictions_ = std::move(told.predictions);
    if (told.images == 0) return;
    accuracy_ = {{"correct", told.correct},
                 {"images", told.images},
                 {"share", static_cast<double>(told.correct) / static_cast<double>(told.images)}};
  });
}

std::optional<bool> open_net::are_undecided(const std::vector<std::int64_t>& images) {
  if (!opened_ || generation_ != client_.generation()) return std::nullopt;
  try {
    protocol::check_request request;
    request.session = opened_->session;
    request.images = images;
    const protocol::check_answer told = client_.check(request, slow_seconds_ + 1);
    if (!told.undecided || !told.verified) return std::nullopt;
    return std::cmp_equal(*told.undecided, images.size());
  } catch (const request_refused&) {
    return std::nullopt;
  } catch (const worker_failure&) {
    return std::nullopt;
  }
}

void open_net::sample(timed_part& part, double seconds, bool discards) {
  guarded([&] {
    protocol::time_request request;
    request.session = opened_->session;
    request.layer = part.step.has_value();
    request.step = part.step;
    request.seconds = seconds;
    const steady_time begun = std::chrono::steady_clock::now();
    const protocol::sample_answer answer = client_.time(request, slow_seconds_);
    const double elapsed = seconds_since(begun);
    const double intervals =
        static_cast<double>(answer.batch) * std::accumulate(answer.samples.begin(), answer.samples.end(), 0.0);
    part.interval_seconds = intervals / static_cast<double>(answer.samples.size());
    if (discards && can_discard_settling(elapsed, seconds)) return;
    part.record.add_sample(answer);
    part.sampled_seconds += std::min(elapsed, intervals);
  });
}

void open_net::end_round(double part_seconds, double slice_seconds) {
  for (timed_part& it : parts_) {
    it.record.end_round();
    if (!it.open()) continue;
    const std::vector<double>& samples = it.record.samples();
    const std::vector<std::size_t>& rounds = it.record.rounds();
    const double left = part_seconds - it.sampled_seconds;
    const double turn = std::max(slice_seconds, it.interval_seconds);
    if (is_measured_enough(samples, rounds, it.sampled_seconds, rule_)) {
      it.stop(stop_reason::settled);
    } else if (const auto noise = find_steady_noise(samples, rounds, it.sampled_seconds, rule_);
               noise && is_out_of_reach(*noise, left / turn, rule_.target_noise)) {
      it.stop(stop_reason::steady);
    } else if (turn > left) {
      it.stop(stop_reason::budget);  // who takes long gets fewer samples
    }
  }
}

void open_net::close() {
  if (!opened_ || !client_.alive() || generation_ != client_.generation()) return;
  try {
    client_.close(opened_->session);
  } catch (const request_refused&) {
    // Its memory may be missing later, and that is told then.
  } catch (const worker_failure&) {
    // It is started again when it is needed.
  }
  opened_.reset();
}

}  // namespace prumo::bench
