// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "inference/net_data.hpp"
#include "terminal/progress.hpp"
#include "training/training_options.hpp"
#include <prumo/data/data_folder.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::bench {

/// Which net is trained, on what.
struct training_choice {
  std::string net = "lenet5";  ///< a name, or a JSON file
  std::string data;            ///< a folder with images for training and for tests; empty: digits that prumo draws
  std::int64_t digits = 0;     ///< how many are drawn for training; 0: the usual number
  std::string weights;         ///< a safetensors file to begin with; empty: random ones
};

/// A net with the files of its data and the weights that its training begins with, all of which fit together. What the
/// user does not name is generated and written into a temporary folder, so that all workers read the same bytes.
class training_inputs {
 public:
  /// \throws file_error that names the file, the place and the remedy; program_error where nothing can be drawn for the
  ///         net; interrupted
  training_inputs(const training_choice& choice, const training_recipe& recipe, progress& shown);

  [[nodiscard]] const data::net& net() const { return net_; }
  [[nodiscard]] std::int64_t train_images() const { return train_images_; }
  [[nodiscard]] std::int64_t test_images() const { return test_images_; }
  /// Of all pixels and labels of the training images, then of the test images.
  [[nodiscard]] const std::string& data_sha256() const { return data_sha256_; }
  [[nodiscard]] const std::string& net_sha256() const { return net_sha256_; }
  /// Of the file of weights that the training begins with.
  [[nodiscard]] const std::string& weights_sha256() const { return weights_sha256_; }

  /// Whether prumo drew the images.
  [[nodiscard]] bool draws_digits() const { return draws_digits_; }

  /// What was taken, a sentence each.
  [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }

  /// The request that opens the training, without device, type, batch and implementation.
  [[nodiscard]] protocol::open_request request(const training_recipe& recipe) const;
  /// The request that opens the net on the test images with weights of a file, without device, type and batch.
  [[nodiscard]] protocol::open_request test_request(const std::string& weights) const;

 private:
  void take_data(const training_choice& choice, progress& shown);
  void take_weights(const training_choice& choice, const training_recipe& recipe);

  data::net net_;
  std::string net_text_;
  temporary_folder folder_;
  data::data_files train_, test_;
  std::string weights_;
  std::int64_t train_images_ = 0, test_images_ = 0;
  bool draws_digits_ = false;
  std::string data_sha256_, net_sha256_, weights_sha256_;
  std::vector<std::string> taken_;
};

}  // namespace prumo::bench
