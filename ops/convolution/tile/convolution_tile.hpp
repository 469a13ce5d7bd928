// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "convolution_geometry.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The output channels, rows and columns of a tile, and the filters that it is made for.
struct convolution_tile {
  int channels;
  int rows;
  int columns;
  int filter_columns;   ///< with a column stride of 1; 0: any filter and any stride
  int filter_rows = 0;  ///< with a row stride of 1; all weights of a filter are held in registers then. 0: any rows
  bool keeps_weights = false;  ///< for one input channel: the registers keep the weights from tile to tile
  /// The columns are those of x, in a *full* convolution: each element of x meets all weights. A thread spreads each
  /// over all the sums that it is part of, and neighbours add up those that they share, so that no product is with an
  /// element beside the image.
  bool spreads = false;
  int most_input_pack = 4;  ///< The most neighbours of a row of x that a load brings. Rows are multiples of them.
  /// Of tiles that keep weights: these are in constant memory instead of registers, for all output channels.
  bool has_constant_weights = false;

  /// Whether a tile computes what filters of such extents need.
  constexpr bool suits(const convolution_geometry& geometry) const {
    return (!spreads || is_full(geometry)) &&
           (filter_columns == 0 || (filter_columns == geometry.filter_columns && geometry.column_stride == 1)) &&
           (filter_rows == 0 || (filter_rows == geometry.filter_rows && geometry.row_stride == 1)) &&
           (keeps_weights ? geometry.in_channels == 1 : channels > 1 || geometry.out_channels == 1) &&
           (!has_constant_weights || geometry.out_channels <= channels);
  }
  /// Whether each element of an image meets all weights, and rows of x at both ends meet other rows of the filters.
  static constexpr bool is_full(const convolution_geometry& geometry) {
    return geometry.row_stride == 1 && geometry.column_stride == 1 &&
           geometry.row_padding == geometry.filter_rows - 1 && geometry.column_padding == geometry.filter_columns - 1 &&
           geometry.height >= geometry.filter_rows - 1;
  }
  /// The neighbouring sums of a row.
  KOKKOS_FUNCTION constexpr int sum_columns() const { return columns + (spreads ? filter_columns - 1 : 0); }
  KOKKOS_FUNCTION constexpr int sums() const { return channels * rows * sum_columns(); }
  /// The products with a column of a row of the filters.
  constexpr int products() const { return channels * rows * columns; }
  /// The number of teams of 256 threads whose registers must fit in a multiprocessor. Small tiles
  /// leave room for more teams, unless whole filters are held too.
  constexpr int resident_teams() const { return has_constant_weights || (sums() <= 32 && filter_rows == 0) ? 3 : 2; }
  /// The most threads of the one team that a multiprocessor holds of a kernel with a ring of images. They have 128
  /// registers, those without weights 64 or 80.
  constexpr int ring_threads() const { return !has_constant_weights ? 512 : sums() <= 32 ? 1024 : 768; }
  /// Neighbouring elements of a row of x that one load brings.
  KOKKOS_FUNCTION constexpr int input_pack(int most) const {
    if (filter_columns == 0) return 1;
    if (most > most_input_pack) most = most_input_pack;
    return columns % 4 == 0 && most >= 4 ? 4 : columns % 2 == 0 && most >= 2 ? 2 : 1;
  }
  /// Whether square windows of this side, which lie side by side, fill a tile exactly.
  KOKKOS_FUNCTION constexpr bool holds_windows(int side) const { return rows % side == 0 && columns % side == 0; }
  /// The distance between the weights of two neighbouring rows of the filters, in elements.
  KOKKOS_FUNCTION constexpr std::int64_t weight_row_elements(std::int64_t of_filter_columns) const {
    return (of_filter_columns * channels + 3) / 4 * 4;
  }
};

/// The number of neighbouring results that one store takes, if a row of a tile has `columns` of them.
KOKKOS_FUNCTION constexpr int results_at_once(int columns) { return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1; }

/// The same for the windows of a side in a tile. Where tiles share sums, a store ends with those of a tile alone, too.
KOKKOS_FUNCTION constexpr int results_at_once(convolution_tile tile, int side) {
  const int of_sums = results_at_once(tile.sum_columns() / side), of_tile = results_at_once(tile.columns / side);
  return of_sums < of_tile ? of_sums : of_tile;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
