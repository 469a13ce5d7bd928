// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Windows of a host that lie side by side, without edges: all rows at once, in vector registers.

#include "pooling_problem.hpp"
#include "window_joins.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of whole windows of Width columns that lie side by side, at least as many in a row as a vector has lanes.
template <pooling_kind Kind, int Width, class C>
void pool_whole_windows(const C* plane, std::int64_t pitch, const pooling_window& window, std::int64_t rows,
                        std::int64_t columns, C* values) {
  using vector = simd<C>;
  constexpr std::int64_t lanes = vector::lanes;
  for (std::int64_t row = 0; row < rows; ++row, plane += window.row_stride * pitch, values += columns) {
    for (std::int64_t j = 0; j < columns; j += lanes) {
      const std::int64_t at = std::min(j, columns - lanes);
      vector of_columns[Width];
      for (int i = 0; i < Width; ++i) {
        const C* from = plane + at * Width + i * lanes;
        of_columns[i] = vector::load(from);
        for (std::int64_t r = 1; r < window.height; ++r) {
          of_columns[i] = joined_in_window<Kind>(of_columns[i], vector::load(from += pitch));
        }
      }
      take_windows_apart(of_columns);
      vector value = of_columns[0];
      for (int c = 1; c < Width; ++c) value = joined_in_window<Kind>(value, of_columns[c]);
      finished_windows<Kind>(value, window.height * Width).store(values + at);
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
    if (!are_whole || window.column_stride != window.width || columns < simd<C>::lanes) return false;
    if (window.width == 2) {
      pool_whole_windows<Kind, 2>(plane, pitch, window, rows, columns, values);
      return true;
    }
    if (window.width == 4) {
      pool_whole_windows<Kind, 4>(plane, pitch, window, rows, columns, values);
      return true;
    }
  }
  return false;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
