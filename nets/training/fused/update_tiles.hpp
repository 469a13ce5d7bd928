// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the work that changes the weights lies in tiles.

#include "step_table.hpp"

#include <algorithm>

namespace prumo::nets {

/// Groups of images are summed in so many slices, which are then summed in order.
inline constexpr int filter_slices = 8;
/// Parameters of filters in a tile.
inline constexpr int tile_filters = 64;
/// Inputs of a dense layer in a tile.
inline constexpr int tile_columns = 32;

/// How a tile of a dense layer sums: for so many outputs, with the images of the step in so many slices.
struct wide_tiles {
  static constexpr int outputs = 8, slices = 8;
};
/// A layer with few tiles takes narrow ones, so that more teams have work.
struct narrow_tiles {
  static constexpr int outputs = 2, slices = 16;
};

/// The partial sums that a tile of any kind has.
inline constexpr int update_sums =
    std::max({filter_slices * tile_filters, wide_tiles::slices* wide_tiles::outputs* tile_columns,
              narrow_tiles::slices* narrow_tiles::outputs* tile_columns});

/// The tiles of one dense layer. Behind the last input comes the bias, as the weight of an input that is 1.
struct dense_tiles {
  int across, down;
  bool is_narrow;

  PRUMO_STEP_FUNCTION explicit dense_tiles(const step_layer& it)
      : across((it.in_size() + (it.bias >= 0 ? 1 : 0) + tile_columns - 1) / tile_columns),
        down((it.out_channels + wide_tiles::outputs - 1) / wide_tiles::outputs),
        is_narrow(across * down < fewest_wide_tiles) {
    if (is_narrow) down = (it.out_channels + narrow_tiles::outputs - 1) / narrow_tiles::outputs;
  }
  PRUMO_STEP_FUNCTION int count() const { return across * down; }

  static constexpr int fewest_wide_tiles = 64;
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
