// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a training computes, in higher precision and by the plainest loops: losses, gradients by the chain rule, their
/// derivatives along a direction by dual numbers, and the weights after some steps.

#include <prumo/nets/shapes.hpp>
#include <prumo/nets/training_types.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace prumo::nets {

/// Images and their labels.
struct labelled_images {
  std::span<const double> pixels;  ///< [images x channels x height x width]
  std::span<const std::uint8_t> labels;
};

/// What a batch tells. Weights and gradients are packed, in the order of net_facts::all_parameters().
struct batch_gradient {
  long double loss_sum = 0;  ///< over the images
  std::int64_t correct = 0;  ///< images whose first largest score is at their label
  /// Of the mean of the losses; for `original` of their sum, with its divisors.
  std::vector<long double> gradient;
};

/// Losses `softmax`, `sigmoid` and `original` are taken of the scores of the last dense layer, before its activation
/// and before a softmax layer. Of equal largest values in a window of maximum pooling the first one gets the gradient.
/// \throws description_error; std::invalid_argument for another number of weights or pixels
batch_gradient exact_gradient(const description& net, loss which, std::span<const long double> weights,
                              const labelled_images& batch);

/// The derivative of the sum of the losses of a batch, if the weights move along `direction`, by dual numbers
/// (Clifford, "Preliminary sketch of biquaternions", 1873): exact but for the rounding of double. It shares no code
/// with exact_gradient() behind the forward pass.
double directional_derivative(const description& net, loss which, std::span<const double> weights,
                              std::span<const double> direction, const labelled_images& batch);

/// The sum of the losses of a batch, in long double.
long double exact_loss(const description& net, loss which, std::span<const long double> weights,
                       const labelled_images& batch);

/// The operations on the longest way from a pixel through the net, back to a weight, and over all images. With K of
/// them a gradient is off by gamma(K) times the largest sum of magnitudes of the images' own gradients in its array.
double operations_on_longest_way(const net_facts& facts, std::int64_t images);

/// A training, step by step.
class reference_training {
 public:
  reference_training(const description& net, const training_options& options, std::span<const double> weights);

  /// Takes a step and returns what the batch told.
  batch_gradient step(const labelled_images& batch);

  [[nodiscard]] const std::vector<long double>& weights() const { return weights_; }

 private:
  description net_;
  training_options options_;
  std::vector<long double> weights_, first_moments_, second_moments_;
  std::int64_t steps_ = 0;
};

}  // namespace prumo::nets
