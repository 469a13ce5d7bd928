// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/safetensors.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace prumo::data {

/// A file of weights, and what results say about it.
struct weights_file {
  std::string path;
  std::string sha256;  ///< of its bytes; of the inflated ones, where the file is compressed
  tensor_file tensors;

  /// What the file says about itself, where it does.
  std::string trained_on;                 ///< the data, such as `digits`; may be empty
  std::optional<double> stated_accuracy;  ///< the share of test images that are recognized, from 0 to 1
};

/// Reads a file of weights. weights_for() takes a net's weights from its arrays.
/// \throws bench::file_error as read_tensors()
[[nodiscard]] weights_file read_weights(const std::string& path);

/// Finds the weights that prumo ships for a net: `weights/NET-DATA.safetensors` in one of the folders, or in
/// `../share/prumo` beside one of them, where they are installed.
/// \param folders as the front-end searches them for workers; the first match wins
/// \param data what the weights were trained on; `digits` are those of generate_digits(), with its default options
/// \return the path; empty if there are none
[[nodiscard]] std::string find_weights(std::string_view net, std::span<const std::string> folders,
                                       std::string_view data = "digits");

}  // namespace prumo::data
