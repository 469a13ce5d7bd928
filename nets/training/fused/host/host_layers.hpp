// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The layers in which a step spends its time, on a thread of a host with vectors. They replace the functions of the
/// same names for any team.

#include "fused/layers/filter_layers.hpp"
#include "host_activation.hpp"
#include "host_unfolded.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

namespace prumo::nets {

/// A thread of a host, which reads with vectors, and may do so a vector beyond the end of a row.
struct host_step_team : single_step_team {
  static constexpr bool takes_vectors = true;
};

inline namespace PRUMO_INSTRUCTION_SET {

/// The sums of Maps channels at Vectors vectors of one row.
template <int Side, int Maps, int Vectors, class C, class Write>
[[gnu::always_inline]] inline void sum_row(const tiled_sum& it, C* memory, const C* weights, int map, int row,
                                           int column, const Write& write) {
  using vector = simd<C>;
  vector sum[Maps][Vectors];
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m) {
    PRUMO_UNROLL
    for (int v = 0; v < Vectors; ++v) sum[m][v] = vector(C(0));
  }
  const C* x = memory + it.from.begin + (row - it.row_edge) * it.from.pitch + column - it.column_edge;
  const C* taps = weights + map;
  for (int channel = 0; channel < it.from_channels; ++channel) {
    for (int tap_column = 0; tap_column < Side; ++tap_column) {
      PRUMO_UNROLL
      for (int tap_row = 0; tap_row < Side; ++tap_row) {
        vector values[Vectors];
        PRUMO_UNROLL
        for (int v = 0; v < Vectors; ++v) {
          values[v] = vector::load(x + tap_row * it.from.pitch + tap_column + v * vector::lanes);
        }
        PRUMO_UNROLL
        for (int m = 0; m < Maps; ++m) {
          const vector tap(taps[m]);
          PRUMO_UNROLL
          for (int v = 0; v < Vectors; ++v) sum[m][v] = prumo::fma(tap, values[v], sum[m][v]);
        }
        taps += it.padded_maps;
      }
    }
    x += it.from.plane;
    taps += it.apart - Side * Side * it.padded_maps;
  }
  C* to = memory + it.to.begin + map * it.to.plane + row * it.to.pitch + column;
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m) {
    write(to, map + m, sum[m], it.to_width - column);
    to += it.to.plane;
  }
}

template <int Side, int Maps, class C, class Write>
void sum_maps(const tiled_sum& it, C* memory, const C* weights, int map, const Write& write) {
  constexpr int lanes = simd<C>::lanes;
  for (int row = 0; row < it.to_height; ++row) {
    int column = 0;
    for (; column + 2 * lanes < it.to_width; column += 3 * lanes) {
      sum_row<Side, Maps, 3>(it, memory, weights, map, row, column, write);
    }
    if (column + lanes < it.to_width) {
      sum_row<Side, Maps, 2>(it, memory, weights, map, row, column, write);
    } else if (column < it.to_width) {
      sum_row<Side, Maps, 1>(it, memory, weights, map, row, column, write);
    }
  }
}

/// Calls write(to, channel, sums, count) for all rows of all images: `sums` are some vectors, and `count` elements are
/// left from the first of them to the end of the row.
template <int Side, class C, class Write>
void sum_rows(const tiled_sum& it, const step_images<C>& images, const C* weights, const Write& write) {
  for (int image = 0; image < images.count; ++image) {
    C* const memory = images.image(image);
    int map = 0;
    while (map < it.to_channels) {
      const int left = it.to_channels - map;
      if (left == 4 || left > 6) {
        sum_maps<Side, 4>(it, memory, weights, map, write);
        map += 4;
      } else if (left >= 3) {
        sum_maps<Side, 3>(it, memory, weights, map, write);
        map += 3;
      } else {
        sum_maps<Side, 1>(it, memory, weights, map, write);
        ++map;
      }
    }
  }
}

template <int Side, class C>
void convolve_tiles(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* copies) {
  if (it.unfolded_apart > 0) {
    for (int image = 0; image < images.count; ++image) convolve_unfolded<Side>(it, images.image(image), copies);
    return;
  }
  const C* const bias = it.bias_copy >= 0 ? copies + it.bias_copy : nullptr;
  const bool is_relu = it.activate == activation::relu;
  sum_rows<Side>(forward_sum(it), images, copies + it.forward_copy, [&](C* to, int channel, auto& sums, int count) {
    if (bias != nullptr) {
      for (auto& sum : sums) sum += simd<C>(bias[channel]);
    }
    if (is_relu) {
      for (auto& sum : sums) sum = prumo::maximum(sum, simd<C>(C(0)));
    }
    store_row(sums, to, count);
  });
  if (!is_relu) activate_planes(it, images);
}

