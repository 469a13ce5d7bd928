// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A net that learns, on a caller's instance.

#include <prumo/array_ref.hpp>
#include <prumo/context.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/training_types.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace prumo::nets {

/// Trains a net with stochastic gradient descent. It owns the training set on the device, weights, gradients and all
/// memory between them. Everything is enqueued on the instance of the caller's context, in the order of its other work.
/// Only functions that say so wait for it. Temporaries lie in a workspace of its own, because recorded steps point
/// there.
///
/// The same arguments give the same weights, bit by bit: whatever the number of threads, and however the steps are
/// divided among calls of advance(), state() and restore().
///
///     nets::trainer<Kokkos::Cuda> training(ctx, nets::named_net("lenet5"), dtype::f32, {.batch = 64}, pixels, labels);
///     training.initialize();
///     training.advance(training.steps_per_epoch());
///     const nets::training_progress now = training.progress();
template <class Exec>
class trainer {
 public:
  /// Waits. The weights are zeros until initialize(), set_weights() or restore() sets them.
  /// \param owner its instance has to outlive this object
  /// \param type f32 or f64
  /// \param pixels images [channels x height x width], one after the other; a byte b is the number b / 255
  /// \param labels a class for each image
  /// \throws description_error for a net that cannot be; argument_error for another type, options, images or labels
  ///         that do not fit, and a net that ends without a dense layer; unsupported_error with the reasons if no
  ///         implementation, or not the one that options name, can train the net
  trainer(context<Exec>& owner, const description& net, dtype type, const training_options& options,
          std::span<const std::uint8_t> pixels, std::span<const std::uint8_t> labels);

  /// For nets that learn numbers instead of classes: targets(i) is what the net shall make of x(i). The loss is
  /// `squared`, and no answer counts as correct. The arrays are the caller's. Steps read them in the order of the
  /// instance's work, so the caller may enqueue kernels that write new elements between calls of advance(). Waits.
  /// \param x [images x channels x height x width] of f32 or f64, in rows without gaps. Its type is that of the net
  /// \param targets of the same type, in rows without gaps: for each image as many numbers as the last layer has
  /// \throws as above; argument_error for another loss, shape_error for arrays that do not fit
  trainer(context<Exec>& owner, const description& net, const training_options& options, const array_ref& x,
          const array_ref& targets);
  ~trainer();
  trainer(trainer&&) noexcept;
  trainer& operator=(trainer&&) noexcept;

  /// Sets the weights to random numbers that follow from the seed (docs/random.md): uniform in (-1/2, 1/2) for the
  /// loss `original`, and otherwise in (-b, b) with b = 1/sqrt(inputs of a sum). The training begins anew. Waits.
  void initialize();

  /// Sets the weights: without gaps, in the order of net_facts::all_parameters(). The training begins anew. Waits.
  /// \throws argument_error for another number of weights
  void set_weights(std::span<const double> packed);

  /// The weights, as set_weights() takes them. Waits.
  std::vector<double> weights() const;

  /// The weights where they lie, as forward_plan::run() takes them. Their steps run in the order of the instance.
  array_ref device_weights() const;
  /// The forward pass of the net, for device_weights().
  const forward_plan& plan() const;
  const net_facts& facts() const { return plan().facts(); }

  /// Enqueues steps, across the ends of epochs.
  void advance(std::int64_t steps);

  /// How far the training is. Waits.
  training_progress progress() const;

  /// Enqueues that the steps that follow have another learning rate.
  void set_learning_rate(double rate);

  /// What a checkpoint needs. Waits.
  training_state state() const;
  /// Goes on from a state of a training with the same net, type, set and options. Waits.
  /// \throws argument_error for a state that does not fit
  void restore(const training_state& from);

  std::int64_t steps_per_epoch() const;
  const training_options& options() const;
  /// `layers`, `fused`, `persistent`.
  std::string_view implementation() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The names of the ways in which steps are taken on a space, in the order in which they are tried.
template <class Exec>
std::vector<std::string_view> training_implementations();

}  // namespace prumo::nets
