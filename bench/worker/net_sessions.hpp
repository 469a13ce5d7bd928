// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_memory.hpp"
#include "net_session.hpp"
#include "training_session.hpp"
#include <prumo/error.hpp>
#include <prumo/inference/net_cost.hpp>
#include <prumo/inference/training_setup.hpp>
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/memory_limit.hpp>
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prumo::worker {

/// Answers the requests about nets, on one instance.
template <class Exec>
class net_sessions final : public protocol::workload_handler {
 public:
  /// \param device_name what is called so by its maker: weights that were trained on another one may differ in bits
  net_sessions(const Exec& instance, std::string device, std::string device_name, std::size_t cache_bytes)
      : instance_(instance),
        device_(std::move(device)),
        device_name_(std::move(device_name)),
        cache_bytes_(cache_bytes) {}

  static protocol::workload_description description() {
    return {"inference", {"f32", "f64", "f16", "bf16"}, {"layers"}, {"strict"}};
  }
  static protocol::workload_description training_description() {
    const auto ways = nets::training_implementations<Exec>();
    return {"training", {"f32", "f64"}, {ways.begin(), ways.end()}, {"strict"}};
  }
  static std::vector<protocol::workload_description> descriptions() { return {description(), training_description()}; }

  protocol::open_answer open(const protocol::open_request& request) override {
    if (request.workload == training_description().workload) return open_training(request);
    const dtype type = check_choice(request);
    inference::net_files files = inference::read_net_files(request);
    const auto begun = std::chrono::steady_clock::now();
    nets::forward_plan plan(files.net.description, type);
    const net_placement place =
        place_net(plan, request.batch, files.set.images.count, cache_bytes_, request.transferred);
    const std::string label =
        plan.net().name + " " + request.dtype + " with batches of " + std::to_string(request.batch) + " images";
    if constexpr (is_host_space<Exec>) {
      protocol::require_memory(label, protocol::bytes_sum(place.device_bytes, place.host_bytes));
    } else {
      require_device_memory(instance_, label, place.device_bytes);
      protocol::require_memory(label + " on the host", place.host_bytes);
    }
    auto made = std::make_unique<net_session<Exec>>(instance_, request, std::move(files), std::move(plan), place);
    protocol::open_answer answer;
    answer.place_s = protocol::seconds_since(begun);
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
    if (is_training(request.session)) return find_training(request.session).check(request);
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
    if (is_training(request.session)) return find_training(request.session).evaluate();
    return find(request.session).evaluate();
  }

  protocol::advance_answer advance(const protocol::advance_request& request) override {
    return find_training(request.session).advance(request);
  }

  protocol::save_answer save(const protocol::save_request& request) override {
    return find_training(request.session).save(request);
  }

  protocol::load_answer load(const protocol::load_request& request) override {
    return find_training(request.session).load(request);
  }

  void close(std::int64_t session) override {
    if (trainings_.erase(session) > 0) return;
    find(session);
    open_.erase(session);
  }

 private:
  [[noreturn]] static void refuse(const std::string& message, protocol::error_kind kind = protocol::error_kind::usage) {
    throw protocol::request_error(kind, message);
  }

  protocol::open_answer open_training(const protocol::open_request& request) {
    const protocol::workload_description known = training_description();
    check_device_and_mode(request);
    if (!request.training) refuse("the field 'training' is missing: it tells how the net is trained");
    if (request.transferred) {
      refuse("the images of a training stay on the device; leave out the field 'data'",
             protocol::error_kind::unsupported);
    }
    const dtype type = type_of(request, known);
    inference::training_setup setup = inference::read_training_setup(request);
    const double loaded = setup.files.seconds;
    const auto begun = std::chrono::steady_clock::now();
    const std::int64_t bytes = training_session<Exec>::device_bytes(setup, type);
    require_device_memory(instance_,
                          "a training of " + setup.files.net.description.name + " " + request.dtype +
                              " with steps of " + std::to_string(request.batch) + " images",
                          bytes);
    const protocol::json build = protocol::build_description();
    const data::checkpoint::texts conditions{{"version", protocol::prumo_version()},
                                             {"build", build.value("id", std::string())},
                                             {"device", device_},
                                             {"device_name", device_name_}};
    std::unique_ptr<training_session<Exec>> made;
    try {
      made = std::make_unique<training_session<Exec>>(instance_, std::move(setup), type, conditions);
    } catch (const argument_error& refused) {
      refuse(refused.what());
    }
    protocol::open_answer answer;
    answer.place_s = protocol::seconds_since(begun);
    answer.load_s = loaded;
    answer.session = ++last_id_;
    answer.implementation = made->implementation();
    answer.images = made->setup().files.set.images.count;
    answer.classes = made->facts().classes;
    answer.parameters = made->facts().parameters;
    answer.footprint_bytes = bytes;
    answer.model = inference::cost_of_step(made->facts(), request.batch, dtype_size(type));
    answer.steps_per_epoch = made->steps_per_epoch();
    trainings_.emplace(answer.session, std::move(made));
    return answer;
  }

  void check_device_and_mode(const protocol::open_request& request) const {
    if (request.device != device_) refuse("there is no device '" + request.device + "' here; there is: " + device_);
    const std::string mode = request.compute_mode.value_or("strict");
    if (mode != "strict") {
      refuse("nets have no compute mode '" + mode + "'; there is: strict", protocol::error_kind::unsupported);
    }
  }

  static dtype type_of(const protocol::open_request& request, const protocol::workload_description& known) {
    std::string names;
    for (const std::string& name : known.dtypes) {
      for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
        if (name == request.dtype && dtype_name(type) == name) return type;
      }
      names += (names.empty() ? "" : ", ") + name;
    }
    refuse("the workload " + known.workload + " has no type " + request.dtype + "; types are " + names,
           protocol::error_kind::unsupported);
  }

  bool is_training(std::int64_t id) const { return trainings_.contains(id); }

  training_session<Exec>& find_training(std::int64_t id) {
    const auto found = trainings_.find(id);
    if (found != trainings_.end()) return *found->second;
    refuse(open_.contains(id) ? "session " + std::to_string(id) + " runs a net and trains none"
                              : "there is no session " + std::to_string(id) + ": it was never opened, or closed");
  }

  /// What does not need the files. \return the type
  dtype check_choice(const protocol::open_request& request) const {
    check_device_and_mode(request);
    const protocol::workload_description known = description();
    if (request.workload != known.workload) {
      refuse("there is no workload '" + request.workload + "' here; there are: inference, training");
    }
    const std::string way = request.implementation.value_or("layers");
    if (way != known.implementations.front()) {
      refuse("nets have no implementation '" + way + "'; there is: " + known.implementations.front());
    }
    if (request.transferred) require_transfers<Exec>();
    return type_of(request, known);
  }

  net_session<Exec>& find(std::int64_t id) {
    const auto found = open_.find(id);
    if (found != open_.end()) return *found->second;
    refuse("there is no session " + std::to_string(id) + ": it was never opened, or closed");
  }

  Exec instance_;
  std::string device_, device_name_;
  std::size_t cache_bytes_;
  std::map<std::int64_t, std::unique_ptr<net_session<Exec>>> open_;
  std::map<std::int64_t, std::unique_ptr<training_session<Exec>>> trainings_;
  std::int64_t last_id_ = 0;
};

}  // namespace prumo::worker
