// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peer_nets.hpp"

#include "peer_handler.hpp"
#include "peer_net_session.hpp"
#include <prumo/inference/net_cost.hpp>
#include <prumo/inference/net_files.hpp>
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/memory_limit.hpp>
#include <prumo/serving/sampling.hpp>
#include <prumo/serving/surroundings.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace prumo::peers {
namespace {

using protocol::bytes_product;
using protocol::bytes_sum;
using protocol::error_kind;
using protocol::request_error;
using steady = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& message, error_kind kind = error_kind::usage) {
  throw request_error(kind, message);
}

}  // namespace

peer_nets::peer_nets(framework& computes, std::size_t cache_bytes) : computes_(computes), cache_bytes_(cache_bytes) {}
peer_nets::~peer_nets() = default;

std::vector<protocol::workload_description> peer_nets::descriptions() const {
  std::vector<protocol::workload_description> all{
      {"inference", computes_.net_types(), computes_.net_implementations(), {"strict"}}};
  std::vector<std::string> ways = computes_.training_implementations();
  if (!ways.empty()) all.push_back({"training", computes_.net_types(), std::move(ways), {"strict"}});
  return all;
}

protocol::open_answer peer_nets::open(const protocol::open_request& request) {
  const std::vector<protocol::workload_description> workloads = descriptions();
  const auto choose = [&](const std::string& what, const std::string& name, const std::vector<std::string>& names,
                          error_kind kind) {
    if (std::ranges::find(names, name) != names.end()) return;
    std::string all;
    for (const std::string& it : names) all += (all.empty() ? "" : ", ") + it;
    refuse(computes_.name() + ": nets have no " + what + " '" + name + "'; there is: " + all, kind);
  };
  choose("device", request.device, {computes_.device().id}, error_kind::usage);
  std::vector<std::string> names;
  for (const protocol::workload_description& it : workloads) names.push_back(it.workload);
  choose("workload", request.workload, names, error_kind::usage);
  const protocol::workload_description& known =
      *std::ranges::find(workloads, request.workload, &protocol::workload_description::workload);
  const std::string how = request.implementation.value_or(known.implementations.front());
  choose("implementation", how, known.implementations, error_kind::usage);
  choose("compute mode", request.compute_mode.value_or("strict"), known.compute_modes, error_kind::unsupported);
  choose("type", request.dtype, known.dtypes, error_kind::unsupported);
  if (request.transferred) refuse("a host device has no transfers", error_kind::skipped);
  const dtype type = request.dtype == "f64" ? dtype::f64 : dtype::f32;
  if (known.workload == "training") return open_training(request, type, how);

  inference::net_files files = inference::read_net_files(request);
  const auto begun = steady::now();
  const std::size_t width = bytes_of(type);
  const nets::net_facts& facts = files.net.facts;
  const std::int64_t pixels = bytes_product(request.batch, files.net.description.input.size());
  const std::int64_t batch_bytes = bytes_product(pixels, static_cast<std::int64_t>(width));
  const std::int64_t all = (files.set.images.count - 1) / request.batch + 1;
  const auto cold = protocol::cold_copies(static_cast<std::size_t>(batch_bytes), cache_bytes_);
  const std::int64_t batches = std::clamp<std::int64_t>(static_cast<std::int64_t>(cold), 1, all);
  std::int64_t largest = 0;
  for (const nets::layer_facts& it : facts.layers) largest = std::max(largest, it.output.size());
  const std::int64_t between =
      bytes_product(bytes_product(request.batch, 3 * largest), static_cast<std::int64_t>(width));
  const std::int64_t inputs = bytes_product(batches, batch_bytes);
  const std::int64_t needed = bytes_sum(inputs, between);
  protocol::require_memory(files.net.description.name + " " + request.dtype + " with batches of " +
                               std::to_string(request.batch) + " images",
                           needed);
  auto program = computes_.open_net({files.net, files.weights, type, request.batch}, how);
  protocol::open_answer answer;
  answer.load_s = files.seconds;
  answer.images = files.set.images.count;
  answer.classes = facts.classes;
  answer.parameters = facts.parameters;
  answer.footprint_bytes = needed;
  answer.model = inference::cost_of_layers(facts, 0, facts.layers.size(), request.batch, width);
  for (std::size_t step = 0; step < facts.layers.size(); ++step) {
    const std::string& name = facts.layers[step].name;
    answer.steps.push_back({name, {name}, inference::cost_of_layers(facts, step, step + 1, request.batch, width)});
  }
  answer.implementation = how;
  answer.dispatch = "single";
  auto made = std::make_unique<peer_net_session>(std::move(files), type, request.batch, batches, std::move(program));
  answer.place_s = protocol::seconds_since(begun);
  answer.session = ++last_id_;
  open_.emplace(answer.session, std::move(made));
  return answer;
}