template <int Side, class C>
void convolve_tiles_backward(const host_step_team&, const step_layer& it, const step_images<C>& images,
                             const C* copies) {
  const activation below = it.below;
  const int to_x = it.x.begin - it.dx.begin;
  sum_rows<Side>(backward_sum(it), images, copies + it.backward_copy, [&](C* to, int, auto& sums, int count) {
    const C* x = to + to_x;
    for (auto& sum : sums) {
      sum *= slopes_of(below, simd<C>::load(x));
      x += simd<C>::lanes;
    }
    store_row(sums, to, count);
  });
}

/// Adds the products of a row of filter taps with Maps output channels, summed over the places of an image.
template <int Side, int Maps, class C>
[[gnu::always_inline]] inline void add_row_gradients(const step_layer& it, const C* memory, int map, int channel,
                                                     int tap_row, C* gradients) {
  using vector = simd<C>;
  vector sum[Maps][Side];
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m) {
    PRUMO_UNROLL
    for (int column = 0; column < Side; ++column) sum[m][column] = vector(C(0));
  }
  for (int row = 0; row < it.out_height; ++row) {
    const C* const x =
        memory + it.x.begin + channel * it.x.plane + (row + tap_row - it.row_padding) * it.x.pitch - it.column_padding;
    const C* const dy = memory + it.dy.begin + map * it.dy.plane + row * it.dy.pitch;
    for (int begin = 0; begin < it.out_width; begin += vector::lanes) {
      vector slopes[Maps];
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) slopes[m] = load_first(dy + m * it.dy.plane + begin, it.out_width - begin);
      PRUMO_UNROLL
      for (int column = 0; column < Side; ++column) {
        const vector values = vector::load(x + begin + column);
        PRUMO_UNROLL
        for (int m = 0; m < Maps; ++m) sum[m][column] = prumo::fma(slopes[m], values, sum[m][column]);
      }
    }
  }
  for (int m = 0; m < Maps; ++m) {
    for (int column = 0; column < Side; ++column) {
      gradients[((map + m) * it.in_channels + channel) * (Side * Side) + tap_row * Side + column] +=
          sum_of(sum[m][column]);
    }
  }
}

template <class C>
void add_bias_gradients(const host_step_team&, const step_layer& it, const step_images<C>& images, C* gradients) {
  constexpr int lanes = simd<C>::lanes;
  const bool has_gaps = it.dy.pitch != it.out_width;
  const int rows = has_gaps ? it.out_height : 1, count = has_gaps ? it.out_width : it.out_height * it.out_width;
  for (int image = 0; image < images.count; ++image) {
    for (int map = 0; map < it.out_channels; ++map) {
      simd<C> sum[4] = {C(0), C(0), C(0), C(0)};
      for (int row = 0; row < rows; ++row) {
        const C* const dy = images.image(image) + it.dy.begin + map * it.dy.plane + row * it.dy.pitch;
        int i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes) {
          PRUMO_UNROLL
          for (int k = 0; k < 4; ++k) sum[k] += simd<C>::load(dy + i + k * lanes);
        }
        for (; i + lanes <= count; i += lanes) sum[0] += simd<C>::load(dy + i);
        if (i < count) sum[0] += load_first(dy + i, count - i);
      }
      gradients[map] += sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
  }
}

template <int Side, class C>
void add_tiled_gradients(const host_step_team& team, const step_layer& it, const step_images<C>& images, C* gradients,
                         C*) {
  if (it.unfolded_apart > 0) {
    for (int image = 0; image < images.count; ++image) add_unfolded_gradients<Side>(it, images.image(image), gradients);
    return;
  }
  for (int image = 0; image < images.count; ++image) {
    const C* const memory = images.image(image);
    for (int map = 0; map < it.out_channels; map += 2) {
      for (int channel = 0; channel < it.in_channels; ++channel) {
        for (int tap_row = 0; tap_row < Side; ++tap_row) {
          if (map + 1 < it.out_channels) {
            add_row_gradients<Side, 2>(it, memory, map, channel, tap_row, gradients);
          } else {
            add_row_gradients<Side, 1>(it, memory, map, channel, tap_row, gradients);
          }
        }
      }
    }
  }
  if (it.bias >= 0) add_bias_gradients(team, it, images, gradients + it.weight_count());
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
