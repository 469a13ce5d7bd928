// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "net_calls.hpp"
#include "net_numbers.hpp"
#include <prumo/data/weights_file.hpp>
#include <prumo/inference/net_comparison.hpp>
#include <prumo/inference/training_setup.hpp>
#include <prumo/machine/telemetry.hpp>
#include <prumo/nets/image_order.hpp>
#include <prumo/nets/training.hpp>
#include <prumo/protocol/seconds_since.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace prumo::worker {

/// An open training: its files, its trainer, and the arrays that its accuracy is tested with.
template <class Exec>
class training_session {
 public:
  /// \param conditions what the bits of the weights depend on beside the training itself
  training_session(const Exec& instance, inference::training_setup setup, dtype type,
                   data::checkpoint::texts conditions)
      : setup_(std::move(setup)),
        type_(type),
        conditions_(std::move(conditions)),
        owner_(instance),
        trainer_(owner_, setup_.files.net.description, type, setup_.options, setup_.files.set.images.pixels,
                 setup_.files.set.labels.classes),
        scores_plan_(inference::scoring_net(setup_.files.net.description, setup_.options.loss), type),
        scores_place_(place_net(scores_plan_, test_batch(), test_count(), 0)),
        scores_(owner_, scores_plan_, scores_place_) {
    conditions_["implementation"] = trainer_.implementation();
    trainer_.set_weights(setup_.initial_weights);
    owner_.fence();
  }

  /// Bytes on the device: the training set, weights, gradients and moments, results between layers for a step, and what
  /// tests need.
  static std::int64_t device_bytes(const inference::training_setup& setup, dtype type) {
    const nets::forward_plan plan(setup.files.net.description, type);
    const auto width = static_cast<std::int64_t>(dtype_size(type));
    constexpr std::int64_t weight_arrays = 4, passes = 3;
    const std::int64_t of_a_step = std::min(setup.options.batch, setup.files.set.images.count);
    const std::int64_t numbers = protocol::bytes_sum(
        protocol::bytes_product(weight_arrays, plan.weights_elements()),
        protocol::bytes_product(of_a_step, passes * plan.arena_elements(1) + plan.net().input.size()));
    return protocol::bytes_sum(protocol::bytes_product(numbers, width),
                               static_cast<std::int64_t>(setup.files.set.images.pixels.size()));
  }

  const inference::training_setup& setup() const { return setup_; }
  const nets::net_facts& facts() const { return setup_.files.net.facts; }
  std::string implementation() const { return std::string(trainer_.implementation()); }
  std::int64_t steps_per_epoch() const { return trainer_.steps_per_epoch(); }

