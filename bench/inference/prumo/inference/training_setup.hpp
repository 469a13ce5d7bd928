// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a training needs beside a device: its files, its checkpoints, and the comparison of a step with the reference.

#include <prumo/data/checkpoint.hpp>
#include <prumo/inference/net_files.hpp>
#include <prumo/nets/training_types.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::inference {

/// The files of a training, and how it goes.
struct training_setup {
  net_files files;                      ///< net, training images and labels
  data::labelled_images test;           ///< the test images
  std::vector<double> initial_weights;  ///< packed, as they are in their file
  nets::training_options options;
  std::string type;                  ///< `f32`, `f64`
  data::checkpoint::texts identity;  ///< of checkpoints
};

/// Reads and checks what the request names.
/// \throws bench::file_error that names the file, the place and the remedy; request_error (usage) for an unknown loss
/// or
///         optimizer
[[nodiscard]] training_setup read_training_setup(const protocol::open_request& request);

/// A net like this one that ends with the scores of its last dense layer, for losses that are taken of them: without a
/// softmax, and without the activation of the last dense layer. The same net for the loss `squared`.
[[nodiscard]] nets::description scoring_net(const nets::description& net, nets::loss loss);

/// The loss of an image by its scores, or by its results for the loss `squared`; not scaled.
[[nodiscard]] double loss_of_image(nets::loss loss, std::span<const double> scores, std::size_t label);

/// The state of a training as arrays of a checkpoint: weights under their names, moments under `optimizer.`, the rest
/// under `state.`.
/// \param type of weights and moments: `f32`, `f64`
[[nodiscard]] std::vector<data::tensor> arrays_of(const nets::training_state& state, const nets::net_facts& facts,
                                                  std::string_view type);
/// The other way round. \pre the arrays have the names, types and shapes that arrays_of() gives them
[[nodiscard]] nets::training_state state_of(const data::checkpoint& from, const nets::net_facts& facts);

/// What a step made of the weights `before`, for the comparison with the reference.
struct computed_step {
  std::vector<double> before;  ///< packed weights
  nets::training_state after;  ///< of a training that began with them, after one step
  std::vector<double> pixels;  ///< numbers of its images, in the order of the step
  std::vector<std::uint8_t> labels;
  bool is_whole = true;  ///< whether these are all images of a step
};

/// Holds the gradient that the step used against the one that follows without rounding, and the change of the weights
/// against what the optimizer makes of that gradient.
///
/// The gradient of a weight is a sum over the images. Computed in any order with unit roundoff u, it is off by no more
/// than gamma(K) = (1 - u)^-K - 1 times the sum of the magnitudes of its terms (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd edition, section 4.2, whose K u / (1 - K u) is no less). K counts the operations on the
/// longest way from a pixel to the weight's sum. The magnitudes are those of the images' own gradients, the largest in
/// the weight's array: errors of the layers above spread within a layer, and a result so near to a kink that rounding
/// moves it to the other side changes an image's gradient, not those of all.
[[nodiscard]] protocol::check_answer compare_step(const data::net& net, const nets::training_options& options,
                                                  std::string_view type, const computed_step& step);

}  // namespace prumo::inference
