// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "inference/net_data.hpp"
#include "terminal/progress.hpp"
#include <prumo/data/data_folder.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/protocol/net_messages.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// Which net runs, on what.
struct net_choice {
  std::string net = "lenet5";  ///< a name, or a JSON file
  std::string weights;         ///< a safetensors file; empty: those that prumo has for the net, or random ones
  std::string data;            ///< a folder, or a file of images; empty: digits that prumo draws
  std::string labels;          ///< the labels of a file of images; empty: by the usual name beside it
  std::int64_t digits = 0;     ///< how many are drawn; 0: the usual number
  std::uint64_t seed = 1;      ///< of random weights
};

/// A net with the files of its data and weights, all of which exist and fit together. Images and weights that the user
/// does not name are generated and written into a temporary folder, so that all workers read the same bytes.
class net_inputs {
 public:
  /// \param folders those of worker_folders()
  /// \throws file_error that names the file, the place and the remedy; program_error where nothing can be drawn for the
  ///         net
  net_inputs(const net_choice& choice, std::span<const std::string> folders, progress& shown);

  [[nodiscard]] const data::net& net() const { return net_; }
  [[nodiscard]] std::int64_t images() const { return images_; }
  [[nodiscard]] const std::string& weights_sha256() const { return weights_sha256_; }
  /// Of pixels and labels together.
  [[nodiscard]] const std::string& data_sha256() const { return data_sha256_; }
  /// Of the text of the net's file.
  [[nodiscard]] const std::string& net_sha256() const { return net_sha256_; }

  /// What was taken, a sentence each: the net, the images, the weights, and what the accuracy tells.
  [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }

  /// The request that opens the net, without device, type and batch.
  [[nodiscard]] protocol::open_request request() const;

 private:
  void take_data(const net_choice& choice, progress& shown);
  void take_weights(const net_choice& choice, std::span<const std::string> folders);
  void write_random_weights(std::uint64_t seed);
  std::string temporary(const std::string& name);

  data::net net_;
  std::string net_text_;
  data::data_files files_;
  std::string weights_;
  bool draws_digits_ = false;
  std::int64_t images_ = 0;
  std::string weights_sha256_, data_sha256_, net_sha256_;
  std::vector<std::string> taken_;
  std::optional<temporary_folder> folder_;
};

}  // namespace prumo::bench
