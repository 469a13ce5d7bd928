// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions of a step with square filters of 3 or 5 and stride 1. A thread has a tile of a few channels by a few
/// rows of one column. The taps of one filter column share the values that it loads. Edges of zeros around the planes
/// spare all checks of indices. The gradient of x is the same sum as y, of dy and the filters turned around.

#include "step_table.hpp"
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

template <class C>
PRUMO_STEP_FUNCTION C activated(activation function, C x) {
  switch (function) {
    case activation::relu: return prumo::maximum(x, C(0));
    case activation::sigmoid: return prumo::sigmoid(x);
    case activation::tanh: return prumo::tanh(x);
    default: return x;
  }
}

/// The rows of a tile.
inline constexpr int tile_rows = 5;

/// sum[m][row] += sum over channels and taps of weights * x, for Maps neighbouring outputs and the rows whose offsets
/// are given. Weights lie as step_layer::forward_copy says.
template <int Side, int Maps, class C>
PRUMO_STEP_FUNCTION void add_taps(const C* x, int plane, const int (&row_offset)[tile_rows + Side - 1], int channels,
                                  const C* weights, int padded_maps, C (&sum)[Maps][tile_rows]) {
  using pack = prumo::detail::device_pack<C, Maps>;
  PRUMO_KEEP_LOOP
  for (int channel = 0; channel < channels; ++channel) {
    PRUMO_UNROLL
    for (int column = 0; column < Side; ++column) {
      C values[tile_rows + Side - 1];
      PRUMO_UNROLL
      for (int i = 0; i < tile_rows + Side - 1; ++i) values[i] = x[row_offset[i] + column];
      PRUMO_UNROLL
      for (int row = 0; row < Side; ++row) {
        const pack taps = *reinterpret_cast<const pack*>(weights);
        weights += padded_maps;
        PRUMO_UNROLL
        for (int m = 0; m < Maps; ++m) {
          PRUMO_UNROLL
          for (int r = 0; r < tile_rows; ++r) sum[m][r] = prumo::fma(taps.values[m], values[r + row], sum[m][r]);
        }
      }
    }
    x += plane;
  }
}

/// What a sum of products with a filter reads and writes, whichever way it goes.
struct tiled_sum {
  step_planes from, to;
  int row_edge, column_edge;  ///< of the zeros before the first row and column that the filter meets
  int from_channels;
  int to_channels, to_height, to_width;
  int padded_maps;
};

/// write(to, channel, sum) for all elements of all images; `to` is the element's place.
template <int Side, int Maps, class Team, class C, class Write>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write) {
  const int row_groups = (it.to_height + tile_rows - 1) / tile_rows;
  const int map_groups = (it.to_channels + Maps - 1) / Maps;
  const int of_an_image = map_groups * row_groups * it.to_width;
  for (int item = team.rank(); item < images.count * of_an_image; item += team.size()) {
    const int image = item / of_an_image, in_image = item - image * of_an_image;
    const int group = in_image / it.to_width, column = in_image - group * it.to_width;
    const int map_group = group / row_groups, row_group = group - map_group * row_groups;
    const int first_row = row_group * tile_rows, first_map = map_group * Maps;
    C* const memory = images.image(image);
    int row_offset[tile_rows + Side - 1];
    PRUMO_UNROLL
    for (int i = 0; i < tile_rows + Side - 1; ++i) {
      // Rows of the last tile may lie beyond the plane. Their sums are not written.
      const int row = first_row + i < it.to_height + Side - 1 ? first_row + i : it.to_height + Side - 2;
      row_offset[i] = (row - it.row_edge) * it.from.pitch + column - it.column_edge;
    }
    C sum[Maps][tile_rows] = {};
    add_taps<Side, Maps>(memory + it.from.begin, it.from.plane, row_offset, it.from_channels, weights + first_map,
                         it.padded_maps, sum);
    PRUMO_UNROLL
    for (int m = 0; m < Maps; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < tile_rows; ++r) {
        if (first_map + m < it.to_channels && first_row + r < it.to_height) {
          C* const to = memory + it.to.begin + (first_map + m) * it.to.plane + (first_row + r) * it.to.pitch + column;
          write(to, first_map + m, sum[m][r]);
        }
      }
    }
  }
}

/// Chooses tiles of four channels if there are enough for all threads, or else of two. The sums are the same.
template <int Side, class Team, class C, class Write>
PRUMO_STEP_FUNCTION void sum_tiles(const Team& team, const tiled_sum& it, const step_images<C>& images,
                                   const C* weights, const Write& write) {
  const int tiles = images.count * ((it.to_height + tile_rows - 1) / tile_rows) * it.to_width;
  if (it.to_channels % 4 == 0 && tiles * (it.to_channels / 4) >= team.size()) {
    sum_tiles<Side, 4>(team, it, images, weights, write);
  } else {
    sum_tiles<Side, 2>(team, it, images, weights, write);
  }
}

