// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peer_training.hpp"

#include "image_order.hpp"
#include <prumo/data/weights_file.hpp>
#include <prumo/inference/net_comparison.hpp>
#include <prumo/protocol/seconds_since.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace prumo::peers {

using steady = std::chrono::steady_clock;

peer_training::peer_training(std::unique_ptr<const inference::training_setup> setup,
                             std::unique_ptr<training_program> program, data::checkpoint::texts conditions)
    : setup_(std::move(setup)), program_(std::move(program)), conditions_(std::move(conditions)) {}

std::int64_t peer_training::steps_per_epoch() const { return (train_count() - 1) / setup_->options.batch + 1; }

const std::vector<std::int64_t>& peer_training::order_of(std::int64_t epoch) {
  if (order_is_of_ == epoch) return order_;
  if (setup_->options.shuffle) {
    order_ = image_order(setup_->options.seed, static_cast<std::uint64_t>(epoch), train_count());
  } else {
    order_.resize(static_cast<std::size_t>(train_count()));
    std::iota(order_.begin(), order_.end(), 0);
  }
  order_is_of_ = epoch;
  return order_;
}

void peer_training::take_step() {
  const std::int64_t first = now_.step * setup_->options.batch;
  const std::int64_t count = std::min(setup_->options.batch, train_count() - first);
  const auto images =
      std::span(order_of(now_.epoch)).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  const step_sums sums = program_->take_step(images, ++now_.steps_done);
  ++now_.step;
  now_.images_done += count;
  now_.loss_sum += sums.loss;
  now_.correct += sums.correct;
}

void peer_training::begin_epoch() {
  now_.epoch += 1;
  now_.step = now_.images_done = now_.correct = 0;
  now_.loss_sum = 0;
}

protocol::advance_answer peer_training::advance(const protocol::advance_request& request) {
  const auto begun = steady::now();
  if (now_.step == steps_per_epoch()) begin_epoch();
  const std::int64_t most = std::min(steps_per_epoch() - now_.step, request.steps.value_or(steps_per_epoch()));
  protocol::advance_answer answer;
  while (answer.steps < most) {
    if (request.seconds && answer.steps > 0 && protocol::seconds_since(begun) >= *request.seconds) break;
    take_step();
    ++answer.steps;
  }
  answer.wall = answer.time = protocol::seconds_since(begun);
  answer.epoch = now_.epoch + 1;
  answer.step = now_.step;
  answer.epoch_done = now_.step == steps_per_epoch();
  answer.images = now_.images_done;
  answer.correct = now_.correct;
  const double loss = now_.loss_sum / static_cast<double>(now_.images_done);
  if (std::isfinite(loss)) answer.loss = loss;
  return answer;
}

/// The first step of the first epoch, from the weights as they are.
protocol::check_answer peer_training::check(const protocol::check_request& request) {
  constexpr double usual_budget = 1e9;
  // An image goes forward and backward twice.
  const double of_image = 6 * static_cast<double>(std::max<std::int64_t>(1, facts().flops_inside));
  const std::int64_t most = std::min(setup_->options.batch, train_count());
  const double affordable = std::min(request.budget.value_or(usual_budget) / of_image, 1e15);
  const std::int64_t count = std::clamp<std::int64_t>(static_cast<std::int64_t>(affordable), 1, most);
  const nets::training_state before = program_->state();
  inference::computed_step step;
  step.before = before.weights;
  step.is_whole = count == most;
  const std::span<const std::int64_t> images = std::span(order_of(0)).first(static_cast<std::size_t>(count));
  for (const std::int64_t image : images) {
    for (const std::uint8_t byte : setup_->files.set.images.image(image)) {
      const double pixel = static_cast<double>(byte) / 255;
      step.pixels.push_back(setup_->type == "f64" ? pixel : static_cast<double>(static_cast<float>(pixel)));
    }
    step.labels.push_back(setup_->files.set.labels.classes[static_cast<std::size_t>(image)]);
  }
  nets::training_state fresh;
  fresh.weights = before.weights;
  program_->restore(fresh);
  program_->take_step(images, 1);
  step.after = program_->state();
  program_->restore(before);
  protocol::check_answer answer = inference::compare_step(setup_->files.net, setup_->options, setup_->type, step);
  answer.differing = answer.undecided = 0;
  answer.dispatch = "single";
  return answer;
}

protocol::evaluate_answer peer_training::evaluate() {
  const data::labelled_images& tests = setup_->test;
  protocol::evaluate_answer answer;
  answer.images = tests.images.count;
  answer.weights_sha256 = data::digest_of(weight_arrays());
  const auto begun = steady::now();
  const std::vector<double> scores = program_->scores(tests.images.pixels, answer.images);
  const auto classes = static_cast<std::size_t>(facts().classes);
  double loss = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(answer.images); ++i) {
    const auto of_image = std::span(scores).subspan(i * classes, classes);
    const std::size_t label = tests.labels.classes[i];
    answer.predictions.push_back(static_cast<std::int64_t>(inference::prediction(of_image)));
    if (std::cmp_equal(answer.predictions.back(), label)) ++answer.correct;
    loss += inference::loss_of_image(setup_->options.loss, of_image, label);
  }
  answer.seconds = protocol::seconds_since(begun);
  loss /= static_cast<double>(answer.images);
  if (std::isfinite(loss)) answer.loss = loss;
  return answer;
}

nets::training_state peer_training::state() const {
  nets::training_state state = program_->state();
  state.progress = now_;
  state.learning_rate = setup_->options.learning_rate;
  return state;
}

data::checkpoint peer_training::checkpoint_of(const std::string& note) const {
  return {setup_->identity, conditions_, note, inference::arrays_of(state(), facts(), setup_->type)};
}

std::vector<data::tensor> peer_training::weight_arrays() const {
  nets::training_state weights;
  weights.weights = program_->state().weights;
  std::vector<data::tensor> arrays = inference::arrays_of(weights, facts(), setup_->type);
  std::erase_if(arrays, [](const data::tensor& it) { return it.name.starts_with("state."); });
  return arrays;
}

protocol::save_answer peer_training::save(const protocol::save_request& request) {
  if (request.weights_only) {
    data::tensor_file file;
    file.tensors = weight_arrays();
    file.metadata = {{"net", setup_->files.net.description.name}, {"epochs", std::to_string(epochs_done())}};
    data::write_tensors(request.path, file);
  } else {
    data::write_checkpoint(request.path, checkpoint_of(request.note));
  }
  return {data::read_weights(request.path).sha256};
}

protocol::load_answer peer_training::load(const protocol::load_request& request) {
  const data::checkpoint found = data::read_checkpoint(request.path, checkpoint_of(""), request.allow_mixed);
  const nets::training_state from = inference::state_of(found, facts());
  program_->restore(from);
  now_ = from.progress;
  return {epochs_done() + 1, now_.step % steps_per_epoch(), found.note};
}

}  // namespace prumo::peers
