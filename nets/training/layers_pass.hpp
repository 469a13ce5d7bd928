// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operations of a step, layer by layer: forward, loss, backward and the change of the weights.

#include "step_way.hpp"
#include <prumo/context_ref.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::nets {

/// Enqueues public operations on arrays in one arena. All results of layers are kept until the backward pass has used
/// them. Of gradients there are only those of the layer at work and of the one before it.
class layers_pass {
 public:
  explicit layers_pass(const training_task& task);

  /// The elements of the arena, of the net's type.
  std::int64_t arena_elements() const { return arena_elements_; }

  /// The images of a step: the first thing in the arena.
  array_ref input(const array_ref& arena, std::int64_t images) const;

  /// What the net shall make of the images of a step, a row for each, where the task takes numbers.
  array_ref targets(const array_ref& arena, std::int64_t images) const;

  /// Enqueues everything between the images, which are in input(), and the changed weights.
  /// \param arena of rank 1, without gaps
  /// \param labels i32 [images]; not read where the task takes numbers, which has targets()
  void run(context_ref ctx, const array_ref& arena, const array_ref& labels, std::int64_t images) const;

 private:
  struct placed_layer {
    std::size_t first_parameter = 0;
    std::int64_t results = 0;  ///< where they begin in the arena; those of the whole batch fit
    bool is_computed = true;   ///< false: the loss is taken of what comes before
    activation activate = activation::none;
  };

  const description& net() const { return task_.plan.net(); }
  array_ref parameter_at(const array_ref& flat, std::size_t which) const;
  array_ref results(const array_ref& arena, std::size_t layer, std::int64_t images) const;
  /// What a layer reads: the results before it, or the images.
  array_ref source(const array_ref& arena, std::size_t layer, std::int64_t images) const;
  array_ref gradient(const array_ref& arena, std::size_t layer, std::int64_t images) const;

  void forward(context_ref ctx, const array_ref& arena, std::size_t layer, std::int64_t images) const;
  void take_loss(context_ref ctx, const array_ref& arena, const array_ref& labels, std::int64_t images) const;
  void take_distance(context_ref ctx, const array_ref& arena, std::int64_t images) const;
  void backward(context_ref ctx, const array_ref& arena, std::size_t layer, std::int64_t images) const;
  void divide(context_ref ctx, std::size_t layer) const;
  void change_weights(context_ref ctx) const;

  const training_task& task_;
  std::vector<placed_layer> layers_;
  std::size_t first_trained_ = 0;  ///< no gradient is needed before the first layer with weights
  std::size_t last_ = 0;           ///< the layer that the loss is taken of
  std::int64_t gradient_begin_ = 0, gradient_elements_ = 0;
  std::int64_t targets_begin_ = 0, square_begin_ = 0, arena_elements_ = 0;
};

}  // namespace prumo::nets
