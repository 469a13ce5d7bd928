// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A window of an image, and on hosts a row of windows. Both go through a window column by column, so their results
/// have the same bits.

#include "pooling_check.hpp"
#include "pooling_problem.hpp"
#include "window_joins.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// One window of a plane of x: column by column, and then over the columns.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <pooling_kind Kind, class C, class X>
KOKKOS_FORCEINLINE_FUNCTION C pooled_window(const X* plane, std::int64_t row_stride, std::int64_t column_stride,
                                            window_range rows, window_range columns) {
  C joined(0);
  for (std::int64_t c = columns.begin; c < columns.end; ++c) {
    const X* const from = plane + c * column_stride;
    C of_column = static_cast<C>(from[rows.begin * row_stride]);
    for (std::int64_t r = rows.begin + 1; r < rows.end; ++r) {
      of_column = joined_in_window<Kind>(of_column, static_cast<C>(from[r * row_stride]));
    }
    joined = c == columns.begin ? of_column : joined_in_window<Kind>(joined, of_column);
  }
  return finished_window<Kind>(joined, rows.length() * columns.length());
}

/// The columns of an image that hosts join at once.
inline constexpr std::int64_t most_joined_columns = 2048;
inline constexpr std::int64_t most_windows_at_once = 512;

/// The windows of a row that hosts compute at once. They need no more columns of the image than can be joined at once,
/// or there is only one.
constexpr std::int64_t windows_at_once(const pooling_window& window) {
  return std::clamp<std::int64_t>((most_joined_columns - window.width) / window.column_stride + 1, 1,
                                  most_windows_at_once);
}

/// Rows of windows on a host. The rows of a window are joined first, for all columns of the image at once, and then the
/// columns of each window.
template <pooling_kind Kind, class X, class C>
class pooled_row {
 public:
  pooled_row(const pooling_window& window, std::int64_t height, std::int64_t width)
      : window_(window), height_(height), width_(width) {
    first_whole_ = (window.column_padding + window.column_stride - 1) / window.column_stride;
    const std::int64_t last_begin = width + window.column_padding - window.width;
    last_whole_ = last_begin < 0 ? 0 : last_begin / window.column_stride + 1;
  }

