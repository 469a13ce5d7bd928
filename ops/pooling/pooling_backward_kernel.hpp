// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of the gradients of windows over images.
///
/// Windows that do not overlap cut the image into cells: each begins where its window begins and ends where the next
/// one does. A cell is written by what computes its window. Elements of other windows gather from all that cover them.

#include "plane_walk.hpp"
#include "pooling_problem.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace prumo::detail {

/// x is not read for means.
template <class T>
struct pooling_backward_problem {
  image_array<const T> x;
  image_array<const T> dy;
  image_array<T> dx;
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;  ///< of dx
  std::int64_t width = 0;
  std::int64_t rows = 0;  ///< of dy
  std::int64_t columns = 0;
  pooling_window window;

  KOKKOS_FUNCTION window_range rows_of_window(std::int64_t row) const {
    return {row, window.row_stride, window.row_padding, window.height, height};
  }
  KOKKOS_FUNCTION window_range columns_of_window(std::int64_t column) const {
    return {column, window.column_stride, window.column_padding, window.width, width};
  }
};

/// Whether no element lies in two windows. The places in a window are then counted with 32 bits.
constexpr bool are_windows_apart(const pooling_window& window) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return window.height <= window.row_stride && window.width <= window.column_stride && window.height <= most &&
         window.width <= most / window.height;
}

/// The number of cells along one side: every element lies in one.
constexpr std::int64_t cells_along(std::int64_t extent, std::int64_t stride, std::int64_t padding) {
  return (extent + padding + stride - 1) / stride;
}

/// The windows that cover a place along one side: [begin, end).
KOKKOS_FORCEINLINE_FUNCTION window_range windows_that_cover(std::int64_t place, std::int64_t stride,
                                                            std::int64_t padding, std::int64_t length,
                                                            std::int64_t windows) {
  const std::int64_t beyond = place + padding - length;
  const std::int64_t begin = beyond < 0 ? 0 : beyond / stride + 1;
  const std::int64_t end = (place + padding) / stride + 1;
  return {begin, end < windows ? end : windows};
}

/// Whether a value takes the place of the largest one before it, in the order of the window: it is larger, or the first
/// NaN. Both comparisons are made, so that loops can be vectorised.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION bool is_larger_or_nan(C value, C before) {
  const bool is_no_larger = value <= before;
  const bool is_number = before == before;  // NOLINT(misc-redundant-expression)
  return !is_no_larger & is_number;         // NOLINT(hicpp-signed-bitwise)
}

struct place_in_image {
  std::int64_t row;
  std::int64_t column;
};

/// The place of the first of the largest elements of a window.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C, class T>
KOKKOS_FORCEINLINE_FUNCTION place_in_image first_of_largest(const T* plane, std::int64_t row_stride,
                                                            std::int64_t column_stride, window_range rows,
                                                            window_range columns) {
  place_in_image place{rows.begin, columns.begin};
  C largest = static_cast<C>(plane[rows.begin * row_stride + columns.begin * column_stride]);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      const C value = static_cast<C>(plane[r * row_stride + c * column_stride]);
      if (is_larger_or_nan(value, largest)) {
        largest = value;
        place = {r, c};
      }
    }
  }
  return place;
}

/// An element of dx, from all windows that cover it.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <pooling_kind Kind, class T>
KOKKOS_FORCEINLINE_FUNCTION compute_t<T> gathered_gradient(const pooling_backward_problem<T>& problem,
                                                           std::int64_t image, std::int64_t channel, std::int64_t r,
                                                           std::int64_t c) {
  using C = compute_t<T>;
  const pooling_window& window = problem.window;
  const window_range over = windows_that_cover(r, window.row_stride, window.row_padding, window.height, problem.rows);
  const window_range across =
      windows_that_cover(c, window.column_stride, window.column_padding, window.width, problem.columns);
  const T* const dy = problem.dy.plane(image, channel);
  C sum(0);
  for (std::int64_t i = over.begin; i < over.end; ++i) {
    const window_range rows = problem.rows_of_window(i);
    for (std::int64_t j = across.begin; j < across.end; ++j) {
      const window_range columns = problem.columns_of_window(j);
      const C gradient = static_cast<C>(dy[i * problem.dy.row_stride + j * problem.dy.column_stride]);
      if constexpr (Kind == pooling_kind::maximum) {
        const place_in_image place = first_of_largest<C>(problem.x.plane(image, channel), problem.x.row_stride,
                                                         problem.x.column_stride, rows, columns);
        sum = sum + (place.row == r && place.column == c ? gradient : C(0));
      } else {
        sum = sum + gradient / C(static_cast<plain_scalar_t<C>>(rows.length() * columns.length()));
      }
    }
  }
  return sum;
}

