// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Windows of a shared filter that lie side by side, on a thread of a host with vectors.

#include "host_layers.hpp"

#include <algorithm>
#include <type_traits>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of windows that lie side by side, as a shared filter has them in the known nets: no pixel lies in two windows,
/// and between windows there is none. A row of pixels then meets one row of taps, again and again.
struct adjacent_windows {
  static constexpr int most_columns = 256, most_tap_rows = 8;
  /// The room behind the last number of a row or of products, for as much as is read or written at once: four vectors.
  static constexpr int room_behind = 4 * most_vector_elements;
  /// Rows of windows that are taken together.
  static constexpr int most_rows = 8;

  static bool are_those_of(const step_layer& it) {
    return it.filter_height == it.row_stride && it.filter_width == it.column_stride && it.row_padding == 0 &&
           it.column_padding == 0 && it.in_width + room_behind <= most_columns && it.filter_height <= most_tap_rows;
  }
  /// Pixels of a row that lie in windows.
  static int columns(const step_layer& it) { return it.out_width * it.filter_width; }

  /// function(columns of a window), as a constant where it is 4: compilers then take all of them at once.
  template <class Function>
  static void with_width(const step_layer& it, const Function& function) {
    if (it.filter_width == 4) {
      function(std::integral_constant<int, 4>());
    } else {
      function(it.filter_width);
    }
  }

  /// Each number as often as a window has columns. Whole vectors are read and written, also behind the last number.
  template <class C>
  static void repeat_each(const step_layer& it, const C* from, int count, C* to) {
    using vector = simd<C>;
    if constexpr (vector::lanes >= 4) {
      if (it.filter_width == 4) {
        for (int i = 0; i < count; i += vector::lanes / 4) repeated_lanes<4>(vector::load(from + i)).store(to + 4 * i);
        return;
      }
    }
    with_width(it, [&](auto width) {
      for (int i = 0; i < count; ++i) to = std::fill_n(to, static_cast<int>(width), from[i]);
    });
  }

  /// A row of dy, each number repeated for the columns of its window. For vectors that begin anywhere in the row, it
  /// begins again behind its end.
  template <class C>
  static void repeat_row(const step_layer& it, const C* dy, C* to) {
    using vector = simd<C>;
    repeat_each(it, dy, it.out_width, to);
    std::fill(to + columns(it), to + it.in_width, C(0));
    if (it.in_width < vector::lanes) {
      for (int i = 0; i < vector::lanes; ++i) to[it.in_width + i] = to[i];
    } else if (it.in_width % vector::lanes != 0) {
      vector::load(to).store(to + it.in_width);
    }
  }

  /// The taps that each pixel of a row of windows meets, in rows as long as those of the plane: zeros where there is no
  /// window.
  template <class C>
  static void repeat_taps(const step_layer& it, const C* taps, C* weights) {
    with_width(it, [&](auto width) {
      for (int tap_row = 0; tap_row < it.filter_height; ++tap_row, taps += width, weights += it.in_width) {
        for (int window = 0; window < it.out_width; ++window) std::copy_n(taps, width, weights + window * width);
        std::fill(weights + columns(it), weights + it.in_width, C(0));
      }
    });
    std::fill_n(weights, simd<C>::lanes, C(0));
  }
  template <class C>
  using taps_of_rows = C[most_tap_rows * most_columns];

  /// dx of the rows of pixels that lie in no window.
  template <class C>
  static void clear_rows_below(const step_layer& it, C* image) {
    for (int channel = 0; channel < it.in_channels; ++channel) {
      for (int row = it.out_height * it.filter_height; row < it.in_height; ++row) {
        std::fill_n(image + it.dx.begin + channel * it.dx.plane + row * it.dx.pitch, it.in_width, C(0));
      }
    }
  }

  /// For some rows of windows, the products of one vector of pixels with their taps, summed over the rows of a window.
  template <class C>
  static void multiply_window_rows(const step_layer& it, const C* weights, const C* x, int x_apart, int rows, C* to,
                                   int to_apart) {
    using vector = simd<C>;
    for (int row = 0; row < rows; ++row, x += x_apart, to += to_apart) {
      vector sum(C(0));
      for (int k = 0; k < it.filter_height; ++k) {
        sum = prumo::fma(vector::load(weights + k * it.in_width), vector::load(x + k * it.x.pitch), sum);
      }
      sum.store(to);
    }
  }

  /// Numbers that products have room for, with a vector behind them.
  static constexpr int most_products = most_rows * most_columns;

  /// The sums of each `width` neighbours among products, for `count` windows that lie side by side. Vectors of products
  /// behind the last one are read.
  template <class C>
  static void add_neighbours(const C* products, int width, int count, C bias, C* to) {
    using vector = simd<C>;
    if constexpr (vector::lanes >= 4) {
      if (width == 4) {
        for (int i = 0; i < count; i += vector::lanes, products += 4 * vector::lanes) {
          vector values[4];
          PRUMO_UNROLL
          for (int k = 0; k < 4; ++k) values[k] = vector::load(products + k * vector::lanes);
          store_lanes(sums_of_fours(values) + bias, to + i, count - i);
        }
        return;
      }
    }
    for (int i = 0; i < count; ++i) {
      C sum = bias;
      for (int k = 0; k < width; ++k) sum += *products++;
      to[i] = sum;
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
