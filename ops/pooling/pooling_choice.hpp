// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Translates a choice of the cases of pooling.

#include "pooling_kernel.hpp"
#include <prumo/case/specification.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::cases {

using prumo::detail::window_range;

inline pooling_window window_of(const parameters& values) {
  const auto whole = [&](const char* name) { return static_cast<std::int64_t>(values.at(name)); };
  const bool up = values.at("round_up") != 0;
  return {whole("window"),
          whole("window"),
          whole("stride"),
          whole("stride"),
          whole("padding"),
          whole("padding"),
          up ? window_rounding::up : window_rounding::down};
}

/// Images, windows and results of a choice.
struct pooling_choice {
  std::int64_t images, channels, height, width;
  pooling_window window;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  pooling_choice(const shape& extents, const parameters& values)
      : images(extents.at("images")),
        channels(extents.at("channels")),
        height(extents.at("height")),
        width(extents.at("width")),
        window(window_of(values)) {
    if (!is_valid_window()) return;
    rows = pooled_extent(height, window.height, window.row_stride, window.row_padding, window.rounding);
    columns = pooled_extent(width, window.width, window.column_stride, window.column_padding, window.rounding);
  }

  bool is_valid_window() const {
    return window.height >= 1 && window.row_stride >= 1 && window.row_padding >= 0 &&
           window.row_padding < window.height;
  }
  bool is_valid() const { return height > 0 && width > 0 && rows > 0 && columns > 0; }

  window_range row_range(std::int64_t row) const {
    return {row, window.row_stride, window.row_padding, window.height, height};
  }
  window_range column_range(std::int64_t column) const {
    return {column, window.column_stride, window.column_padding, window.width, width};
  }

  /// The number of elements in all windows of one plane.
  std::uint64_t window_elements() const { return static_cast<std::uint64_t>(lengths_of_rows() * lengths_of_columns()); }

  /// The sum of the squares of the numbers of elements of all windows of one plane.
  std::uint64_t squares_of_window_elements() const {
    std::uint64_t of_rows = 0, of_columns = 0;
    for (std::int64_t row = 0; row < rows; ++row) of_rows += square(row_range(row).length());
    for (std::int64_t column = 0; column < columns; ++column) of_columns += square(column_range(column).length());
    return of_rows * of_columns;
  }

  /// The host's kernel joins the rows of each row of windows, for the columns that windows need, and then the columns
  /// of each window. It takes a stretch of windows at once.
  std::uint64_t joins() const {
    if (!is_valid()) return 0;
    const std::int64_t stretch = prumo::detail::windows_at_once(window);
    std::int64_t used = 0;
    for (std::int64_t begin = 0; begin < columns; begin += stretch) {
      used += column_range(std::min(columns, begin + stretch) - 1).end - column_range(begin).begin;
    }
    return static_cast<std::uint64_t>((lengths_of_rows() - rows) * used + rows * (lengths_of_columns() - columns));
  }

 private:
  static std::uint64_t square(std::int64_t length) { return static_cast<std::uint64_t>(length * length); }
  std::int64_t lengths_of_rows() const {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += row_range(row).length();
    return sum;
  }
  std::int64_t lengths_of_columns() const {
    std::int64_t sum = 0;
    for (std::int64_t column = 0; column < columns; ++column) sum += column_range(column).length();
    return sum;
  }
};

/// Axes, parameters and shapes that the cases of pooling and of its gradients have in common.
inline void add_pooling_axes(case_info& info) {
  info.axes = {{"images", "images of x", 0},
               {"channels", "channels of an image", 6},
               {"height", "rows of an image", 44},
               {"width", "columns of an image", 44}};
  info.values = {{"window", "rows and columns of a window", 2, nullptr, {1, 3, 5, 0}},
                 {"stride", "the distance of neighbouring windows", 2, nullptr, {1, 3, 0}},
                 {"padding", "rows and columns that are added at each side", 0, nullptr, {1, 2}},
                 {"round_up", "1: windows that are partly outside count, too", 0, nullptr, {1}}};
  info.test_shapes = {{{"images", 0}, {"channels", 3}, {"height", 5}, {"width", 5}},
                      {{"images", 3}, {"channels", 2}, {"height", 1}, {"width", 1}},
                      {{"images", 1}, {"channels", 1}, {"height", 0}, {"width", 7}},
                      {{"images", 2}, {"channels", 3}, {"height", 5}, {"width", 6}},
                      {{"images", 1}, {"channels", 5}, {"height", 34}, {"width", 17}},
                      {{"images", 2}, {"channels", 1}, {"height", 3}, {"width", 2100}},
                      {{"images", 5}, {"channels", 7}, {"height", 27}, {"width", 33}}};
}

}  // namespace prumo::cases
