// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions of a step with filters of 3 x 3 or 5 x 5 taps and stride 1. A thread computes a tile: a few rows of one
/// column, in a few channels. All taps of a filter column use the values that it has loaded. Edges of zeros surround
/// the planes, so no index is checked. The gradient of x is the same kind of sum as y: of dy and the filters turned
/// around.
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

/// The weights of neighbouring outputs, aligned for two of them, or for four if there are as many.
template <int Maps, class C>
PRUMO_STEP_FUNCTION void load_taps(const C* from, C (&taps)[Maps]) {
  constexpr int elements = Maps >= 4 ? 4 : 2;
  PRUMO_UNROLL
  for (int m = 0; m < Maps; m += elements) {
    if (m + elements <= Maps) {
      const auto pack = *reinterpret_cast<const prumo::detail::device_pack<C, elements>*>(from + m);
      PRUMO_UNROLL
      for (int e = 0; e < elements; ++e) taps[m + e] = pack.values[e];
    } else {
      const auto pack = *reinterpret_cast<const prumo::detail::device_pack<C, 2>*>(from + m);
      taps[Maps - 2] = pack.values[0];
      taps[Maps - 1] = pack.values[1];
    }
  }
}

/// sum[m][row] += sum over a part of the channels, and taps, of weights * x, for Maps neighbouring outputs. Weights lie
/// as step_layer::forward_copy says. Each part has every `parts`th run of `run` channels.
/// \tparam ColumnsAtOnce columns of a filter whose code stands one behind the other
template <int Side, int Maps, int ColumnsAtOnce, class C>
PRUMO_STEP_FUNCTION void add_taps(const C* x, const step_planes& planes, int part, int parts, int run, int channels,
                                  const C* weights, int apart, int padded_maps, C (&sum)[Maps][tile_rows]) {
  const int first_channel = part * run;
  int row_offset[tile_rows + Side - 1];
  PRUMO_UNROLL
  for (int i = 0; i < tile_rows + Side - 1; ++i) row_offset[i] = first_channel * planes.plane + i * planes.pitch;
  weights += first_channel * apart;
  int left_of_run = run;
  PRUMO_KEEP_LOOP
  for (int channel = first_channel; channel < channels;) {
    const C* taps_at = weights;
    PRUMO_KEEP_LOOP
    for (int first = 0; first < Side; first += ColumnsAtOnce) {
      PRUMO_UNROLL
      for (int column = 0; column < ColumnsAtOnce; ++column) {
        C values[tile_rows + Side - 1];
        PRUMO_UNROLL
        for (int i = 0; i < tile_rows + Side - 1; ++i) values[i] = x[row_offset[i] + first + column];
        PRUMO_UNROLL
        for (int row = 0; row < Side; ++row) {
          C taps[Maps];
          load_taps(taps_at, taps);
          taps_at += padded_maps;
          PRUMO_UNROLL
          for (int m = 0; m < Maps; ++m) {
            PRUMO_UNROLL
            for (int r = 0; r < tile_rows; ++r) sum[m][r] = prumo::fma(taps[m], values[r + row], sum[m][r]);
          }
        }
      }
    }
    int ahead = 1;
    if (--left_of_run == 0) {
      left_of_run = run;
      ahead += (parts - 1) * run;
    }
    channel += ahead;
    x += ahead * planes.plane;
    weights += ahead * apart;
  }
}

/// What a sum of products with a filter reads and writes, whichever way it goes.
struct tiled_sum {
  step_planes from, to;
  int row_edge, column_edge;  ///< of the zeros before the first row and column that the filter meets
  int from_channels;
  int to_channels, to_height, to_width;
  int apart;  ///< elements from a channel's weights to those of the next one
  int padded_maps;
  step_tiles tiles;
};

/// Rows of a tile that a thread writes.
struct tile_range {
  int begin, end;
};

/// The place of a tile. Neighbouring lanes have neighbouring columns. Where nets have many weights, the next lanes have
/// the same place in other maps: their pixels are the same, and those of another group of rows would lie in the same
/// banks.
template <class Team>
struct tile_place {
  int image, map_group, row, column;

