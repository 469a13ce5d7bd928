// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_tiles.hpp"

#include "net_share.hpp"

namespace prumo::nets {
namespace {

/// Tiles of six or four maps if there are enough for the threads of a team. Otherwise tiles of two. Several lanes
/// share a tile while threads are left. Teams with few images do without tiles of six, and share those of two alone.
step_tiles tiles_of(const step_table& table, int maps, int height, int width, int summed_channels) {
  const int groups = (height - 1) / tile_rows + 1;
  const bool has_many = has_large_tiles(table.shape);
  step_tiles result;
  for (const int of_a_tile : {6, 4, 2}) {
    if (of_a_tile > 2 && (maps % of_a_tile != 0 || (of_a_tile == 6 && !has_many))) continue;
    result.maps = of_a_tile;
    const int of_maps = (maps - 1) / of_a_tile + 1;
    result.grid = has_many_weights(table.shape) ? item_grid(groups, of_maps, width) : item_grid(of_maps, groups, width);
    const std::int64_t tiles = std::int64_t{table.images_at_once} * result.grid.of_an_image;
    result.part_shift = 0;
    while ((has_many || of_a_tile == 2) && result.part_shift < 2 && tiles << (result.part_shift + 1) <= step_threads &&
           2 << result.part_shift <= summed_channels) {
      ++result.part_shift;
    }
    if (tiles << result.part_shift >= (has_many ? step_threads / 2 : step_threads * 3 / 4)) break;
  }
  return result;
}

/// The same for a team that shares a net: tiles of two maps, whose channels and columns of filters lanes share.
step_tiles shared_tiles_of(int maps, int height, int width, int summed_channels, int side) {
  step_tiles result;
  result.maps = lane_tile_maps;
  result.grid = item_grid((maps + lane_tile_maps - 1) / lane_tile_maps, (height - 1) / tile_rows + 1, width);
  while (result.part_shift < most_tile_lanes_shift &&
         result.grid.of_an_image << (result.part_shift + 1) <= step_threads &&
         2 << result.part_shift <= summed_channels * side) {
    ++result.part_shift;
  }
  return result;
}

/// Two lanes that share the channels of a tile read from different banks of a device's memory if half of the banks
/// lie between their planes, or at least as many as neighbouring tiles take with their columns.
int run_of(const step_tiles& tiles, int plane, int channels) {
  constexpr int banks = 32;
  const int parts = 1 << tiles.part_shift;
  if (parts != 2) return 1;
  for (const int run : {1, 2, 4}) {
    if (run * plane % banks == banks / 2 && channels % (run * parts) == 0) return run;
  }
  for (const int run : {1, 2, 3, 4}) {
    const int apart = run * plane % banks;
    if (channels % (run * parts) == 0 && apart >= tiles.grid.columns && banks - apart >= tiles.grid.columns) return run;
  }
  return 1;
}

}  // namespace

void plan_layer_tiles(std::int64_t element_bytes, step_table& table, net_share* share) {
  for (int i = 0; i < table.layers; ++i) {
    step_layer& it = table.layer[i];
    if (!it.takes_tiles) continue;
    const auto tiles = [&](int maps, int height, int width, int summed_channels) {
      return share == nullptr ? tiles_of(table, maps, height, width, summed_channels)
                              : shared_tiles_of(maps, height, width, summed_channels, it.filter_width);
    };
    it.forward = tiles(it.out_channels, it.out_height, it.out_width, it.in_channels);
    it.backward = tiles(it.in_channels, it.in_height, it.in_width, it.out_channels);
    it.forward.run = run_of(it.forward, it.x.plane, it.in_channels);
    it.backward.run = run_of(it.backward, it.dy.plane, it.out_channels);
    if (it.takes_columns) {
      const int columns = table.images_at_once * ((it.in_channels + 1) / 2) * it.in_width;
      it.backward.part_shift = 0;
      while (it.backward.part_shift < most_column_shift && columns << (it.backward.part_shift + 1) <= step_threads &&
             2 << it.backward.part_shift <= it.out_channels) {
        ++it.backward.part_shift;
      }
    }
    const int across = has_many_weights(table.shape) ? (it.out_width - 1) / tile_rows + 1 : it.out_width;
    it.gradient_places = item_grid(1, (it.out_height - 1) / tile_rows + 1, across);
    if (share != nullptr) {
      share->layer[i].gradient_tasks = plan_gradient_tasks(it, element_bytes);
    }
  }
}

}  // namespace prumo::nets