  /// values[j - begin] = the window (row, j), for begin <= j < end. There are windows_at_once() at most. Row 0 of the
  /// plane lies at `plane`.
  PRUMO_FLATTEN void compute(const X* plane, std::int64_t row_stride, std::int64_t column_stride, std::int64_t row,
                             std::int64_t begin, std::int64_t end, C* values) const {
    const window_range rows(row, window_.row_stride, window_.row_padding, window_.height, height_);
    const window_range used(columns_at(begin).begin, columns_at(end - 1).end);
    if (used.length() > most_joined_columns) {
      values[0] = pooled_window<Kind, C>(plane, row_stride, column_stride, rows, used);
      return;
    }
    C joined[most_joined_columns];
    const X* const first = plane + used.begin * column_stride;
    if (has_vectors && column_stride == 1 && used.length() >= lanes) {
      join_rows_in_vectors(first, row_stride, rows, used.length(), joined);
    } else {
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        const X* const from = first + r * row_stride;
        if (column_stride == 1) {
          join_row<1>(from, column_stride, used.length(), r == rows.begin, joined);
        } else {
          join_row<0>(from, column_stride, used.length(), r == rows.begin, joined);
        }
      }
    }
    join_columns(joined, used.begin, rows.length(), begin, end, values);
  }

 private:
  window_range columns_at(std::int64_t j) const {
    return {j, window_.column_stride, window_.column_padding, window_.width, width_};
  }

  /// The last vector may repeat columns of the one before it, so that no column is left for a loop of single numbers.
  static void join_rows_in_vectors([[maybe_unused]] const X* first, [[maybe_unused]] std::int64_t row_stride,
                                   [[maybe_unused]] window_range rows, [[maybe_unused]] std::int64_t count,
                                   [[maybe_unused]] C* joined) {
    if constexpr (has_vectors) {
      for (std::int64_t c = 0; c < count; c += lanes) {
        const std::int64_t at = std::min(c, count - lanes);
        const C* from = first + rows.begin * row_stride + at;
        auto value = simd<C>::load(from);
        for (std::int64_t r = rows.begin + 1; r < rows.end; ++r) {
          from += row_stride;
          value = joined_in_window<Kind>(value, simd<C>::load(from));
        }
        value.store(joined + at);
      }
    }
  }

  /// Distance: that of neighbouring elements, or 0 if it is known at run time only.
  template <int Distance>
  static void join_row(const X* from, std::int64_t distance, std::int64_t count, bool is_first, C* joined) {
    if constexpr (Distance != 0) distance = Distance;
    if (is_first) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t c = 0; c < count; ++c) joined[c] = static_cast<C>(from[c * distance]);
    } else {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t c = 0; c < count; ++c) {
        joined[c] = joined_in_window<Kind>(joined[c], static_cast<C>(from[c * distance]));
      }
    }
  }

  /// joined[0] is column `origin` of the image.
  void join_columns(const C* joined, std::int64_t origin, std::int64_t rows, std::int64_t begin, std::int64_t end,
                    C* values) const {
    const auto at_edge = [&](std::int64_t j) {
      const window_range columns = columns_at(j);
      C value = joined[columns.begin - origin];
      for (std::int64_t c = columns.begin + 1; c < columns.end; ++c) {
        value = joined_in_window<Kind>(value, joined[c - origin]);
      }
      return finished_window<Kind>(value, rows * columns.length());
    };
    const std::int64_t first_whole = std::clamp(first_whole_, begin, end);
    const std::int64_t last_whole = std::clamp(last_whole_, first_whole, end);
    for (std::int64_t j = begin; j < first_whole; ++j) values[j - begin] = at_edge(j);
    if (const std::int64_t count = last_whole - first_whole; count > 0) {
      const C* const first = joined + (columns_at(first_whole).begin - origin);
      C* const to = values + (first_whole - begin);
      const bool is_side_by_side = window_.column_stride == window_.width && count >= lanes;
      if (has_vectors && is_side_by_side && window_.width == 2) {
        join_side_by_side<2>(first, rows, count, to);
      } else if (has_vectors && is_side_by_side && window_.width == 4) {
        join_side_by_side<4>(first, rows, count, to);
      } else {
        // Compilers vectorise loads with a constant distance only.
        switch (window_.column_stride) {
          case 1: join_whole<1>(first, rows, count, to); break;
          case 2: join_whole<2>(first, rows, count, to); break;
          default: join_whole<0>(first, rows, count, to); break;
        }
      }
    }
    for (std::int64_t j = last_whole; j < end; ++j) values[j - begin] = at_edge(j);
  }

  /// The windows that lie inside the image.
  template <int Distance>
  void join_whole(const C* first, std::int64_t rows, std::int64_t count, C* values) const {
    const std::int64_t distance = Distance != 0 ? Distance : window_.column_stride;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < count; ++j) values[j] = first[j * distance];
    for (std::int64_t c = 1; c < window_.width; ++c) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) values[j] = joined_in_window<Kind>(values[j], first[c + j * distance]);
    }
    if constexpr (Kind == pooling_kind::mean) {
      const std::int64_t elements = rows * window_.width;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) values[j] = finished_window<Kind>(values[j], elements);
    }
  }

  /// Windows of Width columns, of which each begins where the last one ended.
  template <int Width>
  static void join_side_by_side([[maybe_unused]] const C* first, [[maybe_unused]] std::int64_t rows,
                                [[maybe_unused]] std::int64_t count, [[maybe_unused]] C* values) {
    if constexpr (has_vectors) {
      using vector = simd<C>;
      for (std::int64_t j = 0; j < count; j += lanes) {
        const std::int64_t at = std::min(j, count - lanes);
        const C* const from = first + at * Width;
        vector columns[Width];
        for (int c = 0; c < Width; ++c) columns[c] = vector::load(from + c * lanes);
        take_windows_apart(columns);
        vector value = columns[0];
        for (int c = 1; c < Width; ++c) value = joined_in_window<Kind>(value, columns[c]);
        finished_windows<Kind>(value, rows * Width).store(values + at);
      }
    }
  }

  static constexpr bool has_vectors = std::is_floating_point_v<C> && std::is_same_v<X, C>;
  static constexpr std::int64_t lanes = simd<C>::lanes;

  pooling_window window_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t first_whole_;  ///< the windows from here on do not begin before the image
  std::int64_t last_whole_;   ///< those before it do not end behind it
};

}  // namespace PRUMO_INSTRUCTION_SET

/// Enqueues the pooling. Defined for the compute type and T as X.
template <pooling_kind Kind, class Exec, class X, class T>
void launch_pooling(const Exec& instance, const pooling_problem<X, T>& problem);

}  // namespace prumo::detail
