// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of windows in vectors on a host: neighbouring windows, or those of several rows if these are short. So a vector
/// of windows takes some ten instructions, where loops over the few columns of a narrow image would take a hundred.

#include "pooling_problem.hpp"
#include "window_joins.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/lane_choice.hpp>
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/math_constants.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Some neighbouring windows of a row, or of several rows: a lane of a vector has one. The elements that they need of a
/// row of the image lie in two vectors.
template <class C>
struct lanes_of_windows {
  using words = typename simd<C>::words;
  static constexpr std::int64_t lanes = simd<C>::lanes;

  std::int64_t rows;         ///< of windows
  std::int64_t longest = 0;  ///< the columns of the longest window
  std::int64_t reach = 0;    ///< the elements that they need of a row, from the first one on
  bool are_equal = true;     ///< whether all windows have the same number of columns
  words begins{};            ///< where the windows begin in the two vectors
  words lengths{};           ///< their columns inside the image
  simd<C> elements{};        ///< their elements, if all of their rows are inside the image

  /// How many whole windows of a row fit.
  static std::int64_t most(const pooling_window& window) {
    return std::clamp<std::int64_t>((2 * lanes - window.width) / window.column_stride + 1, 1, lanes);
  }

  /// The windows first ... first + columns - 1 of some rows. The rows of the image lie side by side, or there is one.
  lanes_of_windows(const pooling_window& window, std::int64_t width, std::int64_t first, std::int64_t columns,
                   std::int64_t row_count)
      : rows(row_count) {
    using word = typename math_constants<C>::word;
    word each_begin[lanes] = {}, each_length[lanes] = {};
    const std::int64_t origin = columns_at(window, width, first).begin;
    for (std::int64_t column = 0; column < columns; ++column) {
      const window_range of = columns_at(window, width, first + column);
      are_equal = are_equal && (column == 0 || of.length() == longest);
      longest = std::max(longest, of.length());
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t lane = row * columns + column, begin = row * window.row_stride * width + of.begin - origin;
        each_begin[lane] = static_cast<word>(begin);
        each_length[lane] = static_cast<word>(of.length());
        reach = std::max(reach, begin + of.length());
      }
    }
    std::memcpy(&begins, each_begin, sizeof(words));
    std::memcpy(&lengths, each_length, sizeof(words));
    elements = elements_of(window.height);
  }

  /// The elements of each window with that many rows. Lanes without a window have 0.
  simd<C> elements_of(std::int64_t height) const {
    C each[lanes];
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      each[lane] = static_cast<C>(height * static_cast<std::int64_t>(lengths[lane]));
    }
    return simd<C>::load(each);
  }

  static window_range columns_at(const pooling_window& window, std::int64_t width, std::int64_t column) {
    return {column, window.column_stride, window.column_padding, window.width, width};
  }
};

/// Rows of windows of planes whose columns are neighbours in memory.
/// \tparam X the type in memory
/// \tparam C what it is computed in
template <pooling_kind Kind, class X, class C>
class windows_in_vectors {
  using vector = simd<C>;
  using words = typename vector::words;
  using word = typename math_constants<C>::word;
  using part = lanes_of_windows<C>;
  static constexpr std::int64_t lanes = vector::lanes;

 public:
  /// compute() may write so many values behind the last one.
  static constexpr std::int64_t values_behind = lanes;

  /// Whether a row is short, or windows have few columns, and those that reach beyond the image are all in the first
  /// and in the last vector of a row. Of wider windows a vector would compute too few.
  static bool can_compute(const pooling_window& window, std::int64_t width, std::int64_t columns) {
    if (is_narrow(window, width, columns)) return true;
    const std::int64_t most = part::most(window);
    const auto is_whole = [&](std::int64_t column) {
      return part::columns_at(window, width, column).length() == window.width;
    };
    return window.width <= lanes / 2 && columns > most &&
           (columns <= 2 * most || (is_whole(most) && is_whole(columns - most - 1)));
  }

  /// \param row_stride of the planes; it is not negative
  /// \param end behind the last element of the array that the planes are in; nothing from there on is read
  windows_in_vectors(const pooling_window& window, std::int64_t height, std::int64_t width, std::int64_t columns,
                     std::int64_t row_stride, const X* end)
      : window_(window),
        height_(height),
        columns_(columns),
        row_stride_(row_stride),
        end_(end),
        is_narrow_(is_narrow(window, width, columns)),
        most_(is_narrow_ ? columns : part::most(window)),
        last_begin_(part::columns_at(window, width, columns - most_).begin),
        first_(window, width, 0, most_, 1),
        inner_(is_narrow_ ? several_rows(width) : inner_windows()),
        last_(window, width, columns - most_, most_, 1) {
    first_whole_ = (window.row_padding + window.row_stride - 1) / window.row_stride;
    const std::int64_t last_row = height + window.row_padding - window.height;
    last_whole_ = last_row < 0 ? 0 : last_row / window.row_stride + 1;
    is_even_ =
        first_.are_equal && last_.are_equal && first_.longest == inner_.longest && last_.longest == inner_.longest;
  }

