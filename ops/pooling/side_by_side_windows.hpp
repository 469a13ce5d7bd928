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

/// Rows of whole windows of Width columns that lie side by side, at least as many in a row as a vector has lanes.
/// \tparam Height rows of a window, or 0 if they are known at run time only
template <pooling_kind Kind, int Width, int Height, class C>
void pool_whole_windows(const C* plane, std::int64_t pitch, const pooling_window& window, std::int64_t rows,
                        std::int64_t columns, C* values) {
  using vector = simd<C>;
  constexpr std::int64_t lanes = vector::lanes;
  const std::int64_t height = Height > 0 ? Height : window.height;
  const auto column_of = [=](const C* from) {
    vector joined = vector::load(from);
    PRUMO_UNROLL
    for (std::int64_t r = 1; r < height; ++r) {
      joined = joined_in_window<Kind>(joined, vector::load(from + r * pitch));
    }
    return joined;
  };
  for (std::int64_t row = 0; row < rows; ++row, plane += window.row_stride * pitch, values += columns) {
    for (std::int64_t j = 0; j < columns; j += lanes) {
      const std::int64_t at = std::min(j, columns - lanes);
      const C* const from = plane + at * Width;
      [&]<int... Column>(std::integer_sequence<int, Column...>) {
        vector of_columns[Width] = {column_of(from + Column * lanes)...};
        take_windows_apart(of_columns);
        vector value = of_columns[0];
        ((Column > 0 ? void(value = joined_in_window<Kind>(value, of_columns[Column])) : void()), ...);
        finished_windows<Kind>(value, height * Width).store(values + at);
      }(std::make_integer_sequence<int, Width>());
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
