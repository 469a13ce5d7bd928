// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the work that changes the weights lies in tiles.

#include "step_table.hpp"

namespace prumo::nets {

/// The images of a step, and the groups of images, are summed in so many slices, which are then summed in order.
inline constexpr int step_slices = 8;
/// The sums that a team has at once.
inline constexpr int slice_sums = 256;

/// Inputs and outputs of a dense layer in a tile, and the outputs that a thread has at once.
inline constexpr int tile_columns = 32;
inline constexpr int tile_outputs = slice_sums / tile_columns;
inline constexpr int outputs_at_once = tile_outputs / 2;
/// Parameters of filters in a tile.
inline constexpr int tile_filters = 64;

/// The tiles of one dense layer. Behind the last input comes the bias, as the weight of an input that is 1.
struct dense_tiles {
  int across, down;

  PRUMO_STEP_FUNCTION explicit dense_tiles(const step_layer& it)
      : across((it.in_size() + (it.bias >= 0 ? 1 : 0) + tile_columns - 1) / tile_columns),
        down((it.out_channels + tile_outputs - 1) / tile_outputs) {}
  PRUMO_STEP_FUNCTION int count() const { return across * down; }
};

/// The number of tiles of a step. The first one sums the losses.
PRUMO_STEP_FUNCTION int update_tiles(const step_table& table) {
  int tiles = 1 + (table.gradients + tile_filters - 1) / tile_filters;
  for (int which = 0; which < table.layers; ++which) {
    if (table.layer[which].kind == step_kind::dense) tiles += dense_tiles(table.layer[which]).count();
  }
  return tiles;
}

}  // namespace prumo::nets
