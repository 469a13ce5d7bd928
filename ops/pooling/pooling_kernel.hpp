// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of windows over images: on devices a thread computes one window, on hosts a block computes some rows of
/// y. Both go through a window row by row, so their results have the same bits.

#include "pooling_problem.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <pooling_kind Kind, class C>
KOKKOS_FORCEINLINE_FUNCTION C joined_in_window(C before, C value) {
  if constexpr (Kind == pooling_kind::maximum) {
    return prumo::maximum(before, value);
  } else {
    return before + value;
  }
}

template <pooling_kind Kind, class C>
KOKKOS_FORCEINLINE_FUNCTION C finished_window(C joined, std::int64_t elements) {
  if constexpr (Kind == pooling_kind::maximum) {
    return joined;
  } else {
    return joined / C(static_cast<plain_scalar_t<C>>(elements));
  }
}

/// One window of a plane of x.
template <pooling_kind Kind, class C, class X>
KOKKOS_FORCEINLINE_FUNCTION C pooled_window(const X* plane, std::int64_t row_stride, std::int64_t column_stride,
                                            window_range rows, window_range columns) {
  C joined = static_cast<C>(plane[rows.begin * row_stride + columns.begin * column_stride]);
  std::int64_t first = columns.begin + 1;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t c = first; c < columns.end; ++c) {
      joined = joined_in_window<Kind>(joined, static_cast<C>(plane[r * row_stride + c * column_stride]));
    }
    first = columns.begin;
  }
  return finished_window<Kind>(joined, (rows.end - rows.begin) * (columns.end - columns.begin));
}

/// A row of windows, `values[j]` for each column j of y, in vectors where the windows lie inside the image.
template <pooling_kind Kind, class X, class C>
class pooled_row {
 public:
  pooled_row(const pooling_window& window, std::int64_t height, std::int64_t width, std::int64_t columns)
      : window_(window), height_(height), width_(width), columns_(columns) {
    const auto begins_inside = (window.column_padding + window.column_stride - 1) / window.column_stride;
    const std::int64_t last_begin = width + window.column_padding - window.width;
    const std::int64_t ends_inside = last_begin < 0 ? 0 : last_begin / window.column_stride + 1;
    first_whole_ = std::min(columns, begins_inside);
    last_whole_ = std::clamp(ends_inside, first_whole_, columns);
  }

  /// Row `row` of y. The plane's row 0 lies at `plane`.
  PRUMO_FLATTEN void compute(const X* plane, std::int64_t row_stride, std::int64_t column_stride, std::int64_t row,
                             C* values) const {
    const window_range rows(row, window_.row_stride, window_.row_padding, window_.height, height_);
    for (std::int64_t j = 0; j < first_whole_; ++j) values[j] = at_edge(plane, row_stride, column_stride, rows, j);
    if (const std::int64_t whole = last_whole_ - first_whole_; whole > 0) {
      const X* const first = plane + (first_whole_ * window_.column_stride - window_.column_padding) * column_stride;
      join(first, row_stride, column_stride, rows, whole, values + first_whole_);
    }
    for (std::int64_t j = last_whole_; j < columns_; ++j) {
      values[j] = at_edge(plane, row_stride, column_stride, rows, j);
    }
  }

 private:
  C at_edge(const X* plane, std::int64_t row_stride, std::int64_t column_stride, window_range rows,
            std::int64_t j) const {
    const window_range columns(j, window_.column_stride, window_.column_padding, window_.width, width_);
    return pooled_window<Kind, C>(plane, row_stride, column_stride, rows, columns);
  }

  /// The distance between neighbouring windows is a constant in the usual cases, because compilers vectorise loads with
  /// a constant distance only.
  void join(const X* first, std::int64_t row_stride, std::int64_t column_stride, window_range rows, std::int64_t count,
            C* values) const {
    const std::int64_t distance = window_.column_stride * column_stride;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = 0; c < window_.width; ++c) {
        const X* const from = first + r * row_stride + c * column_stride;
        const bool is_first = r == rows.begin && c == 0;
        if (distance == 1) {
          join_column<1>(from, distance, count, is_first, values);
        } else if (distance == 2) {
          join_column<2>(from, distance, count, is_first, values);
        } else {
          join_column<0>(from, distance, count, is_first, values);
        }
      }
    }
    const std::int64_t elements = (rows.end - rows.begin) * window_.width;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < count; ++j) values[j] = finished_window<Kind>(values[j], elements);
  }

  /// Distance: that of the elements, or 0 if it is known at run time only.
  template <int Distance>
  static void join_column(const X* from, std::int64_t distance, std::int64_t count, bool is_first, C* values) {
    if constexpr (Distance != 0) distance = Distance;
    if (is_first) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) values[j] = static_cast<C>(from[j * distance]);
    } else {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) {
        values[j] = joined_in_window<Kind>(values[j], static_cast<C>(from[j * distance]));
      }
    }
  }

  pooling_window window_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t columns_;
  std::int64_t first_whole_ = 0;  ///< the columns of y whose windows lie inside the image
  std::int64_t last_whole_ = 0;
};

