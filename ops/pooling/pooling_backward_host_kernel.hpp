// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of windows over images on a host. A block takes some rows of elements, or of cells, of one plane.

#include "pooling_backward_kernel.hpp"
#include "square_gradients.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a block takes at least, in elements.
inline constexpr std::int64_t pooling_backward_block = 16384;

/// A part of the rows of a plane for each block.
struct rows_of_planes {
  std::int64_t channels, rows, rows_of_block, blocks_of_plane, count;

  static rows_of_planes of(std::int64_t images, std::int64_t channels, std::int64_t rows,
                           std::int64_t elements_of_row) {
    const std::int64_t at_once =
        std::clamp<std::int64_t>(pooling_backward_block / (elements_of_row + 1), 1, std::max<std::int64_t>(1, rows));
    const std::int64_t of_plane = (rows + at_once - 1) / at_once;
    return {channels, rows, at_once, of_plane, images * channels * of_plane};
  }

  std::int64_t image(std::int64_t block) const { return block / blocks_of_plane / channels; }
  std::int64_t channel(std::int64_t block) const { return block / blocks_of_plane % channels; }
  std::int64_t first(std::int64_t block) const { return block % blocks_of_plane * rows_of_block; }
  std::int64_t last(std::int64_t block) const { return std::min(rows, first(block) + rows_of_block); }
};

/// Elements that gather from several windows.
template <pooling_kind Kind, class T>
class pooling_gather_host_kernel {
 public:
  explicit pooling_gather_host_kernel(const pooling_backward_problem<T>& problem)
      : problem_(problem),
        share_(rows_of_planes::of(problem.images, problem.channels, problem.height, problem.width)) {}

  std::int64_t blocks() const { return share_.count; }

  void operator()(std::int64_t block) const {
    const std::int64_t image = share_.image(block), channel = share_.channel(block);
    T* const to = problem_.dx.plane(image, channel);
    for (std::int64_t r = share_.first(block); r < share_.last(block); ++r) {
      for (std::int64_t c = 0; c < problem_.width; ++c) {
        to[r * problem_.dx.row_stride + c * problem_.dx.column_stride] =
            static_cast<T>(gathered_gradient<Kind>(problem_, image, channel, r, c));
      }
    }
  }

 private:
  pooling_backward_problem<T> problem_;
  rows_of_planes share_;
};

/// Windows that do not overlap, a stretch of a row of windows at a time: the place of the largest element of each, and
/// then the rows of their cells. Squares of two by two are those of square_gradients.hpp instead.
template <pooling_kind Kind, class T>
class pooling_cells_host_kernel {
  using C = compute_t<T>;
  using P = plain_scalar_t<C>;
  static constexpr std::int64_t most_cells = 512;
  static constexpr bool has_vectors = std::is_floating_point_v<C>;
  /// Windows that are compared side by side. Scalars that count have one, so that no filling is counted.
  static constexpr std::int64_t lanes = has_vectors ? 16 : 1;

 public:
  explicit pooling_cells_host_kernel(const pooling_backward_problem<T>& problem)
      : problem_(problem),
        cells_(cells_along(problem.width, problem.window.column_stride, problem.window.column_padding)),
        share_(rows_of_planes::of(problem.images, problem.channels,
                                  cells_along(problem.height, problem.window.row_stride, problem.window.row_padding),
                                  problem.width * problem.window.row_stride)) {
    const pooling_window& window = problem.window;
    first_whole_ = (window.column_padding + window.column_stride - 1) / window.column_stride;
    const std::int64_t last_begin = problem.width + window.column_padding - window.width;
    last_whole_ = last_begin < 0 ? 0 : std::min(problem.columns, last_begin / window.column_stride + 1);
    const bool are_squares = window.height == 2 && window.width == 2 && window.row_stride == 2 &&
                             window.column_stride == 2 && window.row_padding == 0 && window.column_padding == 0;
    are_squares_ = has_vectors && are_squares && problem.dy.column_stride == 1 && problem.dx.column_stride == 1 &&
                   (Kind == pooling_kind::mean || problem.x.column_stride == 1);
  }

