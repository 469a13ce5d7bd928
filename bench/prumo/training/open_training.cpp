// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/open_training.hpp"

#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "training/trained_weights.hpp"
#include "training/training_note.hpp"
#include <prumo/data/weights_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Flops a second of a slow machine; limits of time are multiples of what follows from it.
constexpr double slow_flops_per_second = 2e8;

/// A step goes forward once, and backward for data and for weights.
constexpr double flops_of_step_per_forward = 3;

/// Operations that the reference of a step may take: some seconds.
constexpr double check_budget = 1e9;

}  // namespace

open_training::open_training(worker_fleet& fleet, const training_inputs& inputs, const training_plan& plan,
                             const training_place& place)
    : client_(fleet.worker(fleet.devices()[place.device].worker)),
      place_(place),
      plan_(plan),
      inputs_(inputs),
      own_id_(fleet.devices()[place.device].own_id),
      train_images_(static_cast<double>(inputs.train_images())),
      result_(training_result_stub(fleet, inputs, plan.recipe, place)) {
  const fleet_device& device = fleet.devices()[place.device];
  const auto flops = static_cast<double>(std::max<std::int64_t>(1, inputs.net().facts.flops_inside));
  slow_step_seconds_ = flops_of_step_per_forward * flops * static_cast<double>(place.batch) / slow_flops_per_second;
  slow_test_seconds_ = flops * static_cast<double>(inputs.test_images() + place.batch) / slow_flops_per_second;
  current_.epoch = 1;
  if (!device.missing.empty()) {
    end("skipped", device.missing);
    return;
  }
  guarded([&] {
    const auto& workloads = client_.greet().workloads;
    const bool trains = workloads && std::ranges::any_of(*workloads, [](const protocol::workload_description& it) {
                          return it.workload == "training";
                        });
    if (!trains) {
      end("unsupported", fmt::format("worker '{}' trains no nets", client_.name()));
      return;
    }
    protocol::open_request request = inputs.request(plan.recipe);
    request.device = own_id_;
    request.dtype = place.dtype;
    request.batch = place.batch;
    request.implementation = place.implementation;
    const protocol::open_answer opened = client_.open(request, slow_step_seconds_ + slow_test_seconds_);
    session_ = opened.session;
    generation_ = client_.generation();
    steps_per_epoch_ = opened.steps_per_epoch.value_or((inputs.train_images() + place.batch - 1) /
                                                       std::max<std::int64_t>(1, place.batch));
    clock_ = opened.clock;
    result_["implementation"] = opened.implementation;
    if (opened.model.flops) {
      result_["flops"]["model"] = *opened.model.flops / static_cast<double>(place.batch) * train_images_;
    }
  });
}

void open_training::end(const std::string& status, const std::string& reason) {
  ended_ = true;
  result_["status"] = status;
  result_["reason"] = reason;
  // What was not trained to its end is not right, even if its first step was.
  if (result_.at("verified") == true) result_["verified"] = nullptr;
}

void open_training::end_refused(const std::string& kind, const std::string& message) {
  if (kind == "memory") {
    end("skipped", fmt::format("{}: {}", too_little_memory, message));
  } else {
    end(kind == "unsupported" || kind == "skipped" ? kind : "failed", message);
  }
}

/// A worker that ended has lost the session.
void open_training::guarded(const std::function<void()>& action) {
  if (ended_) return;
  try {
    action();
  } catch (const request_refused& refusal) {
    end_refused(refusal.kind(), refusal.what());
  } catch (const worker_failure& failure) {
    end("failed", failure.what());
  }
}

void open_training::verify() {
  guarded([&] {
    protocol::check_request request;
    request.session = *session_;
    request.budget = check_budget;
    const protocol::check_answer told = client_.check(request, check_budget / slow_flops_per_second);
    result_["error"] = or_null(told.error);
    result_["error_bound"] = or_null(told.error_bound);
    result_["verification"] = {{"method", told.method.empty() ? json() : json(told.method)},
                               {"checked", told.checked ? json(*told.checked) : json()},
                               {"dispatch", told.dispatch.empty() ? json() : json(told.dispatch)}};
    if (told.verified) {
      result_["verified"] = true;
    } else if (told.error) {
      end("failed", fmt::format("a step is wrong: {}", told.message));
      result_["verified"] = false;
    } else {
      result_["verified"] = nullptr;
      if (!told.message.empty()) result_["warnings"].push_back(fmt::format("not verified: {}", told.message));
    }
  });
}