  /// The windows [begin, end) of the rows [first, last) of y, row by row. Row 0 of the plane lies at `plane`. These are
  /// all windows of a row, or as many as a vector has lanes at least.
  void compute(const X* plane, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
               C* values) const {
    const std::int64_t first_whole = std::clamp(first_whole_, first, last);
    const std::int64_t last_whole = std::clamp(last_whole_, first_whole, last);
    // What is written behind the values of some rows is written again with the next ones.
    const auto join_edge = [&](std::int64_t row) {
      const window_range rows(row, window_.row_stride, window_.row_padding, window_.height, height_);
      join({plane + rows.begin * row_stride_, rows.length(), 1, begin, end}, values + (row - first) * (end - begin));
    };
    for (std::int64_t row = first; row < first_whole; ++row) join_edge(row);
    if (const std::int64_t rows = last_whole - first_whole; rows > 0) {
      const X* const from = plane + (first_whole * window_.row_stride - window_.row_padding) * row_stride_;
      join({from, window_.height, rows, begin, end}, values + (first_whole - first) * (end - begin));
    }
    for (std::int64_t row = last_whole; row < last; ++row) join_edge(row);
  }

 private:
  /// Rows of windows that all have the same height: the windows [begin, end) of each.
  struct equal_rows {
    const X* from;  ///< the first row of elements
    std::int64_t height, count, begin, end;
  };

  /// Whether all windows of a row fit into a vector.
  static bool is_narrow(const pooling_window& window, std::int64_t width, std::int64_t columns) {
    return columns <= lanes && part::columns_at(window, width, columns - 1).end <= 2 * lanes;
  }

  /// As many rows as fit, if there is nothing between the rows of the image.
  part several_rows(std::int64_t width) const {
    const std::int64_t used = part::columns_at(window_, width, columns_ - 1).end;
    const std::int64_t rows = std::min((2 * lanes - used) / (window_.row_stride * width) + 1, lanes / columns_);
    return {window_, width, 0, columns_, row_stride_ == width ? rows : 1};
  }

  /// The windows between the first vector of a row and the last one.
  part inner_windows() const {
    pooling_window window = window_;
    window.column_padding = 0;
    return {window, 2 * lanes, 0, most_, 1};
  }

  void join(const equal_rows& rows, C* values) const {
    if (!is_even_) return join_by_length<0, false>(rows, values);
    if (first_.longest == 2) return join_by_length<2, true>(rows, values);
    join_by_length<0, true>(rows, values);
  }

  /// \tparam Columns of a window, or 0 if they are known at run time only
  /// \tparam IsEven whether all windows have the same number of columns
  template <int Columns, bool IsEven>
  void join_by_length(const equal_rows& rows, C* values) const {
    if (!is_narrow_) return join_long_rows<Columns, IsEven>(rows, values);
    const part& of = rows.count < inner_.rows ? first_ : inner_;
    if (of.reach <= lanes) return join_short_rows<1, Columns, IsEven>(of, rows, values);
    join_short_rows<2, Columns, IsEven>(of, rows, values);
  }

  template <int Vectors, int Columns, bool IsEven>
  PRUMO_FLATTEN void join_short_rows(const part& of, const equal_rows& rows, C* values) const {
    const vector elements = elements_of(of, rows.height);
    for (std::int64_t row = 0; row < rows.count; row += of.rows) {
      // The last vector may repeat rows of the one before it.
      const std::int64_t at = std::min(row, rows.count - of.rows);
      const X* const from = rows.from + at * window_.row_stride * row_stride_;
      join_part<Vectors, Columns, IsEven>(of, elements, from, rows.height, values + at * columns_);
    }
  }

