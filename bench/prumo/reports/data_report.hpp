// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"
#include <prumo/data/idx.hpp>
#include <prumo/data/net_file.hpp>
#include <prumo/data/safetensors.hpp>

#include <string>
#include <string_view>

namespace prumo::bench {

/// What a file of images holds: format, number and size, mean and deviation of the pixels, their digest.
[[nodiscard]] std::string images_report(std::string_view name, const data::image_set& images);

/// What a file of labels holds: format, how many of each class, their digest.
[[nodiscard]] std::string labels_report(std::string_view name, const data::label_set& labels);

/// A net's layers with their shapes, weights and flops.
[[nodiscard]] std::string net_report(const data::net& net, const text_style& style);

/// The arrays in a file of weights, and what is said about them.
[[nodiscard]] std::string tensors_report(std::string_view name, const data::tensor_file& file, const text_style& style);

}  // namespace prumo::bench
