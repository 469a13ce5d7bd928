// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net that computes: which operations its layers become, and where their arrays lie.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/convolution.hpp>
#include <prumo/nets/description.hpp>
#include <prumo/nets/shapes.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::nets {

/// An array of weights, and its first element in the array of all weights.
struct placed_parameter {
  parameter what;
  std::int64_t offset = 0;
};

/// What a net computes of a batch of images, step by step. A step is a layer, or a convolution with the pooling behind
/// it. The plan owns no memory and waits for nothing: it enqueues operations on the caller's context, with the caller's
/// arrays.
///
///     const nets::forward_plan plan(nets::named_net("lenet5"), dtype::f32);
///     Kokkos::View<float*> weights("weights", plan.weights_elements()), arena("arena", plan.arena_elements(images));
///     plan.run(ctx, x, weights, arena, scores);
class forward_plan {
 public:
  /// \param type of all arrays: f32, f64, f16 or bf16
  /// \throws description_error for a net that cannot be, argument_error for another type
  forward_plan(const description& net, dtype type);

  const description& net() const { return net_; }
  const net_facts& facts() const { return facts_; }
  dtype type() const { return type_; }

  /// The arrays of weights in order. Each begins at a multiple of 128 bytes in the array of all, so that libraries may
  /// load it in whole vectors. What lies between them is not used.
  std::span<const placed_parameter> parameters() const { return parameters_; }

  /// The elements of the array of all weights.
  std::int64_t weights_elements() const { return weights_elements_; }

  /// The elements of the array for results between layers, for a batch of images.
  std::int64_t arena_elements(std::int64_t images) const { return 2 * half_elements_ * images; }

  std::size_t steps() const { return steps_.size(); }
  /// `conv1+pool1`, `dense2`.
  const std::string& step_name(std::size_t step) const { return steps_[step].name; }
  /// The layers of a step: [first, last) of the description.
  std::pair<std::size_t, std::size_t> step_layers(std::size_t step) const;

  /// Enqueues all steps.
  /// \param x [images x channels x height x width], of any strides; where the first layer is dense or a shared
  ///        convolution, an image lies in memory without gaps
  /// \param weights, arena arrays of rank 1 without gaps, as large as said above, or larger
  /// \param y [images x classes]; where no layer is dense, [images x channels x height x width]
  /// \throws argument_error and shape_error for arrays that do not fit; what the operations throw
  void run(context_ref ctx, const array_ref& x, const array_ref& weights, const array_ref& arena,
           const array_ref& y) const;

  /// Enqueues what reads images of bytes: the first step, where its operation takes bytes, and their conversion to
  /// numbers elsewhere. A byte b becomes the number b / 255. run_from() enqueues the other steps.
  /// \param bytes [images x channels x height x width] of std::uint8_t, without gaps, in memory that begins and ends at
  ///        multiples of 16 bytes
  /// \param numbers an array of the plan's type and the same extents, for the images
  /// \return the number of steps that are done, 0 or 1
  std::size_t take_bytes(context_ref ctx, const array_ref& bytes, const array_ref& numbers, const array_ref& weights,
                         const array_ref& arena, const array_ref& y) const;

  /// Enqueues the steps from `step` on. Those before have been enqueued.
  void run_from(context_ref ctx, std::size_t step, const array_ref& x, const array_ref& weights, const array_ref& arena,
                const array_ref& y) const;

  /// Enqueues one step. It reads x or what the step before left in the arena.
  void run_step(context_ref ctx, std::size_t step, const array_ref& x, const array_ref& weights, const array_ref& arena,
                const array_ref& y) const;

  /// Where a step leaves its results for a batch: in the arena, until the step after the next one runs; the last step
  /// in y.
  array_ref step_result(std::size_t step, std::int64_t images, const array_ref& arena, const array_ref& y) const {
    return step + 1 == steps_.size() ? y : between(arena, step, images);
  }

 private:
  struct planned_step {
    std::string name;
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t first_parameter = 0;
  };
  struct step_arrays;

  void check_arrays(const array_ref& x, const array_ref& weights, const array_ref& arena, const array_ref& y) const;
  void enqueue_step(context_ref ctx, std::size_t step, const array_ref& x, const array_ref& weights,
                    const array_ref& arena, const array_ref& y) const;
  void enqueue(context_ref ctx, const planned_step& which, const step_arrays& arrays) const;
  /// The bias and the form of a step that is a convolution, with the pooling behind it.
  convolution_options options_of(const planned_step& which, const convolution& of, const array_ref& weights) const;
  array_ref weight(const array_ref& weights, std::size_t which) const;
  array_ref between(const array_ref& arena, std::size_t step, std::int64_t images) const;

  description net_;
  net_facts facts_;
  dtype type_;
  std::vector<placed_parameter> parameters_;
  std::int64_t weights_elements_ = 0;
  std::int64_t half_elements_ = 0;  ///< of each half of the arena, for one image
  std::vector<planned_step> steps_;
};

}  // namespace prumo::nets
