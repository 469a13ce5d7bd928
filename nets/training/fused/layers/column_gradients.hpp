// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of the weights and biases of convolutions that take tiles (convolution_tiles.hpp), where a team has
/// few images at once: the code is shorter than that of square_gradients.hpp, and more threads have work. A thread owns
/// some weights and sums over places, so lanes exchange nothing.

#include "convolution_tiles.hpp"
#include "fused/plan/net_share.hpp"

namespace prumo::nets {

/// How threads share tasks. If there are more threads than tasks, the places of all images are cut into slices, and
/// each task has a thread for each slice.
struct sliced_tasks {
  int tasks, slices;

  PRUMO_STEP_FUNCTION sliced_tasks(int task_count, int threads, int places)
      : tasks(task_count), slices(threads / task_count) {
    if (slices > places) slices = places;
    if (slices < 1) slices = 1;
  }
};

PRUMO_STEP_FUNCTION int slice_of(const sliced_tasks& share, int item) {
  return share.slices == 1 ? 0 : item / share.tasks;
}
PRUMO_STEP_FUNCTION int slice_of(const planned_tasks& share, int item) { return share.by_tasks.quotient(item); }

/// The sums of one task over one slice of tiles: sum[m * Side + row] for two maps and the taps of a filter column, and
/// of_bias[m].
template <int Side, class C>
PRUMO_STEP_FUNCTION void sum_slice_of_gradients(const step_layer& it, const step_images<C>& images, int first_map,
                                                int channel, int tap_column, int slice, int slices,
                                                C (&sum)[2 * Side + 2]) {
  const item_grid grid = it.gradient_places;
  const step_planes x_planes = it.x, dy_planes = it.dy;
  const int height = it.out_height;
  const int to_second = first_map + 1 < it.out_channels ? dy_planes.plane : 0;
  const int x_begin =
      x_planes.begin + channel * x_planes.plane - it.row_padding * x_planes.pitch + tap_column - it.column_padding;
  const int dy_begin = dy_planes.begin + first_map * dy_planes.plane;
  const int places = images.count * grid.of_an_image;
  PRUMO_KEEP_LOOP
  for (int place = slice; place < places; place += slices) {
    const item_place at(place, grid);
    const int first_row = at.row * tile_rows;
    const int row = first_row + tile_rows <= height ? first_row : height - tile_rows;
    const C* const memory = images.image(at.image);
    const C* const x = memory + x_begin + row * x_planes.pitch + at.column;
    const C* const dy = memory + dy_begin + row * dy_planes.pitch + at.column;
    C values[tile_rows + Side - 1];
    PRUMO_UNROLL
    for (int i = 0; i < tile_rows + Side - 1; ++i) {
      const int below = i * x_planes.pitch;
      values[i] = x[below];
    }
    PRUMO_UNROLL
    for (int m = 0; m < 2; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < tile_rows; ++r) {
        const C loaded = dy[m * to_second + r * dy_planes.pitch];
        const C slope = row + r >= first_row ? loaded : C(0);
        PRUMO_UNROLL
        for (int tap = 0; tap < Side; ++tap) {
          sum[m * Side + tap] = prumo::fma(slope, values[r + tap], sum[m * Side + tap]);
        }
        sum[2 * Side + m] += slope;
      }
    }
  }
}

/// What a thread sums for the gradients of a convolution: two output channels, an input channel and a filter column.
template <int Side>
struct column_task {
  int first_map, channel, column;

  PRUMO_STEP_FUNCTION column_task(const step_layer& it, int task) {
    const int filter = task / Side, map_group = it.x_items.by_channels.quotient(filter);
    first_map = 2 * map_group;
    channel = filter - map_group * it.in_channels;
    column = task - filter * Side;
  }
  /// The place of a sum among the gradients of the layer; -1: none.
  PRUMO_STEP_FUNCTION int place_of(const step_layer& it, int sum) const {
    const bool is_bias = sum >= 2 * Side;
    const int map = first_map + (is_bias ? sum - 2 * Side : sum / Side);
    if (map >= it.out_channels) return -1;
    if (!is_bias) return (map * it.in_channels + channel) * (Side * Side) + sum % Side * Side + column;
    return it.bias >= 0 && channel == 0 && column == 0 ? it.weight_count() + map : -1;
  }
};

/// Adds to the gradients of the weights, [out][in][taps], and of the bias behind them. A thread has a task. If there
/// are more threads, they share the places.
/// \param partials room for column_sums of column_threads
/// \param share how threads share the tasks
template <int Side, scalar_step_team Team, class C, class Tasks>
PRUMO_STEP_FUNCTION void add_tiled_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                             C* gradients, C* partials, const Tasks& share) {
  constexpr int sums = 2 * Side + 2;
  for (int item = team.rank(); item < share.tasks * share.slices; item += team.size()) {
    const int slice = slice_of(share, item);
    const column_task<Side> task(it, item - slice * share.tasks);
    C sum[sums] = {};
    sum_slice_of_gradients<Side>(it, images, task.first_map, task.channel, task.column, slice, share.slices, sum);
    PRUMO_UNROLL
    for (int i = 0; i < sums; ++i) {
      if (share.slices > 1) {
        partials[i * column_threads<C> + item] = sum[i];
      } else if (const int place = task.place_of(it, i); place >= 0) {
        gradients[place] += sum[i];
      }
    }
  }
  if (share.slices == 1) return;
  team.barrier();
  // Teams of a cluster have few tasks, so lanes share the slices.
  const sum_lanes lanes = Team::shape == step_shape::share ? sum_lanes::of(team, share.tasks * sums) : sum_lanes{};
  const int all = (share.tasks * sums) << lanes.shift;
  for (int begin = team.rank() - (lanes.shift > 0 ? team.lane() : 0); begin < all; begin += team.size()) {
    const int place_of_thread = begin + (lanes.shift > 0 ? team.lane() : 0);
    const int item = (place_of_thread < all ? place_of_thread : all - 1) >> lanes.shift;
    const int which = slice_of(share, item), task = item - which * share.tasks;
    const int place = column_task<Side>(it, task).place_of(it, which);
    if (lanes.shift == 0 && place < 0) continue;
    const C* const from = partials + which * column_threads<C> + task;
    const int slices = place < 0 ? 0 : share.slices;
    C total = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int slice = place_of_thread & (lanes.count() - 1); slice < slices; slice += lanes.count()) {
      total += from[slice * share.tasks];
    }
    if (lanes.shift > 0) total = lanes.sum(team, total);
    const bool writes = place_of_thread < all && (place_of_thread & (lanes.count() - 1)) == 0;
    if (writes && place >= 0) gradients[place] += total;
  }
}

template <int Side, scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void add_tiled_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                             C* gradients, C* partials) {
  const int threads = team.size() < column_threads<C> ? team.size() : column_threads<C>;
  const sliced_tasks share((it.out_channels + 1) / 2 * it.in_channels * Side, threads,
                           images.count * it.gradient_places.of_an_image);
  add_tiled_gradients<Side>(team, it, images, gradients, partials, share);
}

}  // namespace prumo::nets
