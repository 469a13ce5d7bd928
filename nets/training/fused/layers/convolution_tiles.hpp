// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions of a step with square filters of 3 or 5 and stride 1. A thread has a tile of a few channels by a few
/// rows of one column. The taps of one filter column share the values that it loads. Edges of zeros around the planes
/// spare all checks of indices. The gradient of x is the same sum as y, of dy and the filters turned around.
///
/// The last tile of a column ends with the plane, so it repeats rows of the tile before it, which it does not write.

#include "fused/plan/step_table.hpp"
#include "step_team.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>

namespace prumo::nets {

/// Images in scratch memory.
template <class C>
struct step_images {
  C* memory;
  int elements;  ///< of an image
  int count;

  PRUMO_STEP_FUNCTION C* image(int which) const { return memory + which * elements; }
};

/// f'(x) from y = f(x).
template <class C>
PRUMO_STEP_FUNCTION C slope_of(activation function, C y) {
  switch (function) {
    case activation::relu: return y > C(0) ? C(1) : C(0);
    case activation::sigmoid: return y * (C(1) - y);
    case activation::tanh: return prumo::fma(-y, y, C(1));
    default: return C(1);
  }
}

/// Replaces several numbers by their activations. One choice for all of them lets their chains of operations overlap.
template <int Count, class C>
PRUMO_STEP_FUNCTION void activate_all(activation function, C (&x)[Count]) {
  switch (function) {
    case activation::relu:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) x[i] = prumo::maximum(x[i], C(0));
      break;
    case activation::sigmoid:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) x[i] = prumo::sigmoid(x[i]);
      break;
    case activation::tanh:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) x[i] = prumo::tanh(x[i]);
      break;
    default: break;
  }
}

template <class C>
PRUMO_STEP_FUNCTION C activated(activation function, C x) {
  C values[1] = {x};
  activate_all(function, values);
  return values[0];
}

/// dy[i] *= f'(x) from y[i] = f(x).
template <int Count, class C>
PRUMO_STEP_FUNCTION void multiply_by_slopes(activation function, const C (&y)[Count], C (&dy)[Count]) {
  switch (function) {
    case activation::relu:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) dy[i] *= slope_of(activation::relu, y[i]);
      break;
    case activation::sigmoid:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) dy[i] *= slope_of(activation::sigmoid, y[i]);
      break;
    case activation::tanh:
      PRUMO_UNROLL
      for (int i = 0; i < Count; ++i) dy[i] *= slope_of(activation::tanh, y[i]);
      break;
    default: break;
  }
}

/// sum[m][row] += sum over channels and taps of weights * x, for Maps neighbouring outputs. Weights lie as
/// step_layer::forward_copy says. The sum is over every `channel_step`th channel, beginning with `first_channel`.
template <int Side, int Maps, class C>
PRUMO_STEP_FUNCTION void add_taps(const C* x, const step_planes& planes, int first_channel, int channel_step,
                                  int channels, const C* weights, int padded_maps, C (&sum)[Maps][tile_rows]) {
  using pack = prumo::detail::device_pack<C, Maps>;
  int row_offset[tile_rows + Side - 1];
  PRUMO_UNROLL
  for (int i = 0; i < tile_rows + Side - 1; ++i) row_offset[i] = first_channel * planes.plane + i * planes.pitch;
  weights += first_channel * (Side * Side) * padded_maps;
  PRUMO_KEEP_LOOP
  for (int channel = first_channel; channel < channels; channel += channel_step) {
    const C* taps_at = weights;
    PRUMO_UNROLL
    for (int column = 0; column < Side; ++column) {
      C values[tile_rows + Side - 1];
      PRUMO_UNROLL
      for (int i = 0; i < tile_rows + Side - 1; ++i) values[i] = x[row_offset[i] + column];
      PRUMO_UNROLL
      for (int row = 0; row < Side; ++row) {
        const pack taps = *reinterpret_cast<const pack*>(taps_at);
        taps_at += padded_maps;
        PRUMO_UNROLL
        for (int m = 0; m < Maps; ++m) {
          PRUMO_UNROLL
          for (int r = 0; r < tile_rows; ++r) sum[m][r] = prumo::fma(taps.values[m], values[r + row], sum[m][r]);
        }
      }
    }
    x += channel_step * planes.plane;
    weights += channel_step * (Side * Side) * padded_maps;
  }
}