/// y of a convolution.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* copies) {
  const tiled_sum what{it.x,          it.y,         it.row_padding, it.column_padding, it.in_channels, it.out_channels,
                       it.out_height, it.out_width, it.padded_out};
  const C* const bias = it.bias_copy < 0 ? nullptr : copies + it.bias_copy;
  const activation function = it.activate;
  sum_tiles<Side>(team, what, images, copies + it.forward_copy, [&](C* to, int channel, C sum) {
    if (bias != nullptr) sum += bias[channel];
    *to = activated(function, sum);
  });
}

/// dx of a convolution, times the slope of the activation that made x. It may take the place of x.
template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void convolve_tiles_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                                 const C* copies) {
  const tiled_sum what{it.dy,
                       it.dx,
                       Side - 1 - it.row_padding,
                       Side - 1 - it.column_padding,
                       it.out_channels,
                       it.in_channels,
                       it.in_height,
                       it.in_width,
                       it.padded_in};
  const activation function = it.below;
  const int to_x = it.x.begin - it.dx.begin;
  sum_tiles<Side>(team, what, images, copies + it.backward_copy,
                  [&](C* to, int, C sum) { *to = sum * slope_of(function, to[to_x]); });
}

/// Adds to the gradients of the weights, [out][in][taps], and of the bias. A stretch of threads sums over the places of
/// all images for Maps output channels, an input channel and a filter column.
template <int Side, int Maps, class Team, class C>
PRUMO_STEP_FUNCTION void add_tiled_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                             C* gradients) {
  const int row_groups = (it.out_height + tile_rows - 1) / tile_rows;
  const int of_an_image = row_groups * it.out_width;
  const int places = images.count * of_an_image;
  const int map_groups = (it.out_channels + Maps - 1) / Maps;
  const int tasks = map_groups * it.in_channels * Side;
  for (int task = team.stretch(); task < tasks; task += team.stretches()) {
    const int filter = task / Side, column = task - filter * Side;
    const int map_group = filter / it.in_channels, channel = filter - map_group * it.in_channels;
    const int first_map = map_group * Maps;
    C sum[Maps * Side] = {};
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const int image = place / of_an_image, in_image = place - image * of_an_image;
      const int row_group = in_image / it.out_width, out_column = in_image - row_group * it.out_width;
      const int first_row = row_group * tile_rows;
      const C* const memory = images.image(image);
      const C* const x = memory + it.x.begin + channel * it.x.plane - it.row_padding * it.x.pitch + out_column +
                         column - it.column_padding;
      C values[tile_rows + Side - 1];
      PRUMO_UNROLL
      for (int i = 0; i < tile_rows + Side - 1; ++i) {
        const int row = first_row + i < it.out_height + Side - 1 ? first_row + i : it.out_height + Side - 2;
        values[i] = x[row * it.x.pitch];
      }
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) {
        const int map = first_map + m < it.out_channels ? first_map + m : first_map;
        const C* const dy = memory + it.dy.begin + map * it.dy.plane + out_column;
        PRUMO_UNROLL
        for (int r = 0; r < tile_rows; ++r) {
          const C slope = first_row + r < it.out_height ? dy[(first_row + r) * it.dy.pitch] : C(0);
          PRUMO_UNROLL
          for (int row = 0; row < Side; ++row) {
            sum[m * Side + row] = prumo::fma(slope, values[r + row], sum[m * Side + row]);
          }
        }
      }
    }
    const owned_sum owned = scatter_sums(team, sum);
    PRUMO_UNROLL
    for (int i = 0; i < (Maps * Side + Team::lanes - 1) / Team::lanes; ++i) {
      const int m = (owned.first + i) / Side, row = (owned.first + i) % Side;
      if (i < owned.length && first_map + m < it.out_channels) {
        gradients[((first_map + m) * it.in_channels + channel) * (Side * Side) + row * Side + column] += sum[i];
      }
    }
  }
}

template <int Side, class Team, class C>
PRUMO_STEP_FUNCTION void add_tiled_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                             C* gradients) {
  if (it.out_channels % 4 == 0) {
    add_tiled_gradients<Side, 4>(team, it, images, gradients);
  } else {
    add_tiled_gradients<Side, 2>(team, it, images, gradients);
  }
}

}  // namespace prumo::nets
