// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradient of a convolution's x where y has few rows: a thread has a whole column of two maps of dx. It loads each
/// number of a column of dy once, and multiplies it with all taps of a filter column. Numbers above and below dy, which
/// would be zeros, are not multiplied, and filter columns that lie beside dy are left out: neighbouring threads have
/// the same column of dx, so they leave out the same ones. There is no need for edges of zeros around dy.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// dx of a convolution, times the slope of the activation that made x. It takes the place of x.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_columns_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                                   const C* copies) {
  constexpr int maps = 2, rows = most_column_rows, results = rows + Side - 1;
  constexpr int map_sums = 16, sums = maps * map_sums;  // lanes share out a power of two of them
  static_assert(results <= map_sums);
  const int height = it.out_height, width = it.out_width, groups = (it.in_channels + maps - 1) / maps;
  int shift = it.backward.part_shift;
  while (1 << shift > Team::lanes) --shift;
  const int of_a_column = images.count * groups, parts = 1 << shift;
  const int total = (it.in_width * of_a_column) << shift;
  const activation function = it.below;
  // Lanes that share the channels of a column exchange sums, so those without a column of their own repeat the last
  // one.
  PRUMO_KEEP_LOOP
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const bool has_column = begin + team.lane() < total;
    const int item = has_column ? begin + team.lane() : total - 1;
    const int part = item & (parts - 1), column = (item >> shift) / of_a_column;
    const int in_column = (item >> shift) - column * of_a_column, image = in_column / groups;
    const int first_map = (in_column - image * groups) * maps;
    C* const memory = images.image(image);
    const int last_tap = column + it.column_padding;  // the one that meets the first column of dy
    const int tap_begin = last_tap < width ? 0 : last_tap - width + 1, tap_end = last_tap < Side ? last_tap + 1 : Side;
    const C* dy = memory + it.dy.begin + part * it.dy.plane + last_tap;
    // Copies are turned around: the last tap of a filter comes first.
    const C* weights =
        copies + it.backward_copy + part * it.backward_apart + first_map + (Side - 1) * Side * it.padded_in;
    C sum[sums] = {};
    PRUMO_KEEP_LOOP
    for (int channel = part; channel < it.out_channels; channel += parts) {
      PRUMO_KEEP_LOOP
      for (int tap = tap_begin; tap < tap_end; ++tap) {
        C values[rows];
        PRUMO_UNROLL
        for (int i = 0; i < rows; ++i) {
          // The first rows are always there.
          const bool is_there = i < least_column_rows || i < height;
          values[i] = is_there ? dy[i * it.dy.pitch - tap] : C(0);
        }
        PRUMO_UNROLL
        for (int row = 0; row < Side; ++row) {
          C taps[maps];
          load_taps(weights + ((Side - 1 - row) - tap * Side) * it.padded_in, taps);
          PRUMO_UNROLL
          for (int m = 0; m < maps; ++m) {
            PRUMO_UNROLL
            for (int i = 0; i < rows; ++i) {
              C& result = sum[m * map_sums + i + row];
              result = prumo::fma(taps[m], values[i], result);
            }
          }
        }
      }
      dy += parts * it.dy.plane;
      weights += parts * it.backward_apart;
    }
    const sums_of_lane mine = share_sums(team, sum, parts);
    const int padding = it.row_padding;
    PRUMO_UNROLL
    for (int m = 0; m < maps; ++m) {
      if (m * map_sums >= mine.count) break;
      // A lane has all sums of a map, or a part of them.
      const int map = first_map + (mine.first + m * map_sums) / map_sums, first_row = mine.first % map_sums;
      if (!has_column || map >= it.in_channels) continue;
      C* const to = memory + it.dx.begin + map * it.dx.plane + column + (first_row - padding) * it.dx.pitch;
      const int to_x = it.x.begin - it.dx.begin;
      C y[map_sums], slopes[map_sums];
      PRUMO_UNROLL
      for (int i = 0; i < map_sums; ++i) {
        const int row = first_row + i - padding;
        const bool is_there = i < mine.count && row >= 0 && row < it.in_height;
        y[i] = is_there ? to[i * it.dx.pitch + to_x] : C(0);
        slopes[i] = sum[m * map_sums + i];
      }
      multiply_by_slopes(function, y, slopes);
      PRUMO_UNROLL
      for (int i = 0; i < map_sums; ++i) {
        const int row = first_row + i - padding, place = i * it.dx.pitch;
        if (i < mine.count && row >= 0 && row < it.in_height) to[place] = slopes[i];
      }
    }
  }
}

}  // namespace prumo::nets