/// What a sum of products with a filter reads and writes, whichever way it goes.
struct tiled_sum {
  step_planes from, to;
  int row_edge, column_edge;  ///< of the zeros before the first row and column that the filter meets
  int from_channels;
  int to_channels, to_height, to_width;
  int padded_maps;
  step_tiles tiles;
};

/// Rows of a tile that a thread writes.
struct tile_range {
  int begin, end;
};

/// write(place of the tile's first row, channel, sums, rows) for the tiles of all images. With fewer tiles than threads
/// 2^part_shift neighbouring lanes share the channels of a tile of two maps. They add their sums and share the rows.
template <int Side, int Maps, class Team, class C, class Write>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write) {
  const int part_shift = Team::lanes == 1 || Maps != 2 ? 0 : it.tiles.part_shift, parts = 1 << part_shift;
  const int total = (images.count * it.tiles.grid.of_an_image) << part_shift;
  // All lanes of a stretch exchange sums, so those without a tile of their own repeat the last one.
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const bool has_tile = begin + team.lane() < total;
    const int item = has_tile ? begin + team.lane() : total - 1;
    const int part = item & (parts - 1);
    const item_place at(item >> part_shift, it.tiles.grid);
    const int first_row = at.row * tile_rows, first_map = at.channel * Maps;
    const int row = first_row + tile_rows <= it.to_height ? first_row : it.to_height - tile_rows;
    C* const memory = images.image(at.image);
    C sum[Maps][tile_rows] = {};
    add_taps<Side, Maps>(memory + it.from.begin + (row - it.row_edge) * it.from.pitch + at.column - it.column_edge,
                         it.from, part, parts, it.from_channels, weights + first_map, it.padded_maps, sum);
    C* const to = memory + it.to.begin + first_map * it.to.plane + row * it.to.pitch + at.column;
    tile_range rows{first_row - row, tile_rows};
    if (part_shift == 0) {
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) {
        if (has_tile && first_map + m < it.to_channels) write(to + m * it.to.plane, first_map + m, sum[m], rows);
      }
      continue;
    }
    const bool upper = (part & 1) != 0;
    C kept[tile_rows];
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) {
      const C other = sum[Maps - 1][r];
      kept[r] = (upper ? other : sum[0][r]) + team.across(upper ? sum[0][r] : other, 1);
    }
    if (part_shift > 1) {
      PRUMO_UNROLL
      for (int r = 0; r < tile_rows; ++r) kept[r] += team.across(kept[r], 2);
      constexpr int half = (tile_rows + 1) / 2;
      if ((part & 2) != 0) {
        if (rows.begin < half) rows.begin = half;
      } else {
        rows.end = half;
      }
    }
    const int map = first_map + (upper ? 1 : 0);
    if (has_tile && map < it.to_channels) write(upper ? to + it.to.plane : to, map, kept, rows);
  }
}

template <int Side, class Team, class C, class Write>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write) {
  if (it.tiles.maps == 4) {
    sum_tiles<Side, 4>(team, it, images, weights, write);
  } else {
    sum_tiles<Side, 2>(team, it, images, weights, write);
  }
}

/// What the sum y of a convolution reads and writes.
PRUMO_STEP_FUNCTION tiled_sum forward_sum(const step_layer& it) {
  return {it.x,          it.y,         it.row_padding, it.column_padding, it.in_channels, it.out_channels,
          it.out_height, it.out_width, it.padded_out,  it.forward};
}

/// What the sum dx reads and writes.
PRUMO_STEP_FUNCTION tiled_sum backward_sum(const step_layer& it) {
  const int side = it.filter_height;
  return {it.dy,
          it.dx,
          side - 1 - it.row_padding,
          side - 1 - it.column_padding,
          it.out_channels,
          it.in_channels,
          it.in_height,
          it.in_width,
          it.padded_in,
          it.backward};
}