  std::int64_t blocks() const { return share_.count; }

  PRUMO_FLATTEN void operator()(std::int64_t block) const {
    const std::int64_t image = share_.image(block), channel = share_.channel(block);
    for (std::int64_t row = share_.first(block); row < share_.last(block); ++row) {
      std::int64_t begin = 0;
      if (are_squares_ && row < problem_.rows && 2 * row + 1 < problem_.height) {
        begin = last_whole_;
        write_squares(image, channel, row);
      }
      for (; begin < cells_; begin += most_cells) {
        write_cells(image, channel, row, begin, std::min(cells_, begin + most_cells));
      }
    }
  }

 private:
  /// The whole squares of a row of windows.
  void write_squares(std::int64_t image, std::int64_t channel, std::int64_t row) const {
    if constexpr (has_vectors) {
      const T* const dy = problem_.dy.plane(image, channel) + row * problem_.dy.row_stride;
      T* const dx = problem_.dx.plane(image, channel) + 2 * row * problem_.dx.row_stride;
      square_row<T> it{dx, dx, dy, dx, dx + problem_.dx.row_stride};
      if constexpr (Kind == pooling_kind::maximum) {
        it.above = problem_.x.plane(image, channel) + 2 * row * problem_.x.row_stride;
        it.below = it.above + problem_.x.row_stride;
      }
      hand_out_squares<Kind>(it, last_whole_);
    }
  }