protocol::open_answer peer_nets::open_training(const protocol::open_request& request, dtype type,
                                               const std::string& how) {
  if (!request.training) refuse("the field 'training' is missing: it tells how the net is trained");
  auto setup = std::make_unique<const inference::training_setup>(inference::read_training_setup(request));
  const auto begun = steady::now();
  const nets::net_facts& facts = setup->files.net.facts;
  // Pixels of both sets; weights, gradients and two moments; what layers make and its gradients.
  std::int64_t of_image = setup->files.net.description.input.size();
  for (const nets::layer_facts& it : facts.layers) of_image += 2 * it.output.size();
  const std::int64_t images = std::min(request.batch, setup->files.set.images.count);
  const std::int64_t numbers = bytes_sum(bytes_product(4, facts.parameters), bytes_product(images, of_image));
  const std::int64_t needed = bytes_sum(bytes_product(numbers, static_cast<std::int64_t>(bytes_of(type))),
                                        static_cast<std::int64_t>(setup->files.set.images.pixels.size()));
  protocol::require_memory("a training of " + setup->files.net.description.name + " " + request.dtype +
                               " with steps of " + std::to_string(request.batch) + " images",
                           needed);
  auto program = computes_.open_training(*setup, type, how);
  protocol::open_answer answer;
  answer.load_s = setup->files.seconds;
  answer.images = setup->files.set.images.count;
  answer.classes = facts.classes;
  answer.parameters = facts.parameters;
  answer.footprint_bytes = needed;
  answer.model = inference::cost_of_step(facts, request.batch, bytes_of(type));
  answer.implementation = how;
  answer.dispatch = "single";
  auto made = std::make_unique<peer_training>(
      std::move(setup), std::move(program),
      data::checkpoint::texts{{"version", protocol::prumo_version()},
                              {"build", protocol::build_description().value("id", std::string())},
                              {"device", computes_.device().id},
                              {"device_name", computes_.device().name},
                              {"implementation", how}});
  answer.steps_per_epoch = made->steps_per_epoch();
  answer.place_s = protocol::seconds_since(begun);
  answer.session = ++last_id_;
  trainings_.emplace(answer.session, std::move(made));
  return answer;
}

protocol::advance_answer peer_nets::advance(const protocol::advance_request& request) {
  return find_training(request.session).advance(request);
}

protocol::save_answer peer_nets::save(const protocol::save_request& request) {
  return find_training(request.session).save(request);
}

protocol::load_answer peer_nets::load(const protocol::load_request& request) {
  return find_training(request.session).load(request);
}

protocol::check_answer peer_nets::check(const protocol::check_request& request) {
  if (trainings_.contains(request.session)) return find_training(request.session).check(request);
  return find(request.session).check(request);
}

protocol::sample_answer peer_nets::time(const protocol::time_request& request) {
  peer_net_session& timed_one = find(request.session);
  if (!request.layer && request.step) refuse("the field 'step' is for the level 'layer' alone");
  if (request.layer && !request.step) {
    refuse("the field 'step' is missing: the level 'layer' needs the number of a step");
  }
  if (request.step && std::cmp_greater_equal(*request.step, timed_one.steps())) {
    refuse("there is no step " + std::to_string(*request.step) + "; the net has " + std::to_string(timed_one.steps()) +
           " steps from 0 up");
  }
  const auto step = request.step ? std::optional(static_cast<std::size_t>(*request.step)) : std::nullopt;
  const protocol::sample_times times = timed_one.time(step, request.seconds);
  protocol::sample_answer answer;
  answer.samples = answer.wall = times.wall;
  answer.batch = times.batch;
  return answer;
}

protocol::evaluate_answer peer_nets::evaluate(const protocol::evaluate_request& request) {
  if (trainings_.contains(request.session)) return find_training(request.session).evaluate();
  return find(request.session).evaluate();
}

void peer_nets::close(std::int64_t id) {
  if (trainings_.erase(id) > 0) return;
  find(id);
  open_.erase(id);
}

peer_training& peer_nets::find_training(std::int64_t id) {
  const auto found = trainings_.find(id);
  if (found != trainings_.end()) return *found->second;
  refuse(open_.contains(id) ? "session " + std::to_string(id) + " runs a net and trains none"
                            : "there is no session " + std::to_string(id) + ": it was never opened, or closed");
}

peer_net_session& peer_nets::find(std::int64_t id) {
  const auto found = open_.find(id);
  if (found != open_.end()) return *found->second;
  refuse("there is no session " + std::to_string(id) + ": it was never opened, or closed");
}

}  // namespace prumo::peers
