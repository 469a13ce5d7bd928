// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A first convolution whose pixels are unfolded (step_layer::unfolded). A vector holds neighbouring places of a whole
/// plane of y, wherever its rows end, so no lane is idle but at the end of the plane.

#include "host_activation.hpp"
#include "host_rows.hpp"

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// Copies the pixels of an image for each column of a filter.
template <class C>
void unfold(const step_layer& it, C* image) {
  with_copy_of_row<C>(it.out_width, [&](const auto& copy) PRUMO_ALWAYS_INLINE {
    for (int channel = 0; channel < it.in_channels; ++channel) {
      const C* from = image + it.x.begin + channel * it.x.plane - it.column_padding;
      C* to = image + it.unfolded.begin + channel * it.unfolded.plane;
      for (int row = 0; row < it.in_height; ++row, from += it.x.pitch, to += it.unfolded.pitch) {
        for (int column = 0; column < it.filter_width; ++column) copy(from + column, to + column * it.unfolded_apart);
      }
    }
  });
}

/// Vectors of places whose sums are in registers together, for so many maps.
template <int Maps>
inline constexpr int unfolded_vectors =
    (simd_has_many_registers ? 24 : 12) / Maps < 6 ? (simd_has_many_registers ? 24 : 12) / Maps : 6;

/// What becomes of the sums of a convolution while they are in registers.
enum class sums_become { themselves, relu, sigmoid, bounded_sigmoid };

/// Whether the sums of Maps channels are within the bound of the sigmoid, whatever the pixels are. These lie between 0
/// and 1, so no sum is beyond those of the magnitudes of its weights. The bound leaves room for rounding. It does not
/// hold for a weight that is no number.
template <int Side, int Maps, class C>
bool have_bounded_sums(const step_layer& it, const C* copies, int map) {
  using vector = simd<C>;
  constexpr int vectors = (Maps - 1) / vector::lanes + 1;
  vector sum[vectors];
  // Behind the last map there is what is not used.
  const auto add = [&](const C* from) PRUMO_ALWAYS_INLINE {
    PRUMO_UNROLL
    for (int v = 0; v < vectors; ++v) sum[v] += prumo::abs(vector::load(from + v * vector::lanes));
  };
  for (vector& each : sum) each = vector(C(0));
  if (it.bias_copy >= 0) add(copies + it.bias_copy + map);
  for (int channel = 0; channel < it.in_channels; ++channel) {
    const C* const taps = copies + it.forward_copy + channel * it.forward_apart + map;
    for (int tap = 0; tap < Side * Side; ++tap) add(taps + tap * it.padded_out);
  }
  C sums[vectors * vector::lanes];
  for (int v = 0; v < vectors; ++v) sum[v].store(sums + v * vector::lanes);
  bool are_bounded = true;
  for (int m = 0; m < Maps; ++m) are_bounded = are_bounded && sums[m] <= static_cast<C>(sigmoid_bound);
  return are_bounded;
}

/// The sigmoids of vectors, some at a time.
template <bool IsBounded, int Count, class C>
[[gnu::always_inline]] inline void replace_by_sigmoids(simd<C>* values) {
  constexpr int some = Count < 4 ? Count : 4;
  simd_group<C, some> group;
  PRUMO_UNROLL
  for (int i = 0; i < some; ++i) group.of[i] = values[i];
  group = host_sigmoid<IsBounded>(group);
  PRUMO_UNROLL
  for (int i = 0; i < some; ++i) values[i] = group.of[i];
  if constexpr (Count > some) replace_by_sigmoids<IsBounded, Count - some>(values + some);
}

/// y of Maps channels at Vectors vectors of places.
template <int Side, int Maps, int Vectors, class C>
[[gnu::always_inline]] inline void convolve_places(const step_layer& it, C* image, const C* copies, int map, int place,
                                                   sums_become become) {
  using vector = simd<C>;
  vector sum[Maps][Vectors];
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m) {
    const vector bias(it.bias_copy >= 0 ? copies[it.bias_copy + map + m] : C(0));
    PRUMO_UNROLL
    for (int v = 0; v < Vectors; ++v) sum[m][v] = bias;
  }
  const std::int64_t pitch = it.unfolded.pitch, padded_maps = it.padded_out;
  for (int channel = 0; channel < it.in_channels; ++channel) {
    const C* x = image + it.unfolded.begin + channel * it.unfolded.plane - it.row_padding * it.unfolded.pitch + place;
    const C* taps = copies + it.forward_copy + channel * it.forward_apart + map;
    for (int column = 0; column < Side; ++column, x += it.unfolded_apart) {
      const C* from = x;
      // Unrolled, GCC 16 keeps sums in memory.
      int rows = Side;
      PRUMO_KEEP_IN_REGISTER(rows);
      for (; rows > 0; --rows, from += pitch, taps += padded_maps) {
        vector values[Vectors];
        PRUMO_UNROLL
        for (int v = 0; v < Vectors; ++v) values[v] = vector::load(from + v * vector::lanes);
        PRUMO_UNROLL
        for (int m = 0; m < Maps; ++m) {
          const vector tap(taps[m]);
          PRUMO_UNROLL
          for (int v = 0; v < Vectors; ++v) sum[m][v] = prumo::fma(tap, values[v], sum[m][v]);
        }
      }
    }
  }
  if (become == sums_become::bounded_sigmoid) {
    replace_by_sigmoids<true, Maps * Vectors>(sum[0]);
  } else if (become == sums_become::sigmoid) {
    replace_by_sigmoids<false, Maps * Vectors>(sum[0]);
  } else if (become == sums_become::relu) {
    PRUMO_UNROLL
    for (auto& of_map : sum) {
      PRUMO_UNROLL
      for (auto& each : of_map) each = prumo::maximum(each, vector(C(0)));
    }
  }
  const int left = it.out_height * it.out_width - place;
  C* to = image + it.y.begin + map * it.y.plane + place;
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m, to += it.y.plane) store_row(sum[m], to, left);
}

