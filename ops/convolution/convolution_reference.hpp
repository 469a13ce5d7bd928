// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the case of a convolution and its reference share.

#include "convolution_problem.hpp"
#include "filter_choice.hpp"
#include <prumo/case/operation_case.hpp>

#include <vector>

namespace prumo::cases {

/// Images, filters and options of a choice.
struct convolution_choice : filter_choice {
  activation_function activation;
  convolution_pooling pooling;
  pooling_window window;
  std::int64_t y_rows = 0;
  std::int64_t y_columns = 0;

  convolution_choice(const shape& extents, const parameters& values);
  explicit convolution_choice(const specification& choice) : convolution_choice(choice.shape, choice.values) {}

  std::vector<std::int64_t> y_extents() const { return {images, out_channels, y_rows, y_columns}; }
  /// The place of y among the arrays of a call: x, w, the bias if there is one, y.
  std::size_t place_of_y() const { return has_bias ? 3 : 2; }

  /// Why the operation refuses it, or an empty string.
  std::string why_invalid() const;

  flop_counts counts() const;
};

/// Appends the entries of image and channel number `part`.
void append_convolution_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                  std::vector<reference_entry>& out);

}  // namespace prumo::cases
