// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of windows over images on a host. A block takes some rows of elements, or of cells, of one plane.

#include "pooling_backward_kernel.hpp"

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
/// then the rows of their cells.
template <pooling_kind Kind, class T>
class pooling_cells_host_kernel {
  using C = compute_t<T>;
  using P = plain_scalar_t<C>;
  static constexpr std::int64_t most_cells = 512;

 public:
  explicit pooling_cells_host_kernel(const pooling_backward_problem<T>& problem)
      : problem_(problem),
        cells_(cells_along(problem.width, problem.window.column_stride, problem.window.column_padding)),
        share_(rows_of_planes::of(problem.images, problem.channels,
                                  cells_along(problem.height, problem.window.row_stride, problem.window.row_padding),
                                  problem.width * problem.window.row_stride)) {}

  std::int64_t blocks() const { return share_.count; }

  PRUMO_FLATTEN void operator()(std::int64_t block) const {
    const std::int64_t image = share_.image(block), channel = share_.channel(block);
    for (std::int64_t row = share_.first(block); row < share_.last(block); ++row) {
      for (std::int64_t begin = 0; begin < cells_; begin += most_cells) {
        compute(image, channel, row, begin, std::min(cells_, begin + most_cells));
      }
    }
  }

 private:
  /// A stretch of a row of cells. The first `windows` of them have a window.
  struct stretch {
    C gradients[most_cells];
    C largest[most_cells];
    std::int32_t places[most_cells];
    std::int64_t begin, end, windows;
  };

  void compute(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t begin, std::int64_t end) const {
    stretch of;
    of.begin = begin;
    of.end = end;
    of.windows = row < problem_.rows ? std::clamp<std::int64_t>(problem_.columns - begin, 0, end - begin) : 0;
    const window_range rows = problem_.rows_of_window(row);
    const T* const dy = problem_.dy.plane(image, channel) + row * problem_.dy.row_stride;
    const std::int64_t step = problem_.dy.column_stride;
    for (std::int64_t j = 0; j < of.windows; ++j) of.gradients[j] = static_cast<C>(dy[(begin + j) * step]);
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

  /// The column of element k of the window, or cell, begin + j.
  std::int64_t column_of(const stretch& of, std::int64_t j, std::int64_t k) const {
    return (of.begin + j) * problem_.window.column_stride - problem_.window.column_padding + k;
  }
  /// The cells of which element k lies in the image: [begin, end), within `count` cells.
  window_range cells_with(const stretch& of, std::int64_t k, std::int64_t count) const {
    const std::int64_t step = problem_.window.column_stride, first = column_of(of, 0, k);
    const std::int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
    const std::int64_t room = problem_.width - first;
    const std::int64_t end = room <= 0 ? 0 : (room + step - 1) / step;
    return {std::min(begin, count), std::max(std::min(begin, count), std::min(end, count))};
  }

  void find_places(const T* plane, window_range rows, stretch& of) const {
    if (of.windows == 0) return;
    const std::int64_t step = problem_.x.column_stride, stride = problem_.window.column_stride;
    const T* const first_row = plane + rows.begin * problem_.x.row_stride;
    for (std::int64_t j = 0; j < of.windows; ++j) {
      const std::int64_t outside = std::max<std::int64_t>(0, -column_of(of, j, 0));
      of.largest[j] = static_cast<C>(first_row[column_of(of, j, outside) * step]);
      of.places[j] = static_cast<std::int32_t>(outside);
    }
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const T* const from = plane + r * problem_.x.row_stride;
      for (std::int64_t k = 0; k < problem_.window.width; ++k) {
        const window_range cells = cells_with(of, k, of.windows);
        const auto place = static_cast<std::int32_t>((r - rows.begin) * problem_.window.width + k);
        const T* const elements = from + column_of(of, cells.begin, k) * step;
        if (stride * step == 2) {
          compare<2>(elements, 2, cells, place, of);
        } else {
          compare<0>(elements, stride * step, cells, place, of);
        }
      }
    }
  }

  /// Distance: that of the elements, or 0 if it is known at run time only.
  template <std::int64_t Distance>
  static void compare(const T* elements, std::int64_t distance, window_range cells, std::int32_t place, stretch& of) {
    if constexpr (Distance != 0) distance = Distance;
    C* const largest = of.largest + cells.begin;
    std::int32_t* const places = of.places + cells.begin;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < cells.length(); ++j) {
      const C value = static_cast<C>(elements[j * distance]);
      const bool takes = is_larger_or_nan(value, largest[j]);
      largest[j] = takes ? value : largest[j];
      places[j] = takes ? place : places[j];
    }
  }

  /// One row of the cells. `place` is that of the row's first element in a window.
  void write_row(const stretch& of, bool has_window, std::int32_t place, T* to) const {
    const pooling_window& window = problem_.window;
    const std::int64_t step = problem_.dx.column_stride;
    if (has_window && window.column_stride == 2 && window.width == 2 && window.column_padding == 0 && step == 1) {
      return write_pairs(of, place, to);
    }
    for (std::int64_t k = 0; k < window.column_stride; ++k) {
      const window_range cells = cells_with(of, k, of.end - of.begin);
      T* const elements = to + column_of(of, 0, k) * step;
      const std::int64_t distance = window.column_stride * step;
      std::int64_t j = cells.begin;
      if (has_window && k < window.width) {
        const auto here = static_cast<std::int32_t>(place + k);
        for (; j < std::min(cells.end, of.windows); ++j) {
          elements[j * distance] = static_cast<T>(gradient_of(of, j, here));
        }
      }
      for (; j < cells.end; ++j) elements[j * distance] = static_cast<T>(C(0));
    }
  }

  /// The same of windows with two columns, one behind the other.
  void write_pairs(const stretch& of, std::int32_t place, T* to) const {
    T* const first = to + 2 * of.begin;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < of.windows; ++j) {
      first[2 * j] = static_cast<T>(gradient_of(of, j, place));
      first[2 * j + 1] = static_cast<T>(gradient_of(of, j, place + 1));
    }
    for (std::int64_t c = 2 * (of.begin + of.windows); c < std::min(2 * of.end, problem_.width); ++c) {
      to[c] = static_cast<T>(C(0));
    }
  }

  static C gradient_of(const stretch& of, std::int64_t j, std::int32_t place) {
    if constexpr (Kind == pooling_kind::mean) {
      return of.gradients[j];
    } else {
      return of.places[j] == place ? of.gradients[j] : C(0);
    }
  }

  pooling_backward_problem<T> problem_;
  std::int64_t cells_;
  rows_of_planes share_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
