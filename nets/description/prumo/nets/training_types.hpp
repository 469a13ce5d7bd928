// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a net is trained, and how far the training is. Nothing here needs Kokkos.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::nets {

/// What a step makes smaller. Losses of a batch are means over its images, except `original`.
enum class loss : std::uint8_t {
  softmax,  ///< cross-entropy of softmax(scores)
  sigmoid,  ///< cross-entropy of sigmoid(scores), summed over the classes
  squared,  ///< half the sum of squares of results minus targets, 1 for the label and 0 elsewhere
  /// The one of the authors of mnist-2f: gradients are those of `sigmoid`, summed over the batch. Those of a first
  /// convolution are divided by the places of its filter (576 in mnist-2f), that of a shared filter's bias by the
  /// number of its results (216).
  original,
};

enum class optimizer : std::uint8_t { sgd, momentum, adam };

/// `softmax`, `sigmoid`, `squared`, `original`.
[[nodiscard]] constexpr std::string_view name_of(loss which) {
  constexpr std::string_view names[] = {"softmax", "sigmoid", "squared", "original"};
  return names[static_cast<std::size_t>(which)];
}
/// `sgd`, `momentum`, `adam`.
[[nodiscard]] constexpr std::string_view name_of(optimizer which) {
  constexpr std::string_view names[] = {"sgd", "momentum", "adam"};
  return names[static_cast<std::size_t>(which)];
}

struct training_options {
  nets::loss loss = nets::loss::softmax;
  nets::optimizer optimizer = nets::optimizer::sgd;
  double learning_rate = 0.1;
  double momentum = 0.9;    ///< of the optimizer `momentum`
  std::int64_t batch = 64;  ///< images of a step, at most all; the last step of an epoch takes those that are left
  std::uint64_t seed = 1;   ///< of the initial weights and of the order of images
  bool shuffle = true;      ///< false: every epoch takes the images as they lie
  /// `layers`, `fused`, `persistent`; empty for the first one that can train the net.
  std::string implementation = {};
};

/// How far a training is.
struct training_progress {
  std::int64_t epoch = 0;        ///< from 0; that of the latest step
  std::int64_t step = 0;         ///< steps of this epoch that are done
  std::int64_t steps_done = 0;   ///< of all epochs
  std::int64_t images_done = 0;  ///< of this epoch
  double loss_sum = 0;           ///< of these images, each with the weights at its step
  std::int64_t correct = 0;      ///< how many of them had the largest score at their label

  bool operator==(const training_progress&) const = default;
};

/// All that a training needs to go on as if it had not been interrupted. Numbers of f32 are exact in double.
struct training_state {
  std::vector<double> weights;  ///< without gaps, in the order of net_facts::all_parameters()
  /// As the weights: the velocity of `momentum`, the mean of `adam`; empty for `sgd`.
  std::vector<double> first_moments;
  std::vector<double> second_moments;  ///< as the weights: the mean square of `adam`; otherwise empty
  training_progress progress;
  double learning_rate = 0;

  bool operator==(const training_state&) const = default;
};

}  // namespace prumo::nets
