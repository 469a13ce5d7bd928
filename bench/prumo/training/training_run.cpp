// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/training_run.hpp"

#include "inference/net_implementations.hpp"
#include "results/result_fields.hpp"
#include "results/results_schema.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/program_error.hpp"
#include "terminal/units.hpp"
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Seconds of a turn. A training that is alone takes longer ones, in which the counters of energy advance often enough.
constexpr double turn_seconds = 0.25;
constexpr double turn_seconds_alone = 1.1;

}  // namespace

training_run::training_run(worker_fleet& fleet, const training_inputs& inputs, results_writer& writer, progress& shown,
                           const training_plan& plan, std::function<void(const std::string&)> tell,
                           std::function<void(const std::string&)> warn)
    : fleet_(fleet),
      inputs_(inputs),
      writer_(writer),
      progress_(shown),
      plan_(plan),
      tell_(std::move(tell)),
      warn_(std::move(warn)) {}

std::vector<training_place> training_run::places() const {
  const auto implementations = net_implementations(fleet_, plan_.implementations, "training");
  std::vector<training_place> all;
  for (const std::string& dtype : plan_.dtypes) {
    for (const std::int64_t batch : plan_.batches) {
      for (std::size_t device = 0; device < fleet_.devices().size(); ++device) {
        for (const auto& it : implementations[device]) all.push_back({device, dtype, batch, it});
      }
    }
  }
  if (!plan_.checkpoint.empty() && all.size() > 1) {
    throw program_error(
        exit_code::wrong_usage,
        fmt::format("--checkpoint holds one training, and these would be {}; choose one by --device, --dtype, --batch "
                    "and --impl, and leave out --peers",
                    all.size()));
  }
  if (!plan_.weights.empty() && all.size() > 1) {
    throw program_error(exit_code::wrong_usage,
                        fmt::format("--weights holds the weights of one training, and these would be {}; choose one by "
                                    "--device, --dtype, --batch and --impl, and leave out --peers",
                                    all.size()));
  }
  return all;
}

/// A training that is whole in the file, and goes at least as far as this one would.
bool training_run::is_kept(const training_place& place) const {
  const json stub = training_result_stub(fleet_, inputs_, plan_.recipe, place);
  const json* const known =
      writer_.find(text_of(stub.at("key")), text_of(stub.at("device")), place.implementation.value_or(std::string()));
  if (known == nullptr || known->at("status") == "failed") return false;
  if (known->at("status") != "ok") return true;
  return text_of(field(*known, "/time_s/stop")) == "budget" && plan_.checkpoint.empty();
}

std::string training_run::label_of(const training_place& place) const {
  std::string label = fmt::format("{} {}", fleet_.devices()[place.device].id, place.dtype);
  if (several_batches_) label += fmt::format(" batch {}", place.batch);
  if (several_ways_ && place.implementation) label += " " + *place.implementation;
  return label;
}

void training_run::show(const open_training& training, const std::string& what) {
  progress_.update(fmt::format("{}: {}", label_of(training.place()), what), done_);
}

void training_run::prepare(open_training& training) {
  if (plan_.verify && training.open()) {
    show(training, "comparing a step with the reference");
    training.verify();
  }
  std::error_code ignored;
  if (plan_.resume && !plan_.checkpoint.empty() && std::filesystem::exists(plan_.checkpoint, ignored)) {
    training.load(absolute_path(plan_.checkpoint), plan_.allow_mixed);
    checkpoint_ = checkpoint_state::current;
    if (training.open() || training.done()) {
      tell_(fmt::format("goes on from {}, epoch {}, {:.0f} % of its steps\n", plan_.checkpoint, training.epoch(),
                        100 * training.share_of_epoch()));
    }
  }
}

void training_run::tell_epoch(const open_training& training) {
  const epoch_record& it = training.epochs().back();
  std::string line =
      fmt::format("{}  epoch {:>3}/{}  loss {:.4f}", label_of(training.place()), it.epoch, plan_.epochs, it.train_loss);
  if (it.test_loss) line += fmt::format(", test {:.4f}", *it.test_loss);
  line += fmt::format("  accuracy {:6.2f} %  {:>8} images/s  {}", 100 * it.test_accuracy,
                      format_rate(training.image_rate(), ""), format_seconds(it.train_s));
  if (it.energy_j) line += fmt::format("  {} J", format_significant(*it.energy_j, 3));
  progress_.clear();
  tell_(line + '\n');
}

void training_run::save_checkpoint(open_training& training) {
  if (plan_.checkpoint.empty() || !training.started()) return;
  show(training, "writing the checkpoint");
  try {
    training.save_checkpoint(absolute_path(plan_.checkpoint));
    if (training.started()) checkpoint_ = checkpoint_state::current;
    if (std::exchange(lacks_checkpoint_, false)) warn_(fmt::format("{} is written again", plan_.checkpoint));
  } catch (const file_error& error) {
    if (error.why() == file_error::cause::input) throw;
    if (!std::exchange(lacks_checkpoint_, true)) {
      warn_(fmt::format("{}. The training goes on, and writing is tried again", error.what()));
    }
  }
}

