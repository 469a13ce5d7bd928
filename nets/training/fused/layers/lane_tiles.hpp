// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The sums of convolution_tiles.hpp where a team of a cluster has a few channels of one image. Neighbouring lanes
/// share a tile of two maps: each has some filter columns of some channels, and in the end some of the sums. The loop
/// is short, because all layers of a step go through the memory of instructions once.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// Sums of a tile, a power of two: those of a map begin at multiples of eight.
inline constexpr int lane_tile_map_sums = 8, lane_tile_sums = lane_tile_maps * lane_tile_map_sums;

/// target(channel).put(row, column, sum) for each element of the sums. A thread asks for its targets before it sums.
template <int Side, class Team, class C, class Target>
PRUMO_STEP_FUNCTION void sum_by_lanes(const Team& team, const tiled_sum& it, C* memory, const C* weights,
                                      const Target& target) {
  int shift = it.tiles.part_shift;
  while (1 << shift > Team::lanes) --shift;
  const item_grid grid = it.tiles.grid;
  const int lanes = 1 << shift, total = grid.of_an_image << shift, columns = it.from_channels * Side;
  // All lanes of a stretch exchange sums, so those without a tile of their own repeat the last one.
  PRUMO_KEEP_LOOP
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const bool has_tile = begin + team.lane() < total;
    const int item = has_tile ? begin + team.lane() : total - 1;
    const item_place at(item >> shift, grid);
    const int first_row = at.row * tile_rows, first_map = at.channel * lane_tile_maps;
    const int row = first_row + tile_rows <= it.to_height ? first_row : it.to_height - tile_rows;
    const C* const x = memory + it.from.begin + (row - it.row_edge) * it.from.pitch + at.column - it.column_edge;
    const auto first_target = target(first_map);
    const auto second_target = target(first_map + 1 < it.to_channels ? first_map + 1 : first_map);
    C sum[lane_tile_sums] = {};
    PRUMO_KEEP_LOOP
    for (int which = item & (lanes - 1); which < columns; which += lanes) {
      const int channel = which / Side, column = which - channel * Side;
      const C* const from = x + channel * it.from.plane + column;
      const C* const taps_at = weights + first_map + channel * it.apart + column * Side * it.padded_maps;
      C values[tile_rows + Side - 1];
      PRUMO_UNROLL
      for (int i = 0; i < tile_rows + Side - 1; ++i) {
        const int place = i * it.from.pitch;
        values[i] = from[place];
      }
      PRUMO_UNROLL
      for (int tap = 0; tap < Side; ++tap) {
        C taps[lane_tile_maps];
        load_taps(taps_at + tap * it.padded_maps, taps);
        PRUMO_UNROLL
        for (int m = 0; m < lane_tile_maps; ++m) {
          PRUMO_UNROLL
          for (int r = 0; r < tile_rows; ++r) {
            C& of_row = sum[m * lane_tile_map_sums + r];
            of_row = prumo::fma(taps[m], values[r + tap], of_row);
          }
        }
      }
    }
    const sums_of_lane mine = share_sums(team, sum, lanes);
    const int end_map = has_tile ? it.to_channels - first_map : 0;
    PRUMO_UNROLL
    for (int i = 0; i < lane_tile_sums; ++i) {
      if (i >= mine.count) break;
      const int which = mine.first + i, m = which / lane_tile_map_sums, r = which % lane_tile_map_sums;
      if (r >= tile_rows || row + r < first_row || m >= end_map) continue;
      (m == 0 ? first_target : second_target).put(row + r, at.column, sum[i]);
    }
  }
}

/// A plane of y, where sums become results.
template <class C>
struct result_plane {
  C* begin;
  int pitch;
  C bias;
  bool is_relu;

  PRUMO_STEP_FUNCTION void put(int row, int column, C sum) const {
    sum += bias;
    begin[row * pitch + column] = is_relu ? prumo::maximum(sum, C(0)) : sum;
  }
};

/// y of a convolution.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_by_lanes(const Team& team, const step_layer& it, C* memory, const C* copies) {
  const activation function = it.activate;
  sum_by_lanes<Side>(team, forward_sum(it), memory, copies + it.forward_copy, [&](int channel) {
    return result_plane<C>{memory + it.y.begin + channel * it.y.plane, it.y.pitch,
                           it.bias_copy >= 0 ? copies[it.bias_copy + channel] : C(0), function == activation::relu};
  });
  if (function == activation::none || function == activation::relu) return;
  // The code of these is long, so there is one copy of it.
  team.barrier();
  PRUMO_KEEP_LOOP
  for (int item = team.rank(); item < it.y_items.of_an_image; item += team.size()) {
    const item_place at(item, it.y_items);
    C& y = memory[it.y.begin + at.channel * it.y.plane + at.row * it.y.pitch + at.column];
    y = activated(function, y);
  }
}

}  // namespace prumo::nets