/// On a device a thread takes one element.
template <pooling_kind Kind, class T>
class pooling_gather_device_kernel {
 public:
  explicit pooling_gather_device_kernel(const pooling_backward_problem<T>& problem)
      : problem_(problem),
        walk_(problem.images, problem.channels, problem.height, problem.width,
              problem.dx.channel_stride == 1 && problem.dx.column_stride != 1) {}

  std::int64_t blocks() const { return walk_.blocks(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto at = walk_.at(index);
    problem_.dx.plane(at.image, at.channel)[at.row * problem_.dx.row_stride + at.column * problem_.dx.column_stride] =
        static_cast<T>(gathered_gradient<Kind>(problem_, at.image, at.channel, at.row, at.column));
  }

 private:
  pooling_backward_problem<T> problem_;
  plane_walk walk_;
};

/// On a device a thread takes one cell.
template <pooling_kind Kind, class T>
class pooling_cells_device_kernel {
  using C = compute_t<T>;

 public:
  explicit pooling_cells_device_kernel(const pooling_backward_problem<T>& problem)
      : problem_(problem),
        walk_(problem.images, problem.channels,
              cells_along(problem.height, problem.window.row_stride, problem.window.row_padding),
              cells_along(problem.width, problem.window.column_stride, problem.window.column_padding),
              problem.dx.channel_stride == 1 && problem.dx.column_stride != 1) {}

  std::int64_t blocks() const { return walk_.blocks(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto at = walk_.at(index);
    const pooling_window& window = problem_.window;
    C gradient(0);
    // Without a window, or outside of it, there is no such place.
    place_in_image place{-1, -1};
    window_range rows(0, 0), columns(0, 0);
    if (at.row < problem_.rows && at.column < problem_.columns) {
      rows = problem_.rows_of_window(at.row);
      columns = problem_.columns_of_window(at.column);
      gradient = static_cast<C>(problem_.dy.plane(
          at.image, at.channel)[at.row * problem_.dy.row_stride + at.column * problem_.dy.column_stride]);
      if constexpr (Kind == pooling_kind::maximum) {
        place = first_of_largest<C>(problem_.x.plane(at.image, at.channel), problem_.x.row_stride,
                                    problem_.x.column_stride, rows, columns);
      } else {
        gradient = gradient / C(static_cast<C>(rows.length() * columns.length()));
      }
    }
    const window_range cell_rows(at.row, window.row_stride, window.row_padding, window.row_stride, problem_.height);
    const window_range cell_columns(at.column, window.column_stride, window.column_padding, window.column_stride,
                                    problem_.width);
    T* const to = problem_.dx.plane(at.image, at.channel);
    for (std::int64_t r = cell_rows.begin; r < cell_rows.end; ++r) {
      for (std::int64_t c = cell_columns.begin; c < cell_columns.end; ++c) {
        bool gets_gradient = r == place.row && c == place.column;
        if constexpr (Kind == pooling_kind::mean) gets_gradient = r < rows.end && c < columns.end;
        to[r * problem_.dx.row_stride + c * problem_.dx.column_stride] =
            static_cast<T>(gets_gradient ? gradient : C(0));
      }
    }
  }

 private:
  pooling_backward_problem<T> problem_;
  plane_walk walk_;
};

}  // namespace prumo::detail