  PRUMO_STEP_FUNCTION tile_place(int item, const item_grid& grid) {
    const item_place at(item, grid);
    image = at.image;
    constexpr bool maps_first = has_many_weights(Team::shape);
    map_group = maps_first ? at.row : at.channel;
    row = maps_first ? at.channel : at.row;
    column = at.column;
  }
};

/// write(place of the tile's first row, channel, sums, rows) for the tiles of all images. With fewer tiles than threads
/// 2^part_shift neighbouring lanes share the channels of a tile. They add their sums and share the maps and rows.
/// \param finish(place of the first row, maps, rows) after a tile, for the maps that this thread has written
template <int Side, int Maps, class Team, class C, class Write, class Finish>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write, const Finish& finish) {
  // Of teams with few images only tiles of two maps have parts.
  constexpr bool has_parts = Team::lanes > 1 && (has_many_images<Team> || Maps == 2);
  const int part_shift = has_parts ? it.tiles.part_shift : 0, parts = 1 << part_shift;
  const int total = (images.count * it.tiles.grid.of_an_image) << part_shift;
  // All lanes of a stretch exchange sums, so those without a tile of their own repeat the last one.
  for (int begin = team.rank() - team.lane(); begin < total; begin += team.size()) {
    const bool has_tile = begin + team.lane() < total;
    const int item = has_tile ? begin + team.lane() : total - 1;
    const int part = item & (parts - 1);
    const tile_place<Team> at(item >> part_shift, it.tiles.grid);
    const int first_row = at.row * tile_rows, first_map = at.map_group * Maps;
    const int row = first_row + tile_rows <= it.to_height ? first_row : it.to_height - tile_rows;
    C* const memory = images.image(at.image);
    C sum[Maps][tile_rows] = {};
    add_taps<Side, Maps, has_many_images<Team> ? 1 : Side>(
        memory + it.from.begin + (row - it.row_edge) * it.from.pitch + at.column - it.column_edge, it.from, part, parts,
        it.tiles.run, it.from_channels, weights + first_map, it.apart, it.padded_maps, sum);
    C* const to = memory + it.to.begin + first_map * it.to.plane + row * it.to.pitch + at.column;
    tile_range rows{first_row - row, tile_rows};
    if (part_shift == 0) {
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) {
        if (has_tile && first_map + m < it.to_channels) write(to + m * it.to.plane, first_map + m, sum[m], rows);
      }
      if (has_tile) finish(to, Maps < it.to_channels - first_map ? Maps : it.to_channels - first_map, rows);
      continue;
    }
    const bool upper = (part & 1) != 0;
    if (part_shift > 1) {
      constexpr int half = (tile_rows + 1) / 2;
      if ((part & 2) != 0) {
        if (rows.begin < half) rows.begin = half;
      } else {
        rows.end = half;
      }
    }
    constexpr int half_maps = Maps / 2;
    PRUMO_UNROLL
    for (int m = 0; m < half_maps; ++m) {
      C kept[tile_rows];
      PRUMO_UNROLL
      for (int r = 0; r < tile_rows; ++r) {
        const C other = sum[half_maps + m][r];
        kept[r] = (upper ? other : sum[m][r]) + team.across(upper ? sum[m][r] : other, 1);
        if (part_shift > 1) kept[r] += team.across(kept[r], 2);
      }
      const int ahead = upper ? half_maps + m : m;
      if (has_tile && first_map + ahead < it.to_channels) {
        write(to + ahead * it.to.plane, first_map + ahead, kept, rows);
      }
    }
    const int from_map = upper ? half_maps : 0, left = it.to_channels - first_map - from_map;
    if (has_tile) finish(to + from_map * it.to.plane, half_maps < left ? half_maps : left, rows);
  }
}

template <int Side, class Team, class C, class Write, class Finish>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write, const Finish& finish) {
  if (has_many_images<Team> && it.tiles.maps == 6) {
    if constexpr (has_many_images<Team>) sum_tiles<Side, 6>(team, it, images, weights, write, finish);
  } else if (it.tiles.maps == 4) {
    sum_tiles<Side, 4>(team, it, images, weights, write, finish);
  } else {
    sum_tiles<Side, 2>(team, it, images, weights, write, finish);
  }
}

