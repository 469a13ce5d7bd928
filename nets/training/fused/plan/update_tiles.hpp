// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the work that changes the weights lies in tiles. A stretch of threads sums for a tile, over all images of a step
/// or over a slice of them.

#include <Kokkos_Macros.hpp>

namespace prumo::nets {

/// Parameters of filters, or inputs of a dense layer, in a tile; and outputs of a dense layer.
inline constexpr int tile_columns = 32;
inline constexpr int tile_outputs = 4;
inline constexpr int tile_sums = tile_columns * tile_outputs;

/// Nets with many weights have larger tiles of dense layers, because each factor is then loaded less often. Where teams
/// have many images, their sums go through scratch memory in parts that are as large as a tile of other nets.
inline constexpr int wide_columns = 2 * tile_columns;
inline constexpr int wide_outputs = 2 * tile_outputs;
inline constexpr int wide_sums = wide_columns * wide_outputs;
inline constexpr int wide_part_outputs = tile_sums / wide_columns;

/// The most slices in which a tile is summed. A team has room for so many tiles, or slices of them, at once.
inline constexpr int most_update_slices = 16;
inline constexpr int update_sums = most_update_slices * tile_sums;

/// Teams with few images take wide tiles if each has at least so many slices: otherwise a thread would have to change
/// many weights of a tile, one after the other.
inline constexpr int least_wide_slices = 4;

/// A tile.
struct update_tile {
  static constexpr int losses = -2, filters = -1;

  int layer;         ///< a dense layer, or one of the above
  int first_output;  ///< of a dense layer
  int first_column;  ///< of its inputs, behind which comes the bias as the weight of an input that is 1; or the first
                     ///< gradient of a filter
};

}  // namespace prumo::nets