/// A block computes some rows of one plane of y, a stretch of columns at a time.
template <pooling_kind Kind, class X, class T>
class pooling_host_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t most_columns = 512;

 public:
  explicit pooling_host_kernel(const pooling_problem<X, T>& problem) : problem_(problem) {
    constexpr std::int64_t elements_per_block = 16384;
    const std::int64_t work = problem.columns * std::max<std::int64_t>(1, problem.window.height);
    rows_per_block_ = std::clamp<std::int64_t>(elements_per_block / (work + 1), 1, problem.rows);
    blocks_per_plane_ = (problem.rows + rows_per_block_ - 1) / rows_per_block_;
  }

  std::int64_t blocks() const { return problem_.images * problem_.channels * blocks_per_plane_; }

  void operator()(std::int64_t block) const {
    const std::int64_t plane = block / blocks_per_plane_;
    const std::int64_t image = plane / problem_.channels;
    const std::int64_t channel = plane % problem_.channels;
    const std::int64_t first = block % blocks_per_plane_ * rows_per_block_;
    const std::int64_t last = std::min(problem_.rows, first + rows_per_block_);
    for (std::int64_t begin = 0; begin < problem_.columns; begin += most_columns) {
      compute_stretch(image, channel, first, last, begin, std::min(problem_.columns, begin + most_columns));
    }
  }

 private:
  /// Columns [begin, end) of y are those of an image that begins `begin` windows further right.
  void compute_stretch(std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t last,
                       std::int64_t begin, std::int64_t end) const {
    const auto& [x, y] = std::tie(problem_.x, problem_.y);
    pooling_window window = problem_.window;
    const std::int64_t skipped = std::max<std::int64_t>(0, begin * window.column_stride - window.column_padding);
    window.column_padding += skipped - begin * window.column_stride;
    const pooled_row<Kind, X, C> row_of(window, problem_.height, problem_.width - skipped, end - begin);
    const X* const source = x.plane(image, channel) + skipped * x.column_stride;
    C values[most_columns];
    for (std::int64_t row = first; row < last; ++row) {
      row_of.compute(source, x.row_stride, x.column_stride, row, values);
      T* const to = y.plane(image, channel) + row * y.row_stride + begin * y.column_stride;
      const std::int64_t step = y.column_stride;
      if (step == 1) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < end - begin; ++j) to[j] = static_cast<T>(values[j]);
      } else {
        for (std::int64_t j = 0; j < end - begin; ++j) to[j * step] = static_cast<T>(values[j]);
      }
    }
  }

  pooling_problem<X, T> problem_;
  std::int64_t rows_per_block_ = 1;
  std::int64_t blocks_per_plane_ = 1;
};

/// A thread computes one window. Neighbouring threads take neighbours in y: channels if they are next to each other in
/// memory, and columns otherwise.
template <pooling_kind Kind, class X, class T>
class pooling_device_kernel {
  using C = compute_t<T>;

 public:
  explicit pooling_device_kernel(const pooling_problem<X, T>& problem)
      : problem_(problem),
        channels_last_(problem.y.channel_stride == 1 && problem.y.column_stride != 1),
        is_short_(blocks() <= std::numeric_limits<std::uint32_t>::max()) {}

  std::int64_t blocks() const { return problem_.images * problem_.channels * problem_.rows * problem_.columns; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    // A division of 64 bits would take as long as the window.
    if (is_short_) {
      compute(static_cast<std::uint32_t>(index));
    } else {
      compute(static_cast<std::uint64_t>(index));
    }
  }

 private:
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t split_off(Index& rest, std::int64_t extent) {
    const auto divisor = static_cast<Index>(extent);
    const Index quotient = rest / divisor;
    const auto place = static_cast<std::int64_t>(rest - quotient * divisor);
    rest = quotient;
    return place;
  }

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void compute(Index rest) const {
    std::int64_t channel = 0;
    if (channels_last_) channel = split_off(rest, problem_.channels);
    const std::int64_t column = split_off(rest, problem_.columns);
    const std::int64_t row = split_off(rest, problem_.rows);
    if (!channels_last_) channel = split_off(rest, problem_.channels);
    const auto image = static_cast<std::int64_t>(rest);
    const pooling_window& window = problem_.window;
    const window_range rows(row, window.row_stride, window.row_padding, window.height, problem_.height);
    const window_range columns(column, window.column_stride, window.column_padding, window.width, problem_.width);
    const C value = pooled_window<Kind, C>(problem_.x.plane(image, channel), problem_.x.row_stride,
                                           problem_.x.column_stride, rows, columns);
    problem_.y.plane(image, channel)[row * problem_.y.row_stride + column * problem_.y.column_stride] =
        static_cast<T>(value);
  }

  pooling_problem<X, T> problem_;
  bool channels_last_;
  bool is_short_;
};

}  // namespace PRUMO_INSTRUCTION_SET

/// Throws argument_error for a window that cannot be.
void check_window(std::string_view operation, const pooling_window& window);

/// Enqueues the pooling. Defined for the compute type and T as X.
template <pooling_kind Kind, class Exec, class X, class T>
void launch_pooling(const Exec& instance, const pooling_problem<X, T>& problem);

}  // namespace prumo::detail
