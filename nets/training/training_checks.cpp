// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training_checks.hpp"

#include <prumo/check.hpp>
#include <prumo/error.hpp>

#include <cmath>
#include <variant>

namespace prumo::nets {
namespace {

/// The sums of correct answers and the optimizer's step are numbers of double.
constexpr std::int64_t most_steps = std::int64_t{1} << 53U;

void check_net(const description& net) {
  const bool ends_with_softmax = std::holds_alternative<softmax>(net.layers.back());
  const std::size_t last = net.layers.size() - (ends_with_softmax ? 2 : 1);
  if (last < net.layers.size() && std::holds_alternative<dense>(net.layers[last])) return;
  throw_trainer_argument("the net '" + net.name +
                         "' does not end with a dense layer, or with one and a softmax, so it has no class to learn; "
                         "add a dense layer");
}

void check_options(const training_options& options) {
  if (options.batch < 1) throw_trainer_argument("the batch is " + std::to_string(options.batch) + "; take 1 or more");
  check_rate(options.learning_rate);
  if (!std::isfinite(options.momentum)) {
    throw_trainer_argument("the momentum is " + std::to_string(options.momentum) + "; take a finite number");
  }
}

}  // namespace

void throw_trainer_argument(const std::string& message) {
  throw argument_error(std::string(trainer_name) + ": " + message);
}

void check_type(dtype type) {
  if (type == dtype::f32 || type == dtype::f64) return;
  throw_trainer_argument("expected the type f32 or f64; got " + std::string(dtype_name(type)) +
                         ", whose weights lose the small changes of a step");
}

void check_rate(double rate) {
  if (!std::isfinite(rate)) {
    throw_trainer_argument("the learning rate is " + std::to_string(rate) + "; take a finite number");
  }
}

std::int64_t checked_images(const forward_plan& plan, const training_options& options,
                            std::span<const std::uint8_t> pixels, std::span<const std::uint8_t> labels) {
  check_net(plan.net());
  check_options(options);
  const auto images = static_cast<std::int64_t>(labels.size());
  if (images == 0) throw_trainer_argument("the training set has no image");
  const std::int64_t size = plan.net().input.size();
  if (static_cast<std::int64_t>(pixels.size()) / size != images ||
      static_cast<std::int64_t>(pixels.size()) % size != 0) {
    throw_trainer_argument("expected " + std::to_string(size) + " pixels for each of " + std::to_string(images) +
                           " labels, as the net '" + plan.net().name + "' takes them; got " +
                           std::to_string(pixels.size()) + " pixels");
  }
  for (std::int64_t image = 0; image < images; ++image) {
    const std::uint8_t label = labels[static_cast<std::size_t>(image)];
    if (label < plan.facts().classes) continue;
    throw_trainer_argument("the label of image " + std::to_string(image) + " is " + std::to_string(label) +
                           ", and the net '" + plan.net().name + "' has " + std::to_string(plan.facts().classes) +
                           " classes");
  }
  return images;
}

std::int64_t checked_numbers(const instance_ref& space, const forward_plan& plan, const training_options& options,
                             const array_ref& x, const array_ref& targets) {
  check_options(options);
  if (options.loss != loss::squared) {
    throw_trainer_argument("the loss of numbers is `squared`, and the options have `" +
                           std::string(name_of(options.loss)) + "`");
  }
  check::arrays(trainer_name, space, {}, {{"x", x}, {"targets", targets}});
  const image_shape& input = plan.net().input;
  const std::int64_t results = plan.facts().classes;
  const auto has_gaps = [](const array_ref& array) {
    std::int64_t stride = 1;
    for (int axis = array.rank; axis-- > 0; stride *= array.extents[axis]) {
      if (array.extents[axis] > 1 && array.strides[axis] != stride) return true;
    }
    return false;
  };
  check::rank(trainer_name, {"x", x}, 4);
  if (x.extents[1] != input.channels || x.extents[2] != input.height || x.extents[3] != input.width || has_gaps(x)) {
    check::throw_shape(trainer_name,
                       "images [n x " + std::to_string(input.channels) + " x " + std::to_string(input.height) + " x " +
                           std::to_string(input.width) + "] in rows without gaps, as the net '" + plan.net().name +
                           "' takes them",
                       {{"x", x}});
  }
  if (targets.type != x.type)
    check::throw_argument(trainer_name, "targets of the type of x", {{"x", x}, {"targets", targets}});
  if (targets.rank < 1 || targets.extents[0] != x.extents[0] || targets.size() != x.extents[0] * results ||
      has_gaps(targets)) {
    check::throw_shape(trainer_name,
                       "targets in rows without gaps, with " + std::to_string(results) +
                           " numbers for each image, as many as the net makes",
                       {{"x", x}, {"targets", targets}});
  }
  if (x.extents[0] == 0) throw_trainer_argument("the training set has no image");
  return x.extents[0];
}

void check_weights(const char* what, std::size_t count, std::int64_t expected) {
  if (static_cast<std::int64_t>(count) == expected) return;
  throw_trainer_argument("expected " + std::to_string(expected) + " " + what + ", got " + std::to_string(count));
}

void check_progress(const training_task& task, const training_progress& progress) {
  const std::int64_t steps = task.steps_per_epoch();
  const auto refuse = [&](const std::string& message) {
    throw_trainer_argument("the state does not belong to a training of " + std::to_string(task.images) +
                           " images in batches of " + std::to_string(task.options.batch) + ": " + message);
  };
  if (progress.step < 0 || progress.step > steps) {
    refuse("its epoch has done " + std::to_string(progress.step) + " steps, and epochs have " + std::to_string(steps));
  }
  if (progress.epoch < 0 || progress.epoch > most_steps / steps) {
    refuse("its epoch is " + std::to_string(progress.epoch));
  }
  if (progress.steps_done != progress.epoch * steps + progress.step) {
    refuse("it has done " + std::to_string(progress.steps_done) + " steps, and step " + std::to_string(progress.step) +
           " of epoch " + std::to_string(progress.epoch) + " is number " +
           std::to_string(progress.epoch * steps + progress.step));
  }
  const std::int64_t images = std::min(progress.step * task.options.batch, task.images);
  if (progress.images_done != images || progress.correct < 0 || progress.correct > images) {
    refuse("it has seen " + std::to_string(progress.images_done) + " images, of which " +
           std::to_string(progress.correct) + " were correct, and its steps have " + std::to_string(images));
  }
}

}  // namespace prumo::nets
