// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a trainer and the ways to take its steps have in common. A way is a candidate: a name, a function that says why
/// it cannot train a net, and one that makes it. The trainer owns all arrays that outlive a step.

#include <prumo/array_ref.hpp>
#include <prumo/context.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/training_types.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace prumo::nets {

/// How far a training is, in the memory of the device. Kernels of a way read and write it, so that steps that are
/// recorded or many in one launch need nothing of the host. `training_step.hpp` has the functions that do it.
struct training_counters {
  double sums[2] = {0, 0};    ///< loss and correct answers of the images of this epoch that are done
  double rate = 0;            ///< the learning rate; only the host changes it, between steps
  double optimizer_step = 0;  ///< the number of the latest step, from 1: what adam() takes
  std::int64_t epoch = 0;     ///< of the latest step
  std::int64_t step = 0;      ///< steps of this epoch that are done; at its end it stays until the next step begins
};

/// A training. All arrays are in the device's memory, without gaps, and stay where they are.
struct training_task {
  const forward_plan& plan;  ///< the net, its facts and type (f32 or f64), and where parameters lie in flat arrays
  const training_options& options;
  std::int64_t images = 0;  ///< of the set; at least 1

  array_ref pixels{};  ///< u8 [images x channels x height x width]
  array_ref labels{};  ///< u8 [images], each below facts().classes
  /// Instead of pixels and labels: numbers of the plan's type, and what the net shall make of them. Both are row-major
  /// without gaps, and their first extent is `images`. Otherwise of rank 0.
  array_ref numbers{};
  array_ref targets{};
  bool takes_numbers() const { return numbers.rank != 0; }

  /// Flat arrays of plan.weights_elements() numbers of the plan's type; parameter i begins at
  /// plan.parameters()[i].offset. What lies between parameters is zero in all of them, and a way leaves it so. A way
  /// may use `gradients` as it likes within a step.
  array_ref weights{}, gradients{};
  /// The velocity of `momentum`, the mean of `adam`; of no element for `sgd`.
  array_ref first_moments{};
  array_ref second_moments{};  ///< the mean square of `adam`; otherwise of no element
  training_counters* counters = nullptr;

  std::int64_t steps_per_epoch() const { return (images - 1) / options.batch + 1; }
  /// The images of a step of an epoch: fewer in the last one.
  std::int64_t images_of_step(std::int64_t step) const {
    return std::min(options.batch, images - step * options.batch);
  }
};

/// What gradients are divided by where a net is trained with the loss `original`; 1 elsewhere.
struct gradient_divisors {
  std::int64_t weights = 1;
  std::int64_t bias = 1;
};
/// The divisors of a layer.
gradient_divisors divisors_of(const training_task& task, std::size_t layer);

/// A way to take steps. It keeps the memory that it needs, and allocates it when it is made or at its first steps.
template <class Exec>
class step_way {
 public:
  virtual ~step_way() = default;

  /// Enqueues the next `steps` steps, which number `first` and the following ones of an epoch. The trainer cuts at the
  /// ends of epochs: first + steps <= steps_per_epoch(). A step
  ///  1. begins: where the counters say that the epoch before has ended, `epoch` grows, `step` becomes 0, and the sums
  ///     become 0; `optimizer_step` grows (begin_step() in training_step.hpp does it);
  ///  2. takes images step * batch + i, 0 <= i < images_of_step(step), through image_order(seed, epoch, images) if
  ///     options.shuffle; pixels are byte / 255 in double, rounded to the type;
  ///  3. adds the losses of its images and the correct answers to the sums, in an order that is fixed;
  ///  4. changes the weights by the gradient: of the mean of the images of this step, for `original` of their sum with
  ///     divisors_of() the layers;
  ///  5. ends: `step` grows.
  /// \param ctx the trainer's own context, whose workspace nobody else uses
  virtual void enqueue(context<Exec>& ctx, std::int64_t first, std::int64_t steps) = 0;
};

/// A way that may suit.
template <class Exec>
struct step_candidate {
  std::string_view name;
  /// Why it cannot train this, in words that follow its name; empty if it can. The arrays' memory is not there yet.
  std::string (*why_not)(const Exec& instance, const training_task& task);
  std::unique_ptr<step_way<Exec>> (*make)(context<Exec>& ctx, const training_task& task);
  bool takes_numbers = false;  ///< whether it can train with numbers instead of pixels and labels
  /// Whether a way behind it is faster. Then it is taken only if it is named, or if no other one can train this.
  bool (*is_slower)(const training_task& task) = [](const training_task&) { return false; };
};

/// The ways of a space, best first. Explicit instantiations in the sources that define them.
template <class Exec>
step_candidate<Exec> persistent_candidate();
template <class Exec>
step_candidate<Exec> fused_candidate();
template <class Exec>
step_candidate<Exec> layers_candidate();

/// All of them, in the order in which they are asked (step_ways.cpp).
template <class Exec>
std::span<const step_candidate<Exec>> step_candidates();

}  // namespace prumo::nets
