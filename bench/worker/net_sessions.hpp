// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_memory.hpp"
#include "net_session.hpp"
#include <prumo/serving/memory_limit.hpp>
#include <prumo/serving/server.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace prumo::worker {

/// Answers the requests about nets, on one instance.
template <class Exec>
class net_sessions final : public protocol::workload_handler {
 public:
  net_sessions(const Exec& instance, std::string device, std::size_t cache_bytes)
      : instance_(instance), device_(std::move(device)), cache_bytes_(cache_bytes) {}

  static protocol::workload_description description() {
    return {"inference", {"f32", "f64", "f16", "bf16"}, {"layers"}, {"strict"}};
  }

  protocol::open_answer open(const protocol::open_request& request) override {
    const dtype type = check_choice(request);
    inference::net_files files = inference::read_net_files(request);
    const auto begun = std::chrono::steady_clock::now();
    nets::forward_plan plan(files.net.description, type);
    const net_placement place =
        place_net(plan, request.batch, files.set.images.count, cache_bytes_, request.transferred);
    const std::string label =
        plan.net().name + " " + request.dtype + " with batches of " + std::to_string(request.batch) + " images";
    require_device_memory(instance_, label, place.device_bytes);
    protocol::require_memory(label + " on the host", place.host_bytes);
    auto made = std::make_unique<net_session<Exec>>(instance_, request, std::move(files), std::move(plan), place);
    protocol::open_answer answer;
    answer.place_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    answer.load_s = made->files().seconds;
    answer.session = ++last_id_;
    answer.implementation = description().implementations.front();
    answer.clock = made->has_device_clock() ? "device" : "wall";
    answer.dispatch = made->is_single() ? "single" : "recorded";
    answer.images = made->files().set.images.count;
    answer.classes = made->plan().facts().classes;
    answer.parameters = made->plan().facts().parameters;
    answer.footprint_bytes = place.device_bytes;
    answer.model = model_of(made->plan(), request.batch);
    answer.steps = describe_steps(made->plan(), request.batch);
    open_.emplace(answer.session, std::move(made));
    return answer;
  }

  protocol::check_answer check(const protocol::check_request& request) override {
    return find(request.session).check(request);
  }

  protocol::sample_answer time(const protocol::time_request& request) override {
    net_session<Exec>& session = find(request.session);
    if (!request.layer) {
      if (request.step) refuse("the field 'step' is for the level 'layer' alone");
      return session.time(std::nullopt, request.seconds);
    }
    if (!request.step) refuse("the field 'step' is missing: the level 'layer' needs the number of a step");
    const std::size_t steps = session.plan().steps();
    if (std::cmp_greater_equal(*request.step, steps)) {
      refuse("there is no step " + std::to_string(*request.step) + "; the net has " + std::to_string(steps) +
             " steps from 0 up");
    }
    return session.time(static_cast<std::size_t>(*request.step), request.seconds);
  }

  protocol::evaluate_answer evaluate(const protocol::evaluate_request& request) override {
    return find(request.session).evaluate();
  }

  void close(std::int64_t session) override {
    find(session);
    open_.erase(session);
  }

 private:
  [[noreturn]] static void refuse(const std::string& message, protocol::error_kind kind = protocol::error_kind::usage) {
    throw protocol::request_error(kind, message);
  }

  /// What does not need the files. \return the type
  dtype check_choice(const protocol::open_request& request) const {
    if (request.device != device_) refuse("there is no device '" + request.device + "' here; there is: " + device_);
    const protocol::workload_description known = description();
    if (request.workload != known.workload) {
      refuse("there is no workload '" + request.workload + "' here; there is: " + known.workload);
    }
    const std::string way = request.implementation.value_or("layers");
    if (way != known.implementations.front()) {
      refuse("nets have no implementation '" + way + "'; there is: " + known.implementations.front());
    }
    const std::string mode = request.compute_mode.value_or("strict");
    if (mode != known.compute_modes.front()) {
      refuse("nets have no compute mode '" + mode + "'; there is: strict", protocol::error_kind::unsupported);
    }
    if (request.transferred) require_transfers<Exec>();
    for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
      if (dtype_name(type) == request.dtype) return type;
    }
    refuse("nets are not computed in " + request.dtype + "; types are f32, f64, f16 and bf16",
           protocol::error_kind::unsupported);
  }

  net_session<Exec>& find(std::int64_t id) {
    const auto found = open_.find(id);
    if (found != open_.end()) return *found->second;
    refuse("there is no session " + std::to_string(id) + ": it was never opened, or closed");
  }

  Exec instance_;
  std::string device_;
  std::size_t cache_bytes_;
  std::map<std::int64_t, std::unique_ptr<net_session<Exec>>> open_;
  std::int64_t last_id_ = 0;
};

}  // namespace prumo::worker
