// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Where the results of the convolution in matrix units go.

#include "convolution_problem.hpp"
#include "staged_images.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where the results of a place go.
struct alignas(8) tensor_target {
  unsigned distance;  ///< from the first result of an item and a channel, in bytes
  int row_column;     ///< of the convolution, among those of the item: 16 bits each

  KOKKOS_FORCEINLINE_FUNCTION int row() const { return row_column >> 16; }
  KOKKOS_FORCEINLINE_FUNCTION int column() const { return row_column & 0xffff; }
};

/// What is there of an item's results. Some of its places may lie behind the last results.
struct item_extents {
  int places;
  int rows;  ///< of the convolution; those of windows alone
  int columns;

  /// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
  template <int Window, class T>
  KOKKOS_FORCEINLINE_FUNCTION static item_extents of(const convolution_problem<T>& problem, const tensor_layout& layout,
                                                     const tensor_item& item) {
    const auto extent = [](std::int64_t all, std::int64_t windows, int first, int of_band) {
      // Where their number was rounded down, there are rows behind the last window.
      const std::int64_t of_windows = windows * Window, end = all < of_windows ? all : of_windows;
      const std::int64_t left = end > first ? end - first : 0;
      return left < of_band ? static_cast<int>(left) : of_band;
    };
    return {item.images * layout.places_of_image(Window),
            extent(problem.rows, problem.y_rows, item.first_row, layout.band_rows()),
            extent(problem.columns, problem.y_columns, item.first_column, layout.band_columns)};
  }
};

/// Where the results of a thread's rows of weights go.
template <int WarpTiles>
struct tensor_targets {
  /// From the results of the item's first place and channel, of the lower and the upper half of a tile, in bytes.
  unsigned distance[WarpTiles][2];
  int stacked[WarpTiles][2];  ///< the row of the unit; behind all rows if there are no results
};

/// Compilers add 32 bits to an address that is the same for all threads in one instruction.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* tensor_result_at(T* first, unsigned bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + bytes);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