  protocol::advance_answer advance(const protocol::advance_request& request) {
    constexpr double least_energy_seconds = is_host_space<Exec> ? 0.02 : 1;
    const std::int64_t before = trainer_.progress().step % steps_per_epoch();
    const std::int64_t most = std::min(steps_per_epoch() - before, request.steps.value_or(steps_per_epoch()));
    const machine::device_reading reading = machine::read_telemetry(owner_.instance());
    const auto begun = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return protocol::seconds_since(begun); };
    std::int64_t done = 0;
    while (done < most) {
      std::int64_t now = most - done;
      if (request.seconds) {
        const double left = *request.seconds - elapsed();
        if (done > 0 && left <= 0) break;
        // The first steps tell how long one takes; later stretches are long enough that waiting for them costs nothing.
        const double affordable = seconds_of_step_ > 0 ? std::max(left, 0.0) / seconds_of_step_ : 1;
        now = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(affordable, 1e15)), 1, now);
      }
      const double start = elapsed();
      trainer_.advance(now);
      owner_.fence();
      seconds_of_step_ = (elapsed() - start) / static_cast<double>(now);
      done += now;
    }
    protocol::advance_answer answer;
    answer.wall = answer.time = elapsed();
    const machine::device_reading after = machine::read_telemetry(owner_.instance());
    const nets::training_progress now = trainer_.progress();
    answer.steps = done;
    answer.epoch = now.epoch + 1;
    answer.step = now.step;
    answer.epoch_done = now.step == steps_per_epoch();
    answer.images = now.images_done;
    answer.correct = now.correct;
    const double loss = now.loss_sum / static_cast<double>(std::max<std::int64_t>(1, now.images_done));
    if (std::isfinite(loss)) answer.loss = loss;
    answer.clock_mhz = after.clock_mhz;
    answer.temperature_c = after.temperature_c;
    answer.throttle = after.throttle;
    if (reading.energy_j && after.energy_j && answer.wall >= least_energy_seconds) {
      answer.energy_j = *after.energy_j - *reading.energy_j;
    }
    return answer;
  }

  /// Takes a step from the weights as they are, and compares it with the reference. The training goes on as if nothing
  /// had happened.
  protocol::check_answer check(const protocol::check_request& request) {
    constexpr double usual_budget = 1e9;
    const nets::training_state now = trainer_.state();
    // An image goes forward and backward twice.
    const double of_image = 6 * static_cast<double>(std::max<std::int64_t>(1, facts().flops_inside));
    const std::int64_t most = std::min(setup_.options.batch, train_count());
    const double affordable = request.budget.value_or(usual_budget) / of_image;
    const auto count = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(affordable, 1e15)), 1, most);
    inference::computed_step step;
    step.before = now.weights;
    step.is_whole = count == most;
    const nets::image_order order(setup_.options.seed, 0, train_count());
    for (std::int64_t i = 0; i < count; ++i) add_image(step, setup_.options.shuffle ? order(i) : i);
    if (step.is_whole) {
      trainer_.set_weights(now.weights);
      trainer_.advance(1);
      step.after = trainer_.state();
      trainer_.restore(now);
    } else {
      step.after = step_of_fewer_images(step, order);
    }
    protocol::check_answer answer = inference::compare_step(setup_.files.net, setup_.options, setup_.type, step);
    answer.differing = answer.undecided = 0;
    return answer;
  }

  protocol::evaluate_answer evaluate() {
    protocol::evaluate_answer answer;
    answer.images = test_count();
    const std::vector<double> weights = trainer_.weights();
    answer.weights_sha256 = data::digest_of(weight_arrays(weights));
    const auto begun = std::chrono::steady_clock::now();
    place_weights(weights);
    double loss = 0;
    std::vector<std::byte> bytes(static_cast<std::size_t>(scores_place_.batch_pixels));
    std::vector<std::byte> results(scores_.result_bytes());
    const auto size = static_cast<std::size_t>(setup_.test.images.bytes_per_image());
    const auto classes = static_cast<std::size_t>(facts().classes);
    for (std::int64_t first = 0; first < test_count(); first += test_batch()) {
      const std::int64_t count = std::min(test_batch(), test_count() - first);
      std::memcpy(bytes.data(), setup_.test.images.pixels.data() + static_cast<std::size_t>(first) * size,
                  static_cast<std::size_t>(count) * size);
      scores_.set_images(0, bytes.data());
      scores_.run(0);
      scores_.get_results(results.data());
      owner_.fence();
      const std::vector<double> numbers =
          read_numbers(type_, results.data(), static_cast<std::size_t>(count) * classes);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const auto scores = std::span(numbers).subspan(i * classes, classes);
        const std::size_t label = setup_.test.labels.classes[static_cast<std::size_t>(first) + i];
        answer.predictions.push_back(static_cast<std::int64_t>(inference::prediction(scores)));
        if (answer.predictions.back() == static_cast<std::int64_t>(label)) ++answer.correct;
        loss += inference::loss_of_image(setup_.options.loss, scores, label);
      }
    }
    answer.seconds = protocol::seconds_since(begun);
    loss /= static_cast<double>(test_count());
    if (std::isfinite(loss)) answer.loss = loss;
    return answer;
  }

  protocol::save_answer save(const protocol::save_request& request) {
    if (request.weights_only) {
      data::tensor_file file;
      file.tensors = weight_arrays(trainer_.weights());
      file.metadata = {{"net", setup_.files.net.description.name},
                       {"epochs", std::to_string(epochs_done(trainer_.progress()))}};
      data::write_tensors(request.path, file);
    } else {
      data::write_checkpoint(request.path, checkpoint_of(trainer_.state(), request.note));
    }
    return {data::read_weights(request.path).sha256};
  }

  protocol::load_answer load(const protocol::load_request& request) {
    const data::checkpoint expected = checkpoint_of(trainer_.state(), "");
    const data::checkpoint found = data::read_checkpoint(request.path, expected, request.allow_mixed);
    trainer_.restore(inference::state_of(found, facts()));
    const nets::training_progress now = trainer_.progress();
    return {epochs_done(now) + 1, now.step % steps_per_epoch(), found.note};
  }

 private:
  std::int64_t train_count() const { return setup_.files.set.images.count; }
  std::int64_t test_count() const { return setup_.test.images.count; }
  std::int64_t test_batch() const {
    constexpr std::int64_t usual = 1000;
    return std::min(usual, test_count());
  }
  std::int64_t epochs_done(const nets::training_progress& now) const {
    return now.epoch + (now.step == steps_per_epoch() ? 1 : 0);
  }

  data::checkpoint checkpoint_of(const nets::training_state& state, const std::string& note) const {
    return {setup_.identity, conditions_, note, inference::arrays_of(state, facts(), setup_.type)};
  }

  std::vector<data::tensor> weight_arrays(const std::vector<double>& packed) const {
    nets::training_state state;
    state.weights = packed;
    std::vector<data::tensor> arrays = inference::arrays_of(state, facts(), setup_.type);
    std::erase_if(arrays, [](const data::tensor& it) { return it.name.starts_with("state."); });
    return arrays;
  }

  void place_weights(const std::vector<double>& packed) {
    const std::size_t width = dtype_size(type_);
    std::vector<std::byte> placed(static_cast<std::size_t>(scores_plan_.weights_elements()) * width);
    std::size_t first = 0;
    for (const nets::placed_parameter& it : scores_plan_.parameters()) {
      const auto size = static_cast<std::size_t>(it.what.size());
      std::byte* const to = placed.data() + static_cast<std::size_t>(it.offset) * width;
      if (type_ == dtype::f64) {
        std::memcpy(to, packed.data() + first, size * sizeof(double));
      } else {
        const std::vector<float> rounded(packed.begin() + static_cast<std::ptrdiff_t>(first),
                                         packed.begin() + static_cast<std::ptrdiff_t>(first + size));
        write_numbers(type_, rounded, to);
      }
      first += size;
    }
    scores_.set_weights(placed.data());
    owner_.fence();
  }

  void add_image(inference::computed_step& step, std::int64_t number) const {
    const std::vector<double> numbers = pixel_numbers(type_);
    for (const std::uint8_t byte : setup_.files.set.images.image(number)) step.pixels.push_back(numbers[byte]);
    step.labels.push_back(setup_.files.set.labels.classes[static_cast<std::size_t>(number)]);
  }

  /// A step of a trainer that has these images alone, in this order.
  nets::training_state step_of_fewer_images(const inference::computed_step& step, const nets::image_order& order) {
    const auto size = static_cast<std::size_t>(setup_.files.set.images.bytes_per_image());
    std::vector<std::uint8_t> pixels;
    pixels.reserve(step.labels.size() * size);
    for (std::size_t i = 0; i < step.labels.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      const auto image = setup_.files.set.images.image(setup_.options.shuffle ? order(number) : number);
      pixels.insert(pixels.end(), image.begin(), image.end());
    }
    nets::training_options options = setup_.options;
    options.batch = static_cast<std::int64_t>(step.labels.size());
    options.shuffle = false;
    options.implementation = implementation();
    nets::trainer<Exec> fewer(owner_, setup_.files.net.description, type_, options, pixels, step.labels);
    fewer.set_weights(step.before);
    fewer.advance(1);
    return fewer.state();
  }

  inference::training_setup setup_;
  dtype type_;
  data::checkpoint::texts conditions_;
  context<Exec> owner_;
  nets::trainer<Exec> trainer_;
  nets::forward_plan scores_plan_;
  net_placement scores_place_;
  net_arrays<Exec> scores_;
  double seconds_of_step_ = 0;  ///< of the latest steps; 0: not known
};

}  // namespace prumo::worker
