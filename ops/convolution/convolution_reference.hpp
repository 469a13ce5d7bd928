// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the case of a convolution and its reference share.

#include "convolution_problem.hpp"
#include <prumo/case/operation_case.hpp>

#include <vector>

namespace prumo::cases {

/// Images, filters and options of a choice.
struct convolution_choice {
  std::int64_t images, in_channels, height, width, out_channels, filter_rows, filter_columns;
  std::int64_t stride, padding;
  bool has_bias;
  activation_function activation;
  convolution_pooling pooling;
  pooling_window window;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t y_rows = 0;
  std::int64_t y_columns = 0;

  convolution_choice(const shape& extents, const parameters& values);
  explicit convolution_choice(const specification& choice) : convolution_choice(choice.shape, choice.values) {}

  /// The place of y among the arrays of a call: x, w, the bias if there is one, y.
  std::size_t place_of_y() const { return has_bias ? 3 : 2; }

  /// Why the operation refuses it, or an empty string.
  std::string why_invalid() const;

  /// The pairs of an element of the image and a weight of one filter plane that meet, over all places.
  std::uint64_t meetings() const;

  /// The problem without its arrays.
  template <class T>
  backend::convolution_problem<T> problem() const;

  flop_counts counts() const;
};

/// Appends the entries of image and channel number `part`.
void append_convolution_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                  std::vector<reference_entry>& out);

template <class T>
backend::convolution_problem<T> convolution_choice::problem() const {
  backend::convolution_problem<T> result;
  result.images = images;
  result.in_channels = in_channels;
  result.height = height;
  result.width = width;
  result.out_channels = out_channels;
  result.filter_rows = filter_rows;
  result.filter_columns = filter_columns;
  result.row_stride = result.column_stride = stride;
  result.row_padding = result.column_padding = padding;
  result.rows = rows;
  result.columns = columns;
  result.activation = activation;
  result.pooling = pooling;
  result.window = window;
  result.y_rows = y_rows;
  result.y_columns = y_columns;
  return result;
}

}  // namespace prumo::cases