/// y of a convolution.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* copies) {
  const tiled_sum what = forward_sum(it);
  const C* const bias = it.bias_copy < 0 ? nullptr : copies + it.bias_copy;
  const activation function = it.activate;
  sum_tiles<Side>(team, what, images, copies + it.forward_copy,
                  [&](C* to, int channel, C(&sum)[tile_rows], tile_range rows) {
                    const C of_channel = bias == nullptr ? C(0) : bias[channel];
                    PRUMO_UNROLL
                    for (int r = 0; r < tile_rows; ++r) sum[r] += of_channel;
                    activate_all(function, sum);
                    PRUMO_UNROLL
                    for (int r = 0; r < tile_rows; ++r) {
                      if (r >= rows.begin && r < rows.end) to[r * what.to.pitch] = sum[r];
                    }
                  });
}

/// dx of a convolution, times the slope of the activation that made x. It may take the place of x.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                                 const C* copies) {
  const tiled_sum what = backward_sum(it);
  const activation function = it.below;
  const int to_x = it.x.begin - it.dx.begin;
  sum_tiles<Side>(team, what, images, copies + it.backward_copy, [&](C* to, int, C(&sum)[tile_rows], tile_range rows) {
    C y[tile_rows];
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) y[r] = r >= rows.begin && r < rows.end ? to[r * what.to.pitch + to_x] : C(0);
    multiply_by_slopes(function, y, sum);
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) {
      if (r >= rows.begin && r < rows.end) to[r * what.to.pitch] = sum[r];
    }
  });
}

/// How many slices of the places of all images have a thread for each task.
struct sliced_tasks {
  int tasks, slices;

  PRUMO_STEP_FUNCTION sliced_tasks(int task_count, int threads, int places)
      : tasks(task_count), slices(threads / task_count) {
    if (slices > places) slices = places;
    if (slices < 1) slices = 1;
  }
};

/// The sums of one task over one slice of tiles: sum[m * Side + row] for two maps and the taps of a filter column, and
/// of_bias[m].
template <int Side, class C>
PRUMO_STEP_FUNCTION void sum_slice_of_gradients(const step_layer& it, const step_images<C>& images, int first_map,
                                                int channel, int tap_column, int slice, int slices,
                                                C (&sum)[2 * Side + 2]) {
  const item_grid grid = it.tile_places;
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
    for (int i = 0; i < tile_rows + Side - 1; ++i) values[i] = x[i * x_planes.pitch];
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
struct gradient_task {
  int first_map, channel, column;

  PRUMO_STEP_FUNCTION gradient_task(const step_layer& it, int task) {
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
/// \param partials room for partial_sums of partial_threads
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void add_tiled_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                             C* gradients, C* partials) {
  constexpr int sums = 2 * Side + 2;
  const int threads = team.size() < partial_threads<C> ? team.size() : partial_threads<C>;
  const sliced_tasks share((it.out_channels + 1) / 2 * it.in_channels * Side, threads,
                           images.count * it.tile_places.of_an_image);
  for (int item = team.rank(); item < share.tasks * share.slices; item += team.size()) {
    const int slice = share.slices == 1 ? 0 : item / share.tasks;
    const gradient_task<Side> task(it, item - slice * share.tasks);
    C sum[sums] = {};
    sum_slice_of_gradients<Side>(it, images, task.first_map, task.channel, task.column, slice, share.slices, sum);
    PRUMO_UNROLL
    for (int i = 0; i < sums; ++i) {
      if (share.slices > 1) {
        partials[i * partial_threads<C> + item] = sum[i];
      } else if (const int place = task.place_of(it, i); place >= 0) {
        gradients[place] += sum[i];
      }
    }
  }
  if (share.slices == 1) return;
  team.barrier();
  for (int item = team.rank(); item < share.tasks * sums; item += team.size()) {
    const int which = item / share.tasks, task = item - which * share.tasks;
    const int place = gradient_task<Side>(it, task).place_of(it, which);
    if (place < 0) continue;
    const C* const from = partials + which * partial_threads<C> + task;
    C total = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int slice = 0; slice < share.slices; ++slice) total += from[slice * share.tasks];
    gradients[place] += total;
  }
}

}  // namespace prumo::nets
