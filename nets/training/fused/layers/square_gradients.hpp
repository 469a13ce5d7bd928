// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of the weights and biases of convolutions that take tiles (convolution_tiles.hpp), where a team has
/// many images at once. A thread has one
/// filter of one channel: the sums of all its taps stay in registers while it goes over squares of places. Each value
/// of dy and x that it loads serves many of these sums.
///
/// The last squares of a row and a column end with the plane, so they repeat places, which count as zeros.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// The sums of a filter's taps and of its bias, [column][row] and then the bias, and zeros up to a power of two.
template <int Side>
inline constexpr int gradient_sums = Side == 5 ? 32 : 16;

/// How threads share tasks: neighbouring lanes, and slices of threads beside that, have the same task and other places.
struct shared_tasks {
  int tasks, lanes_shift, slices;

  template <class Team>
  PRUMO_STEP_FUNCTION shared_tasks(const Team& team, int task_count, int places)
      : tasks(task_count), lanes_shift(0), slices(1) {
    constexpr int most = Team::lanes < most_gradient_lanes ? Team::lanes : most_gradient_lanes;
    while (2 << lanes_shift <= most && task_count << (lanes_shift + 1) <= team.size()) ++lanes_shift;
    if (1 << lanes_shift == most_gradient_lanes) {
      const int all = (places - 1) / most_gradient_lanes + 1;
      slices = team.size() / (most_gradient_lanes * tasks);
      if (slices > all) slices = all;
      if (slices < 1) slices = 1;
    }
  }
  PRUMO_STEP_FUNCTION int lanes() const { return 1 << lanes_shift; }
};

/// Adds the products of a square of places.
/// \param x the pixel under the first tap at the first place
/// \param first_row,first_column of the places that count
template <int Side, class C>
PRUMO_STEP_FUNCTION void add_square(const C* x, int x_pitch, const C* dy, int dy_pitch, int first_row, int first_column,
                                    C (&sum)[gradient_sums<Side>]) {
  C slopes[tile_rows][tile_rows];
  PRUMO_UNROLL
  for (int r = 0; r < tile_rows; ++r) {
    PRUMO_UNROLL
    for (int k = 0; k < tile_rows; ++k) {
      const C loaded = dy[r * dy_pitch + k];
      slopes[r][k] = r >= first_row && k >= first_column ? loaded : C(0);
      sum[Side * Side] += slopes[r][k];
    }
  }
  PRUMO_UNROLL
  for (int column = 0; column < tile_rows + Side - 1; ++column) {
    C values[tile_rows + Side - 1];
    PRUMO_UNROLL
    for (int i = 0; i < tile_rows + Side - 1; ++i) values[i] = x[i * x_pitch + column];
    PRUMO_UNROLL
    for (int tap = 0; tap < Side; ++tap) {
      const int k = column - tap;
      if (k < 0 || k >= tile_rows) continue;
      PRUMO_UNROLL
      for (int r = 0; r < tile_rows; ++r) {
        PRUMO_UNROLL
        for (int row = 0; row < Side; ++row) {
          sum[tap * Side + row] = prumo::fma(slopes[r][k], values[r + row], sum[tap * Side + row]);
        }
      }
    }
  }
}

/// The place of a sum among the gradients of the layer, [out][in][taps] and then the biases; -1: none.
template <int Side>
PRUMO_STEP_FUNCTION int gradient_place(const step_layer& it, int filter, int map, int channel, int sum) {
  if (sum < Side * Side) return filter * (Side * Side) + sum % Side * Side + sum / Side;
  return sum == Side * Side && it.bias >= 0 && channel == 0 ? it.weight_count() + map : -1;
}

/// Adds to the gradients of the weights, and of the bias behind them.
/// \param partials room for partial_sums
template <int Side, scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void add_square_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                              C* gradients, C* partials) {
  constexpr int sums = gradient_sums<Side>;
  const item_grid grid = it.gradient_places;
  const step_planes x_planes = it.x, dy_planes = it.dy;
  const int last_row = it.out_height - tile_rows, last_column = it.out_width - tile_rows;
  const int places = images.count * grid.of_an_image;
  const shared_tasks share(team, it.out_channels * it.in_channels, places);
  const int all_slices = share.slices << share.lanes_shift, total = share.tasks * all_slices;
  // All lanes of a stretch exchange sums, so those without a task of their own repeat the last one.
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const bool has_task = begin + team.lane() < total;
    const int item = has_task ? begin + team.lane() : total - 1;
    const int lane = item & (share.lanes() - 1), owner = item >> share.lanes_shift;
    const int far = share.slices == 1 ? 0 : owner / share.tasks, filter = owner - far * share.tasks;
    const int map = it.x_items.by_channels.quotient(filter), channel = filter - map * it.in_channels;
    const int x_begin = x_planes.begin + channel * x_planes.plane - it.row_padding * x_planes.pitch - it.column_padding;
    const int dy_begin = dy_planes.begin + map * dy_planes.plane;
    C sum[sums] = {};
    PRUMO_KEEP_LOOP
    for (int place = (far << share.lanes_shift) + lane; place < places; place += all_slices) {
      const item_place at(place, grid);
      const int first_row = at.row * tile_rows, first_column = at.column * tile_rows;
      const int row = first_row < last_row ? first_row : last_row;
      const int column = first_column < last_column ? first_column : last_column;
      const C* const memory = images.image(at.image);
      add_square<Side>(memory + x_begin + row * x_planes.pitch + column, x_planes.pitch,
                       memory + dy_begin + row * dy_planes.pitch + column, dy_planes.pitch, first_row - row,
                       first_column - column, sum);
    }
    const sums_of_lane mine = share_sums(team, sum, share.lanes());
    PRUMO_UNROLL
    for (int i = 0; i < sums; ++i) {
      // What stands behind need not be loaded: the memory of instructions is short.
      if (i >= mine.count) break;
      if (!has_task) continue;
      const int which = mine.first + i;
      if (share.slices > 1) {
        partials[owner * sums + which] = sum[i];
      } else if (const int place = gradient_place<Side>(it, filter, map, channel, which); place >= 0) {
        gradients[place] += sum[i];
      }
    }
  }
  if (share.slices == 1) return;
  team.barrier();
  for (int item = team.rank(); item < share.tasks * sums; item += team.size()) {
    const int filter = item / sums, map = it.x_items.by_channels.quotient(filter);
    const int place = gradient_place<Side>(it, filter, map, filter - map * it.in_channels, item % sums);
    if (place < 0) continue;
    C total_of_slices = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int slice = 0; slice < share.slices; ++slice) {
      total_of_slices += partials[(slice * share.tasks) * sums + item];
    }
    gradients[place] += total_of_slices;
  }
}

}  // namespace prumo::nets