  /// The values, at this place in their windows, that are larger than those before.
  static void take_larger(const C* values, std::int64_t count, std::int32_t place, C* largest, std::int32_t* places) {
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < count; ++j) {
      const bool takes = is_larger_or_nan(values[j], largest[j]);
      largest[j] = takes ? values[j] : largest[j];
      places[j] = takes ? place : places[j];
    }
  }

  /// A stretch of a row of cells. The first `windows` of them have a window; the others have no gradient and no place.
  struct stretch {
    C gradients[most_cells];
    C largest[most_cells];
    std::int32_t places[most_cells];
    std::int64_t begin, end, windows;

    std::int64_t filled() const { return (end - begin + lanes - 1) / lanes * lanes; }
  };

  void write_cells(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t begin,
                   std::int64_t end) const {
    stretch of;
    of.begin = begin;
    of.end = end;
    of.windows = row < problem_.rows ? std::clamp<std::int64_t>(problem_.columns - begin, 0, end - begin) : 0;
    const window_range rows = problem_.rows_of_window(row);
    const T* const dy = problem_.dy.plane(image, channel) + row * problem_.dy.row_stride;
    const std::int64_t step = problem_.dy.column_stride;
    for (std::int64_t j = 0; j < of.windows; ++j) of.gradients[j] = static_cast<C>(dy[(begin + j) * step]);
    for (std::int64_t j = of.windows; j < of.filled(); ++j) {
      of.gradients[j] = of.largest[j] = C(0);
      of.places[j] = -1;
    }
    if constexpr (Kind == pooling_kind::maximum) {
      find_places(problem_.x.plane(image, channel), rows, of);
    } else {
      for (std::int64_t j = 0; j < of.windows; ++j) {
        const std::int64_t elements = rows.length() * problem_.columns_of_window(begin + j).length();
        of.gradients[j] = of.gradients[j] / C(static_cast<P>(elements));
      }
    }
    const pooling_window& window = problem_.window;
    const window_range cell(row, window.row_stride, window.row_padding, window.row_stride, problem_.height);
    for (std::int64_t r = cell.begin; r < cell.end; ++r) {
      T* const to = problem_.dx.plane(image, channel) + r * problem_.dx.row_stride;
      const bool has_window = of.windows > 0 && r < rows.end;
      write_row(of, has_window, static_cast<std::int32_t>((r - rows.begin) * window.width), to);
    }
  }

  /// Whole windows side by side, and the others each by itself. A place is counted from the column where the window
  /// begins, which may lie beside the image, and from its first row in the image.
  void find_places(const T* plane, window_range rows, stretch& of) const {
    const std::int64_t first = std::clamp<std::int64_t>(first_whole_ - of.begin, 0, of.windows);
    const std::int64_t last = std::clamp<std::int64_t>(last_whole_ - of.begin, first, of.windows);
    if (first < last) {
      const std::int64_t step = problem_.x.column_stride, distance = problem_.window.column_stride * step;
      const T* const begin = plane + column_of(of, first) * step;
      const std::int64_t filled = (last - first + lanes - 1) / lanes * lanes;
      C values[most_cells];
      C* const largest = of.largest;
      std::int32_t* const places = of.places;
      for (std::int64_t j = 0; j < last - first; ++j) {
        largest[j] = static_cast<C>(begin[rows.begin * problem_.x.row_stride + j * distance]);
      }
      for (std::int64_t j = last - first; j < filled; ++j) values[j] = largest[j] = C(0);
      std::fill_n(places, filled, 0);
      std::int32_t place = 0;
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        for (std::int64_t k = 0; k < problem_.window.width; ++k) {
          const T* const elements = begin + r * problem_.x.row_stride + k * step;
          for (std::int64_t j = 0; j < last - first; ++j) values[j] = static_cast<C>(elements[j * distance]);
          take_larger(values, filled, place++, largest, places);
        }
      }
      // The places of whole windows were found from the beginning of the array on.
      std::copy_backward(places, places + (last - first), places + last);
      std::fill(places + of.windows, places + of.filled(), -1);
    }
    for (std::int64_t j = 0; j < first; ++j) find_place(plane, rows, j, of);
    for (std::int64_t j = last; j < of.windows; ++j) find_place(plane, rows, j, of);
  }

  void find_place(const T* plane, window_range rows, std::int64_t j, stretch& of) const {
    const place_in_image place = first_of_largest<C>(plane, problem_.x.row_stride, problem_.x.column_stride, rows,
                                                     problem_.columns_of_window(of.begin + j));
    of.places[j] =
        static_cast<std::int32_t>((place.row - rows.begin) * problem_.window.width + place.column - column_of(of, j));
  }

  /// Where the window, or cell, begin + j begins.
  std::int64_t column_of(const stretch& of, std::int64_t j) const {
    return (of.begin + j) * problem_.window.column_stride - problem_.window.column_padding;
  }

  /// One row of the cells. `place` is that of the row's first element in a window.
  void write_row(const stretch& of, bool has_window, std::int32_t place, T* to) const {
    const pooling_window& window = problem_.window;
    const std::int64_t step = problem_.dx.column_stride;
    C values[most_cells];
    for (std::int64_t k = 0; k < window.column_stride; ++k) {
      if (k == 0 || k <= window.width)
        values_at(of, has_window && k < window.width, static_cast<std::int32_t>(place + k), values);
      std::int64_t column = column_of(of, 0) + k;
      for (std::int64_t j = 0; j < of.end - of.begin; ++j, column += window.column_stride) {
        if (column >= 0 && column < problem_.width) to[column * step] = static_cast<T>(values[j]);
      }
    }
  }

  static void values_at(const stretch& of, bool has_window, std::int32_t place, C* values) {
    const std::int64_t filled = of.filled();
    if (!has_window) {
      std::fill_n(values, filled, C(0));
    } else if constexpr (Kind == pooling_kind::mean) {
      std::copy_n(of.gradients, filled, values);
    } else {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < filled; ++j) values[j] = of.places[j] == place ? of.gradients[j] : C(0);
    }
  }

  pooling_backward_problem<T> problem_;
  std::int64_t cells_;
  rows_of_planes share_;
  std::int64_t first_whole_ = 0;  ///< the windows [first_whole_, last_whole_) lie inside the image
  std::int64_t last_whole_ = 0;
  bool are_squares_ = false;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
