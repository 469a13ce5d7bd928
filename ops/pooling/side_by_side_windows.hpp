// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Windows of a host that lie side by side, without edges: all rows at once, in vector registers.

#include "pooling_problem.hpp"
#include "window_joins.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A register of neighbouring windows of Width columns that lie side by side, from the joined rows of their columns.
/// \param column_of column_of(k) has the columns from number k * lanes on
template <pooling_kind Kind, int Width, class C, class ColumnOf>
[[gnu::always_inline]] inline simd<C> joined_windows(std::int64_t height, const ColumnOf& column_of) {
  return [&]<int... Column>(std::integer_sequence<int, Column...>) PRUMO_ALWAYS_INLINE {
    simd<C> of_columns[Width] = {column_of(Column)...};
    take_windows_apart(of_columns);
    simd<C> value = of_columns[0];
    ((Column > 0 ? void(value = joined_in_window<Kind>(value, of_columns[Column])) : void()), ...);
    return finished_windows<Kind>(value, height * Width);
  }(std::make_integer_sequence<int, Width>());
}

/// A row of fewer windows than a register has lanes. Nothing beside the windows is read or written.
template <pooling_kind Kind, int Width, class C>
void pool_narrow_row(const C* plane, std::int64_t pitch, std::int64_t height, std::int64_t columns, C* values) {
  constexpr std::int64_t lanes = simd<C>::lanes;
  C joined[lanes * Width] = {}, results[lanes];
  for (std::int64_t k = 0; k < columns * Width; ++k) joined[k] = plane[k];
  for (std::int64_t r = 1; r < height; ++r) {
    for (std::int64_t k = 0; k < columns * Width; ++k) {
      joined[k] = joined_in_window<Kind>(joined[k], plane[r * pitch + k]);
    }
  }
  joined_windows<Kind, Width, C>(height, [&](std::int64_t k) PRUMO_ALWAYS_INLINE {
    return simd<C>::load(joined + k * lanes);
  }).store(results);
  std::copy_n(results, columns, values);
}

/// Rows of whole windows of Width columns that lie side by side.
/// \tparam Height rows of a window, or 0 if they are known at run time only
template <pooling_kind Kind, int Width, int Height, class C>
void pool_whole_windows(const C* plane, std::int64_t pitch, const pooling_window& window, std::int64_t rows,
                        std::int64_t columns, C* values) {
  using vector = simd<C>;
  constexpr std::int64_t lanes = vector::lanes;
  const std::int64_t height = Height > 0 ? Height : window.height;
  const auto pool_at = [=](const C* from, C* to) PRUMO_ALWAYS_INLINE {
    joined_windows<Kind, Width, C>(height, [&](std::int64_t k) PRUMO_ALWAYS_INLINE {
      vector joined = vector::load(from + k * lanes);
      PRUMO_UNROLL
      for (std::int64_t r = 1; r < height; ++r) {
        joined = joined_in_window<Kind>(joined, vector::load(from + k * lanes + r * pitch));
      }
      return joined;
    }).store(to);
  };
  for (std::int64_t row = 0; row < rows; ++row, plane += window.row_stride * pitch, values += columns) {
    if (columns < lanes) {
      // A register reads and stores beyond the row. That does no harm if rows follow, because they are stored later.
      const std::int64_t behind = rows - 1 - row;
      if (behind * window.row_stride * pitch >= lanes * Width && behind * columns >= lanes) {
        pool_at(plane, values);
      } else {
        pool_narrow_row<Kind, Width>(plane, pitch, height, columns, values);
      }
      continue;
    }
    for (std::int64_t j = 0; j < columns; j += lanes) {
      const std::int64_t at = std::min(j, columns - lanes);
      pool_at(plane + at * Width, values + at);
    }
  }
}

/// Pools `rows` rows of windows of a plane at once, if all windows are whole, and two or four columns wide and apart.
/// \return whether it did
template <pooling_kind Kind, class C>
bool pool_side_by_side([[maybe_unused]] const C* plane, [[maybe_unused]] std::int64_t pitch,
                       const pooling_window& window, std::int64_t height, std::int64_t width, std::int64_t rows,
                       std::int64_t columns, [[maybe_unused]] C* values) {
  if constexpr (std::is_floating_point_v<C>) {
    const bool are_whole = window.row_padding == 0 && window.column_padding == 0 &&
                           (rows - 1) * window.row_stride + window.height <= height && columns * window.width <= width;
    constexpr std::int64_t fewest = simd<C>::lanes / 4;
    if (!are_whole || window.column_stride != window.width || columns < fewest) return false;
    const bool is_square = window.height == window.width;
    const auto pool = [&]<int Width>(std::integral_constant<int, Width>) {
      if (is_square) {
        pool_whole_windows<Kind, Width, Width>(plane, pitch, window, rows, columns, values);
      } else {
        pool_whole_windows<Kind, Width, 0>(plane, pitch, window, rows, columns, values);
      }
      return true;
    };
    if (window.width == 2) return pool(std::integral_constant<int, 2>{});
    if (window.width == 4) return pool(std::integral_constant<int, 4>{});
  }
  return false;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