void open_training::load(const std::string& path, bool allow_mixed) {
  if (ended_) return;
  try {
    const protocol::load_answer told = client_.load({*session_, path, allow_mixed});
    read_note(path, told.note);
    epoch_ = told.epoch;
    share_of_epoch_ = static_cast<double>(told.step) / static_cast<double>(steps_per_epoch_);
    if (std::cmp_not_equal(epochs_.size() + 1, epoch_)) {
      refuse_file(path, fmt::format("its note tells of {} epochs, and its weights are those of epoch {}",
                                    epochs_.size(), epoch_));
    }
    current_.epoch = epoch_;
    const auto reaches = [&](const epoch_record& it) { return plan_.until && it.test_accuracy >= *plan_.until; };
    reached_ = std::ranges::any_of(epochs_, reaches);
    done_ = reached_ || epoch_ > plan_.epochs;
  } catch (const request_refused& refusal) {
    if (refusal.kind() == "usage") throw file_error(file_error::cause::input, refusal.what());
    end_refused(refusal.kind(), refusal.what());
  } catch (const worker_failure& failure) {
    end("failed", failure.what());
  }
}

bool open_training::advance(double seconds) {
  bool ended = false;
  guarded([&] {
    protocol::advance_request request;
    request.session = *session_;
    request.seconds = seconds;
    const protocol::advance_answer told = client_.advance(request, slow_step_seconds_);
    epoch_ = told.epoch;
    share_of_epoch_ = static_cast<double>(told.step) / static_cast<double>(steps_per_epoch_);
    current_.epoch = told.epoch;
    current_.train_s += told.time;
    current_.wall_s += told.wall;
    unsaved_seconds_ += told.wall;
    knows_energy_ = knows_energy_ && told.energy_j.has_value();
    if (told.energy_j) current_.energy_j = current_.energy_j.value_or(0) + *told.energy_j;
    if (told.clock_mhz) clock_mhz_ = told.clock_mhz;
    if (told.temperature_c)
      temperature_c_ = std::max(temperature_c_.value_or(*told.temperature_c), *told.temperature_c);
    throttle_.insert(told.throttle.begin(), told.throttle.end());
    if (!told.loss) {
      end("failed", fmt::format("the loss is no finite number after step {} of epoch {}: the training diverged; a "
                                "smaller --learning-rate may help",
                                told.step, told.epoch));
      return;
    }
    if (!told.epoch_done) return;
    finish_epoch(told);
    ended = true;
  });
  return ended;
}

void open_training::finish_epoch(const protocol::advance_answer& told) {
  const protocol::evaluate_answer tested = client_.evaluate(*session_, slow_test_seconds_);
  test_seconds_ += tested.seconds.value_or(0);
  current_.train_loss = *told.loss;
  current_.train_accuracy = static_cast<double>(told.correct) / static_cast<double>(told.images);
  current_.test_loss = tested.loss;
  current_.test_accuracy =
      static_cast<double>(tested.correct) / static_cast<double>(std::max<std::int64_t>(1, tested.images));
  if (!knows_energy_) current_.energy_j.reset();
  current_.total_s = current_.wall_s + test_seconds_;
  for (const epoch_record& it : epochs_) current_.total_s += it.wall_s;
  result_["accuracy"] = {{"correct", tested.correct}, {"images", tested.images}, {"share", current_.test_accuracy}};
  if (tested.weights_sha256) result_["weights_sha256"] = *tested.weights_sha256;
  epochs_.push_back(current_);
  reached_ = plan_.until && current_.test_accuracy >= *plan_.until;
  done_ = reached_ || current_.epoch >= plan_.epochs;
  current_ = {};
  current_.epoch = epochs_.back().epoch + 1;
  knows_energy_ = true;
  epoch_ = current_.epoch;
  share_of_epoch_ = 0;
}

