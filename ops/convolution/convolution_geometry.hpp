// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The extents of a convolution, and which of its elements meet.

#include "pooling_problem.hpp"

#include <cstdint>

namespace prumo::backend {

using prumo::detail::window_range;

/// y = w * x. The extents of x are height and width, those of y are rows and columns.
struct convolution_geometry {
  std::int64_t images = 0;
  std::int64_t in_channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t out_channels = 0;
  std::int64_t filter_rows = 1;
  std::int64_t filter_columns = 1;
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;
  std::int64_t row_padding = 0;
  std::int64_t column_padding = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const convolution_geometry&) const = default;

  /// The weights of one output channel, which are the terms of one sum.
  KOKKOS_FUNCTION constexpr std::int64_t taps() const { return in_channels * filter_rows * filter_columns; }

  KOKKOS_FUNCTION constexpr bool is_padded() const { return row_padding > 0 || column_padding > 0; }

  /// The part of the filter that lies inside the image, at row `row` of the convolution.
  KOKKOS_FUNCTION window_range filter_rows_at(std::int64_t row) const {
    return part_inside(row * row_stride - row_padding, filter_rows, height);
  }
  KOKKOS_FUNCTION window_range filter_columns_at(std::int64_t column) const {
    return part_inside(column * column_stride - column_padding, filter_columns, width);
  }

  /// The rows of y that row `row` of x takes part in. Row i of them meets it with row `row` + padding - i stride of the
  /// filter.
  KOKKOS_FUNCTION window_range rows_of_element(std::int64_t row) const {
    return places_of_element(row + row_padding, filter_rows, row_stride, rows);
  }
  KOKKOS_FUNCTION window_range columns_of_element(std::int64_t column) const {
    return places_of_element(column + column_padding, filter_columns, column_stride, columns);
  }

  /// The rows of y where row `tap` of the filter lies inside the image.
  KOKKOS_FUNCTION window_range rows_of_tap(std::int64_t tap) const {
    return places_of_tap(row_padding - tap, height, row_stride, rows);
  }
  KOKKOS_FUNCTION window_range columns_of_tap(std::int64_t tap) const {
    return places_of_tap(column_padding - tap, width, column_stride, columns);
  }

 private:
  KOKKOS_FUNCTION static window_range part_inside(std::int64_t begin, std::int64_t length, std::int64_t extent) {
    const std::int64_t room = extent - begin;
    return {begin < 0 ? -begin : 0, room < length ? room : length};
  }
  KOKKOS_FUNCTION static window_range places_of_element(std::int64_t at, std::int64_t filter, std::int64_t stride,
                                                        std::int64_t extent) {
    const std::int64_t first = at - filter + 1, end = at / stride + 1;
    return {first > 0 ? (first + stride - 1) / stride : 0, end < extent ? end : extent};
  }
  KOKKOS_FUNCTION static window_range places_of_tap(std::int64_t lacking, std::int64_t length, std::int64_t stride,
                                                    std::int64_t extent) {
    const std::int64_t last = length - 1 + lacking;
    const std::int64_t end = last < 0 ? 0 : last / stride + 1;
    return {lacking > 0 ? (lacking + stride - 1) / stride : 0, end < extent ? end : extent};
  }
};

}  // namespace prumo::backend