  template <int Columns, bool IsEven>
  PRUMO_FLATTEN void join_long_rows(const equal_rows& rows, C* values) const {
    const vector first = elements_of(first_, rows.height), inner = elements_of(inner_, rows.height),
                 last = elements_of(last_, rows.height);
    const std::int64_t inner_end = rows.end < columns_ ? rows.end : columns_ - most_;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const X* const from = rows.from + row * window_.row_stride * row_stride_;
      C* const to = values + row * (rows.end - rows.begin);
      std::int64_t j = rows.begin;
      if (j == 0) {
        join_part<2, Columns, IsEven>(first_, first, from, rows.height, to);
        j = most_;
      }
      // The last of these vectors may have windows of the one behind them, which are written again.
      for (; j < inner_end; j += most_) {
        const X* const elements = from + j * window_.column_stride - window_.column_padding;
        join_part<2, Columns, true>(inner_, inner, elements, rows.height, to + (j - rows.begin));
      }
      if (rows.end == columns_) {
        join_part<2, Columns, IsEven>(last_, last, from + last_begin_, rows.height,
                                      to + (columns_ - most_ - rows.begin));
      }
    }
  }

  /// A vector of windows.
  /// \tparam Vectors that have the elements of a row
  template <int Vectors, int Columns, bool IsEven>
  [[gnu::always_inline]] void join_part(const part& of, vector elements, const X* from, std::int64_t height,
                                        C* to) const {
    const std::int64_t columns = Columns > 0 ? Columns : of.longest;
    vector joined[Vectors];
    if (end_ - (from + (height - 1) * row_stride_) >= Vectors * lanes) [[likely]] {
      join_rows(from, height, joined);
    } else {
      join_last_rows(from, height, of.reach, joined);
    }
    vector value = column_of(joined, of.begins);
    for (std::int64_t column = 1; column < columns; ++column) {
      const auto number = static_cast<word>(column);
      const vector next = joined_in_window<Kind>(value, column_of(joined, of.begins + number));
      value = IsEven ? next : prumo::select(simd_mask<C>{of.lengths > number}, next, value);
    }
    if constexpr (Kind == pooling_kind::mean) value /= elements;
    value.store(to);
  }

  vector elements_of(const part& of, std::int64_t height) const {
    if constexpr (Kind == pooling_kind::maximum) return of.elements;
    return height == window_.height ? of.elements : of.elements_of(height);
  }

  /// The loop is so fast that the processor's own prefetches come too late. Without these, arrays that are in no cache
  /// took up to one and a half times as long.
  [[gnu::always_inline]] static void prefetch_elements(const X* from, std::int64_t count) {
    constexpr std::size_t distance = 4096;
    prefetch_from_far<prefetch_for::reading, distance>(from, static_cast<std::size_t>(count) * sizeof(X));
  }

  template <int Vectors>
  [[gnu::always_inline]] void join_rows(const X* from, std::int64_t height, vector (&joined)[Vectors]) const {
    for (int k = 0; k < Vectors; ++k) joined[k] = load_vector(from + k * lanes);
    prefetch_elements(from, Vectors * lanes);
    for (std::int64_t r = 1; r < height; ++r) {
      from += row_stride_;
      prefetch_elements(from, Vectors * lanes);
      for (int k = 0; k < Vectors; ++k) joined[k] = joined_in_window<Kind>(joined[k], load_vector(from + k * lanes));
    }
  }

  /// The same at the end of the array.
  template <int Vectors>
  [[gnu::noinline]] void join_last_rows(const X* from, std::int64_t height, std::int64_t reach,
                                        vector (&joined)[Vectors]) const {
    const std::int64_t count = std::min<std::int64_t>(reach, end_ - (from + (height - 1) * row_stride_));
    C each[Vectors * lanes] = {};
    for (std::int64_t k = 0; k < count; ++k) each[k] = static_cast<C>(from[k]);
    for (std::int64_t r = 1; r < height; ++r) {
      from += row_stride_;
      for (std::int64_t k = 0; k < count; ++k) each[k] = joined_in_window<Kind>(each[k], static_cast<C>(from[k]));
    }
    for (int k = 0; k < Vectors; ++k) joined[k] = vector::load(each + k * lanes);
  }

  [[gnu::always_inline]] static vector column_of(const vector (&joined)[1], words which) {
    return lane_choice(joined[0], which);
  }
  [[gnu::always_inline]] static vector column_of(const vector (&joined)[2], words which) {
    return lane_choice(joined[0], joined[1], which);
  }

  pooling_window window_;
  std::int64_t height_, columns_, row_stride_;
  const X* end_;
  bool is_narrow_;
  bool is_even_;             ///< whether all windows have the same number of columns
  std::int64_t most_;        ///< windows of the first vector of a row, and of the last one
  std::int64_t last_begin_;  ///< the first column of the last vector
  part first_;
  part inner_;  ///< between the two; of narrow images, several rows
  part last_;
  std::int64_t first_whole_;  ///< the rows of windows from here on do not begin before the image
  std::int64_t last_whole_;   ///< those before it do not end behind it
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