std::optional<protocol::save_answer> open_training::save(const protocol::save_request& what) {
  try {
    return client_.save(what);
  } catch (const request_refused& refusal) {
    throw file_error(refusal.kind() == "usage" ? file_error::cause::input : file_error::cause::io, refusal.what());
  } catch (const worker_failure& failure) {
    end("failed", failure.what());
    return std::nullopt;
  }
}

void open_training::save_checkpoint(const std::string& path) {
  if (!started()) return;
  if (save({.session = *session_, .path = path, .weights_only = false, .note = note()})) unsaved_seconds_ = 0;
}

void open_training::save_weights(const std::string& path) {
  if (!started()) return;
  const temporary_folder folder;
  const std::string trained = folder.file("trained.safetensors");
  if (!save({.session = *session_, .path = trained, .weights_only = true, .note = {}})) return;
  data::tensor_file file = data::read_tensors(trained);
  std::optional<double> accuracy;
  if (!epochs_.empty()) accuracy = epochs_.back().test_accuracy;
  if (round_weights(file, plan_.weights_dtype, path)) {
    data::write_tensors(trained, file);
    accuracy = tested_accuracy(trained);
  }
  file.metadata = notes_of_weights(inputs_, plan_.recipe, place_, epochs_.size());
  if (accuracy) file.metadata["test_accuracy"] = fmt::format("{}", *accuracy);
  data::write_tensors(path, file);
  result_["weights_file_sha256"] = data::read_weights(path).sha256;
}

/// The share of the test images that the net recognizes with weights of a file.
std::optional<double> open_training::tested_accuracy(const std::string& weights) {
  constexpr std::int64_t most_images = 1000;
  protocol::open_request request = inputs_.test_request(weights);
  request.device = own_id_;
  request.dtype = place_.dtype;
  request.batch = std::min(most_images, inputs_.test_images());
  try {
    const std::int64_t session = client_.open(request, slow_test_seconds_).session;
    const protocol::evaluate_answer tested = client_.evaluate(session, slow_test_seconds_);
    client_.close(session);
    return static_cast<double>(tested.correct) / static_cast<double>(std::max<std::int64_t>(1, tested.images));
  } catch (const request_refused& refusal) {
    result_["warnings"].push_back(fmt::format("the rounded weights were not tested: {}", refusal.what()));
  } catch (const worker_failure& failure) {
    result_["warnings"].push_back(fmt::format("the rounded weights were not tested: {}", failure.what()));
  }
  return std::nullopt;
}

void open_training::close() {
  if (!session_ || !client_.alive() || generation_ != client_.generation()) return;
  try {
    client_.close(*session_);
  } catch (const request_refused&) {
    // Its memory may be missing later, and that is told then.
  } catch (const worker_failure&) {
    // It is started again when it is needed.
  }
  session_.reset();
}

double open_training::image_rate() const {
  return epochs_.empty() || !(epochs_.back().train_s > 0) ? 0 : train_images_ / epochs_.back().train_s;
}

std::string open_training::note() const {
  return training_note_text({epochs_, current_, knows_energy_, test_seconds_, result_.value("accuracy", json()),
                             text_of(field(result_, "/weights_sha256"))});
}

void open_training::read_note(const std::string& path, const std::string& text) {
  training_note found = parse_training_note(text, path);
  epochs_ = std::move(found.epochs);
  current_ = found.current;
  knows_energy_ = found.knows_energy;
  test_seconds_ = found.test_seconds;
  if (found.accuracy.is_object()) result_["accuracy"] = found.accuracy;
  if (!found.weights_sha256.empty()) result_["weights_sha256"] = found.weights_sha256;
}

json open_training::result(bool interrupted) const {
  json result = result_;
  add_epochs(result, epochs_, plan_.until);
  if (!throttle_.empty()) result["warnings"].push_back(throttle_warning(throttle_));
  if (ended_) return result;
  if (epochs_.empty()) return {};
  add_epoch_statistics(result, epochs_, train_images_, clock_, interrupted);
  result["clock_mhz"] = or_null(clock_mhz_);
  result["temperature_c"] = or_null(temperature_c_);
  return result;
}

}  // namespace prumo::bench