void training_run::store(const open_training& training, bool interrupted) {
  json result = training.result(interrupted);
  if (result.is_null()) return;
  if (const auto violations = validate_result(result); !violations.empty()) {
    // The numbers come from the worker: its mistake costs this training, not the run.
    const std::string why = fmt::format("its worker gave numbers that break the format at {}: {}",
                                        violations.front().path, violations.front().message);
    const json implementation = result.at("implementation");
    result = training_result_stub(fleet_, inputs_, plan_.recipe, training.place());
    if (implementation.is_string()) result["implementation"] = implementation;
    result["reason"] = why;
  }
  writer_.add(std::move(result));
}

/// What is under way is finished even if the user asks to stop: it is short, and a checkpoint needs whole steps.
void training_run::take_turn(open_training& training, double seconds) {
  const interrupt_delay until_it_is_finished;
  show(training, fmt::format("epoch {}/{}, {:.0f} %", training.epoch(), plan_.epochs, 100 * training.share_of_epoch()));
  if (checkpoint_ == checkpoint_state::current) checkpoint_ = checkpoint_state::earlier;
  const bool epoch_ended = training.advance(seconds);
  if (!training.started()) return;
  if (epoch_ended) tell_epoch(training);
  if (epoch_ended || training.unsaved_seconds() >= plan_.checkpoint_seconds) save_checkpoint(training);
  if (epoch_ended) store(training, training.open());
}

void training_run::finish(open_training& training) {
  if (training.started() && !plan_.weights.empty()) {
    show(training, "writing the weights");
    try {
      training.save_weights(absolute_path(plan_.weights));
      tell_(fmt::format("weights: {}\n", plan_.weights));
    } catch (const file_error& error) {
      if (error.why() == file_error::cause::input) throw;
      lacks_weights_ = true;
      warn_(error.what());
    }
  }
  store(training, false);
  training.close();
  ++done_;
}

void training_run::train_in_turns(std::vector<open_training>& trainings) {
  const auto any_open = [&] {
    return std::ranges::any_of(trainings, [](const open_training& it) { return it.open(); });
  };
  try {
    for (std::size_t round = 0; any_open(); ++round) {
      const auto open = std::ranges::count_if(trainings, [](const open_training& it) { return it.open(); });
      for (std::size_t i = 0; i < trainings.size(); ++i) {
        open_training& it = trainings[(round + i) % trainings.size()];
        if (!it.open()) continue;
        throw_if_interrupted();
        take_turn(it, open > 1 ? turn_seconds : turn_seconds_alone);
      }
    }
  } catch (const interrupted&) {
    const interrupt_delay until_it_is_saved;
    for (open_training& it : trainings) {
      if (it.open()) save_checkpoint(it);
      store(it, it.open());
    }
    throw;
  }
}

training_outcome training_run::run() {
  const std::vector<training_place> all = places();
  std::set<std::optional<std::string>> ways;
  std::set<std::int64_t> batches;
  for (const training_place& it : all) {
    ways.insert(it.implementation);
    batches.insert(it.batch);
  }
  several_ways_ = ways.size() > 1;
  several_batches_ = batches.size() > 1;
  progress_.start(all.size());
  training_outcome outcome;
  for (std::size_t begin = 0; begin < all.size();) {
    // Trainings of one type and number of images take turns.
    std::size_t end = begin;
    std::vector<open_training> trainings;
    trainings.reserve(all.size());
    for (; end < all.size() && all[end].dtype == all[begin].dtype && all[end].batch == all[begin].batch; ++end) {
      throw_if_interrupted();
      if (is_kept(all[end])) {
        ++outcome.kept;
        ++done_;
        continue;
      }
      progress_.update(label_of(all[end]) + ": preparing", done_);
      prepare(trainings.emplace_back(fleet_, inputs_, plan_, all[end]));
    }
    train_in_turns(trainings);
    for (open_training& it : trainings) {
      if (it.done() && plan_.until && !it.reached()) ++outcome.unreached;
      finish(it);
    }
    writer_.end_group();
    begin = end;
  }
  progress_.clear();
  if (lacks_checkpoint_) outcome.unsaved.push_back(plan_.checkpoint);
  if (lacks_weights_) outcome.unsaved.push_back(plan_.weights);
  for (const json& result : writer_.results()) {
    if (result.at("status") == "failed") ++(result.at("verified") == false ? outcome.wrong : outcome.failed);
    if (result.at("status") == "ok") ++outcome.trained;
    if (lacked_memory(result)) ++outcome.lacking_memory;
  }
  return outcome;
}

}  // namespace prumo::bench
