// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A shared filter of four by four taps on a thread of a host with vectors, as mnist-2f has it. Vectors begin where
/// windows do, so each meets the same taps.

#include "host_rows.hpp"

#include <type_traits>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class square_windows {
  using vector = simd<C>;

 public:
  static constexpr int side = 4;

  /// Whether the windows, which lie side by side, are such ones.
  static bool are_those_of(const step_layer& it) {
    return vector::lanes % side == 0 && it.filter_height == side && it.filter_width == side;
  }
  /// Whether they cover rows of at least a vector.
  static bool cover_rows(const step_layer& it) {
    return are_those_of(it) && it.in_width == side * it.out_width && it.in_width >= vector::lanes;
  }

  explicit square_windows(const C* taps) {
    C row[vector::lanes];
    for (int k = 0; k < side; ++k, taps += side) {
      for (int i = 0; i < vector::lanes; ++i) row[i] = taps[i % side];
      taps_[k] = vector::load(row);
    }
  }

  /// The products of rows of windows with their taps, summed over the rows of a window. What the last vector has behind
  /// a row is written again by the next row.
  void multiply(const step_layer& it, const C* x, int rows, C* products) const {
    const int columns = side * it.out_width, pitch = it.x.pitch;
    vector taps[side];
    PRUMO_UNROLL
    for (int k = 0; k < side; ++k) taps[k] = taps_[k];
    for (int row = 0; row < rows; ++row, x += side * pitch, products += columns) {
      for (int i = 0; i < columns; i += vector::lanes) {
        const C* from = x + i;
        vector sum = taps[0] * vector::load(from);
        PRUMO_UNROLL
        for (int k = 1; k < side; ++k) {
          from += pitch;
          sum = prumo::fma(taps[k], vector::load(from), sum);
        }
        sum.store(products + i);
      }
    }
  }

  /// Adds the gradients of the filter and its bias for an image, and puts dx in the place of x.
  void go_back(const step_layer& it, C* image, C* gradients) const {
    sums all;
    if (it.is_first) {
      go_back_rows(it, image, all, nothing_below{});
    } else if (it.below == activation::sigmoid) {
      go_back_rows(it, image, all, [](vector y) PRUMO_ALWAYS_INLINE { return slopes_of(activation::sigmoid, y); });
    } else {
      const activation below = it.below;
      go_back_rows(it, image, all, [below](vector y) PRUMO_ALWAYS_INLINE { return slopes_of(below, y); });
    }
    C lanes[vector::lanes];
    for (int k = 0; k < side; ++k, gradients += side) {
      all.of_taps[k].store(lanes);
      for (int i = 0; i < vector::lanes; ++i) gradients[i % side] += lanes[i];
    }
    if (it.bias < 0) return;
    all.of_bias.store(lanes);
    for (int i = 0; i < vector::lanes; i += side) gradients[0] += lanes[i];
  }

 private:
  struct sums {
    vector of_taps[side] = {C(0), C(0), C(0), C(0)};
    vector of_bias{C(0)};  ///< each dy in the lanes of a window
  };
  /// In the place of the slopes of the layer below, where x needs no gradient.
  struct nothing_below {};

  /// All rows of windows. The last vector of a row goes back into the one before it. Its x is read before that one's dx
  /// takes its place, and only its last lanes are new to the sums.
  template <class Slopes>
  void go_back_rows(const step_layer& it, C* image, sums& result, const Slopes& slopes_below) const {
    constexpr bool has_dx = !std::is_same_v<Slopes, nothing_below>;
    // Local copies, because a compiler loads the members of `it` again after each store, which might have changed them.
    const int x_pitch = it.x.pitch, dx_pitch = it.dx.pitch, width = it.in_width, rows = it.out_height;
    const int left = width % vector::lanes, last = width - vector::lanes, dy_pitch = it.dy.pitch;
    sums all;
    vector taps[side];
    PRUMO_UNROLL
    for (int k = 0; k < side; ++k) taps[k] = taps_[k];
    const auto visit = [&](const C* x, vector slopes, vector new_slopes, const auto& put) PRUMO_ALWAYS_INLINE {
      all.of_bias += new_slopes;
      PRUMO_UNROLL
      for (int k = 0; k < side; ++k, x += x_pitch) {
        const vector values = vector::load(x);
        all.of_taps[k] = prumo::fma(new_slopes, values, all.of_taps[k]);
        if constexpr (has_dx) put(k, slopes * taps[k] * slopes_below(values));
      }
    };
    for (int channel = 0; channel < it.out_channels; ++channel) {
      const C* dy = image + it.dy.begin + channel * it.dy.plane;
      const C* x = image + it.x.begin + channel * it.x.plane;
      C* dx = image + it.dx.begin + channel * it.dx.plane;
      for (int row = 0; row < rows; ++row, dy += dy_pitch, x += side * x_pitch, dx += side * dx_pitch) {
        vector of_last[side] = {C(0), C(0), C(0), C(0)};
        if (left > 0) {
          const vector slopes = repeated_lanes<side>(vector::load(dy + last / side));
          visit(x + last, slopes, last_lanes(slopes, left),
                [&](int k, vector value) PRUMO_ALWAYS_INLINE { of_last[k] = value; });
        }
        for (int column = 0; column < width - left; column += vector::lanes) {
          const vector slopes = repeated_lanes<side>(vector::load(dy + column / side));
          C* to = dx + column;
          visit(x + column, slopes, slopes, [&](int, vector value) PRUMO_ALWAYS_INLINE {
            value.store(to);
            to += dx_pitch;
          });
        }
        if (left == 0 || !has_dx) continue;
        PRUMO_UNROLL
        for (int k = 0; k < side; ++k) of_last[k].store(dx + k * dx_pitch + last);
      }
    }
    result = all;
  }

  vector taps_[side];
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