/// What the sum y of a convolution reads and writes.
PRUMO_STEP_FUNCTION tiled_sum forward_sum(const step_layer& it) {
  return {it.x,          it.y,         it.row_padding,   it.column_padding, it.in_channels, it.out_channels,
          it.out_height, it.out_width, it.forward_apart, it.padded_out,     it.forward};
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
          it.backward_apart,
          it.padded_in,
          it.backward};
}

/// Sets the edges around the planes of y to zero. Rows share the columns between them.
template <class Team, class C>
PRUMO_STEP_FUNCTION void clear_edges(const Team& team, const step_layer& it, const step_images<C>& images) {
  const step_planes y = it.y;
  const int height = it.out_height, columns = y.pitch - it.out_width;
  const int edge = it.cleared_rows, rows = height + 2 * edge + 1;
  for (int item = team.rank(); item < images.count * it.out_channels * rows; item += team.size()) {
    const int plane = item / rows, row = item - plane * rows - edge;
    const int image = it.y_items.by_channels.quotient(plane), channel = plane - image * it.out_channels;
    C* const begin = images.image(image) + y.begin - columns + channel * y.plane + row * y.pitch;
    const bool is_above_or_below = row < 0 || (row >= height && row < height + edge);
    const int count = is_above_or_below ? y.pitch : columns;
    for (int i = 0; i < count; ++i) begin[i] = 0;
  }
}

/// y of a convolution.
template <int Side, scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* copies) {
  const tiled_sum what = forward_sum(it);
  const C* const bias = it.bias_copy < 0 ? nullptr : copies + it.bias_copy;
  const activation function = it.activate;
  const auto write = [&](C* to, int channel, C(&sum)[tile_rows], tile_range rows) {
    const C of_channel = bias == nullptr ? C(0) : bias[channel];
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) sum[r] += of_channel;
    if (!has_many_images<Team>) {
      activate_all(function, sum);
    } else if (function == activation::relu) {
      activate_all(activation::relu, sum);
    }
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) {
      const int place = r * what.to.pitch;
      if (r >= rows.begin && r < rows.end) to[place] = sum[r];
    }
  };
  // The code of these activations is long, so large tiles have only one copy of it.
  const auto finish = [&]([[maybe_unused]] C* to, [[maybe_unused]] int maps, [[maybe_unused]] tile_range rows) {
    if constexpr (has_many_images<Team>) {
      if (function == activation::none || function == activation::relu) return;
      PRUMO_KEEP_LOOP
      for (int m = 0; m < maps; ++m, to += what.to.plane) {
        C values[tile_rows];
        PRUMO_UNROLL
        for (int r = 0; r < tile_rows; ++r) {
          const int place = r * what.to.pitch;
          values[r] = r >= rows.begin && r < rows.end ? to[place] : C(0);
        }
        activate_all(function, values);
        PRUMO_UNROLL
        for (int r = 0; r < tile_rows; ++r) {
          const int place = r * what.to.pitch;
          if (r >= rows.begin && r < rows.end) to[place] = values[r];
        }
      }
    }
  };
  sum_tiles<Side>(team, what, images, copies + it.forward_copy, write, finish);
}

/// dx of a convolution, times the slope of the activation that made x. It may take the place of x.
template <int Side, scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                                 const C* copies) {
  const tiled_sum what = backward_sum(it);
  const activation function = it.below;
  const int to_x = it.x.begin - it.dx.begin;
  const auto write = [&](C* to, int, C(&sum)[tile_rows], tile_range rows) {
    C y[tile_rows];
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) y[r] = r >= rows.begin && r < rows.end ? to[r * what.to.pitch + to_x] : C(0);
    multiply_by_slopes(function, y, sum);
    PRUMO_UNROLL
    for (int r = 0; r < tile_rows; ++r) {
      const int place = r * what.to.pitch;
      if (r >= rows.begin && r < rows.end) to[place] = sum[r];
    }
  };
  sum_tiles<Side>(team, what, images, copies + it.backward_copy, write, [](C*, int, tile_range) {});
}

}  // namespace prumo::nets