template <int Side, int Maps, class C>
void convolve_maps(const step_layer& it, C* image, const C* copies, int map) {
  constexpr int lanes = simd<C>::lanes, vectors = unfolded_vectors<Maps>;
  const int places = it.out_height * it.out_width;
  sums_become become = sums_become::themselves;
  if (it.activate == activation::relu) {
    become = sums_become::relu;
  } else if (it.activate == activation::sigmoid) {
    const bool is_bounded = sigmoid_has_bounds<C> && have_bounded_sums<Side, Maps>(it, copies, map);
    become = is_bounded ? sums_become::bounded_sigmoid : sums_become::sigmoid;
  }
  int place = 0;
  for (; place + (vectors - 1) * lanes < places; place += vectors * lanes) {
    convolve_places<Side, Maps, vectors>(it, image, copies, map, place, become);
  }
  for (; place < places; place += lanes) convolve_places<Side, Maps, 1>(it, image, copies, map, place, become);
}

/// y, with its activation.
template <int Side, class C>
void convolve_unfolded(const step_layer& it, C* image, const C* copies) {
  for (int map = 0; map < it.out_channels;) {
    const int left = it.out_channels - map;
    if (left >= 6 && left != 8) {
      convolve_maps<Side, 6>(it, image, copies, map);
      map += 6;
    } else if (left >= 4) {
      convolve_maps<Side, 4>(it, image, copies, map);
      map += 4;
    } else if (left >= 2) {
      convolve_maps<Side, 2>(it, image, copies, map);
      map += 2;
    } else {
      convolve_maps<Side, 1>(it, image, copies, map);
      ++map;
    }
  }
  if (it.activate == activation::tanh) activate_image(it, image);
}

/// Adds the products of a row of filter taps with Maps output channels, summed over the places of an image.
/// \tparam HasBias adds the sums of dy to the gradients of the bias, too: they are in registers here
template <int Side, int Maps, bool HasBias, class C>
void add_unfolded_gradients(const step_layer& it, const C* image, int map, int channel, int tap_row, C* gradients) {
  using vector = simd<C>;
  constexpr int taps = Maps * Side, all = taps + (HasBias ? Maps : 0);
  vector sum[all];
  PRUMO_UNROLL
  for (int i = 0; i < all; ++i) sum[i] = vector(C(0));
  const C* x = image + it.unfolded.begin + channel * it.unfolded.plane + (tap_row - it.row_padding) * it.unfolded.pitch;
  const C* dy = image + it.dy.begin + map * it.dy.plane;
  for (int left = it.out_height * it.out_width; left > 0; left -= vector::lanes) {
    vector slopes[Maps];
    PRUMO_UNROLL
    for (int m = 0; m < Maps; ++m) slopes[m] = vector::load(dy + m * it.dy.plane);
    if (left < vector::lanes) {
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) slopes[m] = first_lanes(slopes[m], left);
    }
    if constexpr (HasBias) {
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) sum[taps + m] += slopes[m];
    }
    PRUMO_UNROLL
    for (int column = 0; column < Side; ++column) {
      const vector values = vector::load(x + column * it.unfolded_apart);
      PRUMO_UNROLL
      for (int m = 0; m < Maps; ++m) sum[m * Side + column] = prumo::fma(slopes[m], values, sum[m * Side + column]);
    }
    x += vector::lanes;
    dy += vector::lanes;
  }
  C sums[all + vector::lanes];
  store_sums(sum, sums);
  PRUMO_UNROLL
  for (int m = 0; m < Maps; ++m) {
    C* const to = gradients + ((map + m) * it.in_channels + channel) * (Side * Side) + tap_row * Side;
    PRUMO_UNROLL
    for (int column = 0; column < Side; ++column) to[column] += sums[m * Side + column];
    if constexpr (HasBias) gradients[it.weight_count() + map + m] += sums[taps + m];
  }
}

/// The gradients of all filters and of their bias.
template <int Side, class C>
void add_unfolded_gradients(const step_layer& it, const C* image, C* gradients) {
  constexpr int maps = simd_has_many_registers ? 3 : 2;
  const auto add = [&]<bool HasBias>(std::bool_constant<HasBias>, int channel, int tap_row) {
    int map = 0;
    for (; map + maps <= it.out_channels; map += maps) {
      add_unfolded_gradients<Side, maps, HasBias>(it, image, map, channel, tap_row, gradients);
    }
    for (; map < it.out_channels; ++map) {
      add_unfolded_gradients<Side, 1, HasBias>(it, image, map, channel, tap_row, gradients);
    }
  };
  for (int channel = 0; channel < it.in_channels; ++channel) {
    for (int tap_row = 0; tap_row < Side; ++tap_row) {
      if (it.bias >= 0 && channel == 0 && tap_row == 0) {
        add(std::true_type(), channel, tap_row);
      } else {
        add(std::false_type(), channel, tap_row);
      }
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
