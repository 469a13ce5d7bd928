// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Filters that all maps share, on a thread of a host with vectors.

#include "fused/layers/shared_filter_layers.hpp"
#include "host_adjacent_windows.hpp"
#include "host_layers.hpp"
#include "host_square_windows.hpp"

#include <algorithm>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// Computes y of an image, without its activation.
/// \param multiply multiply(x, rows, products) computes the products of rows of windows. It may write a vector behind
///        them.
template <class C, class Multiply>
void convolve_adjacent_windows(const step_layer& it, C* image, C bias, const Multiply& multiply) {
  using windows = adjacent_windows;
  const int columns = windows::columns(it), most = (windows::most_products - windows::room_behind) / columns;
  // Where no gaps lie in y, windows of several channels are added together.
  const bool is_whole = it.y.pitch == it.out_width && it.y.plane == it.out_height * it.out_width;
  C products[windows::most_products];
  int pending = 0;
  C* to = image + it.y.begin;
  const auto add_pending = [&] {
    windows::add_neighbours(products, it.filter_width, pending * it.out_width, bias, to);
    to += pending * it.out_width;
    pending = 0;
  };
  for (int channel = 0; channel < it.out_channels; ++channel) {
    const C* x = image + it.x.begin + channel * it.x.plane;
    for (int row = 0; row < it.out_height;) {
      const int rows = is_whole ? std::min(most - pending, it.out_height - row) : 1;
      if (!is_whole) to = image + it.y.begin + channel * it.y.plane + row * it.y.pitch;
      multiply(x, rows, products + pending * columns);
      pending += rows;
      row += rows;
      x += rows * it.filter_height * it.x.pitch;
      if (!is_whole || pending == most) add_pending();
    }
  }
  if (pending > 0) add_pending();
}

template <class C>
void convolve_shared(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* copies) {
  using vector = simd<C>;
  using windows = adjacent_windows;
  if (!windows::are_those_of(it)) {
    convolve_shared(single_step_team{}, it, images, copies);
    return;
  }
  const C bias = it.bias_copy >= 0 ? copies[it.bias_copy] : C(0);
  const int columns = windows::columns(it);
  if (square_windows<C>::are_those_of(it)) {
    const square_windows<C> squares(copies + it.forward_copy);
    for (int image = 0; image < images.count; ++image) {
      convolve_adjacent_windows(it, images.image(image), bias,
                                [&](const C* x, int rows, C* products)
                                    PRUMO_ALWAYS_INLINE { squares.multiply(it, x, rows, products); });
    }
  } else {
    windows::taps_of_rows<C> weights;
    windows::repeat_taps(it, copies + it.forward_copy, weights);
    // What a vector has behind the end of a row is written again by the first vector of the next row.
    const int of_window = it.filter_height * it.x.pitch;
    for (int image = 0; image < images.count; ++image) {
      convolve_adjacent_windows(it, images.image(image), bias, [&](const C* x, int rows, C* products) {
        for (int i = (columns - 1) / vector::lanes * vector::lanes; i >= 0; i -= vector::lanes) {
          windows::multiply_window_rows(it, weights + i, x + i, of_window, rows, products + i, columns);
        }
      });
    }
  }
  activate_planes(it, images);
}

/// One vector of the pixels that rows of windows meet: the same one in each row. It adds products to `to` and makes dx.
/// \param slopes of the first row
/// \param count how many lanes there are
template <class C>
[[gnu::always_inline]] inline void shared_vector_backward(const step_layer& it, int rows, const C* slopes, const C* x,
                                                          int x_apart, simd<C> taps, C* dx, int dx_apart, C* to,
                                                          int count) {
  using vector = simd<C>;
  vector sum = vector::load(to);
  const auto visit = [&](const auto& slopes_below, const auto& store) PRUMO_ALWAYS_INLINE {
    for (int row = 0; row < rows; ++row, x += x_apart, dx += dx_apart, slopes += adjacent_windows::most_columns) {
      PRUMO_KEEP_IN_REGISTER(x);
      PRUMO_KEEP_IN_REGISTER(dx);
      const vector slope = vector::load(slopes), values = vector::load(x);
      sum = prumo::fma(slope, values, sum);
      store(slope * taps * slopes_below(values), dx);
    }
  };
  const auto store = [](vector value, C* at) PRUMO_ALWAYS_INLINE { value.store(at); };
  const auto any_slopes = [&](vector y) PRUMO_ALWAYS_INLINE { return slopes_of(it.below, y); };
  if (it.is_first) {
    visit(any_slopes, [](vector, C*) PRUMO_ALWAYS_INLINE {});
  } else if (count < vector::lanes) {
    visit(any_slopes, [&](vector value, C* at) PRUMO_ALWAYS_INLINE { store_lanes(value, at, count); });
  } else if (it.below == activation::sigmoid) {
    visit([](vector y) PRUMO_ALWAYS_INLINE { return slopes_of(activation::sigmoid, y); }, store);
  } else {
    visit(any_slopes, store);
  }
  store_lanes(sum, to, count);
}

/// The gradients of a shared filter, and dx in the place of x, in one pass over x.
template <class C>
void shared_backward(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* copies,
                     C* gradients) {
  using vector = simd<C>;
  using windows = adjacent_windows;
  if (!windows::are_those_of(it)) {
    add_shared_gradients(single_step_team{}, it, images, gradients);
    if (!it.is_first) convolve_shared_backward(single_step_team{}, it, images, copies);
    return;
  }
  if (square_windows<C>::cover_rows(it)) {
    const square_windows<C> squares(copies + it.forward_copy);
    for (int image = 0; image < images.count; ++image) {
      squares.go_back(it, images.image(image), gradients);
      if (!it.is_first) windows::clear_rows_below(it, images.image(image));
    }
    return;
  }
  // Where rows have no gaps between them, those of a window are one.
  const bool has_gaps = it.x.pitch != it.in_width || it.dx.pitch != it.in_width;
  const int parts = has_gaps ? it.filter_height : 1, length = has_gaps ? it.in_width : it.filter_height * it.in_width;
  windows::taps_of_rows<C> weights, products;
  windows::repeat_taps(it, copies + it.forward_copy, weights);
  std::fill_n(products, it.filter_height * it.in_width + vector::lanes, C(0));
  vector of_bias(C(0));
  const bool has_no_gaps = it.dy.pitch == it.out_width;
  C slopes[windows::most_rows][windows::most_columns];
  for (int plane = 0; plane < images.count * it.out_channels; ++plane) {
    const int image = plane / it.out_channels, channel = plane - image * it.out_channels;
    C* const memory = images.image(image);
    for (int first = 0; first < it.out_height; first += windows::most_rows) {
      const int rows = std::min(windows::most_rows, it.out_height - first);
      const C* dy = memory + it.dy.begin + channel * it.dy.plane + first * it.dy.pitch;
      for (int row = 0; row < rows; ++row, dy += it.dy.pitch) {
        windows::repeat_row(it, dy, slopes[row]);
        if (has_no_gaps && row > 0) continue;
        const int count = has_no_gaps ? rows * it.out_width : it.out_width;
        for (int i = 0; i < count; i += vector::lanes) of_bias += load_first(dy + i, count - i);
      }
      const int of_window = it.filter_height * it.x.pitch, of_dx = it.filter_height * it.dx.pitch;
      const C* x = memory + it.x.begin + channel * it.x.plane + first * of_window;
      C* dx = memory + it.dx.begin + channel * it.dx.plane + first * of_dx;
      for (int part = 0; part < parts; ++part, x += it.x.pitch, dx += it.dx.pitch) {
        for (int i = 0, column = 0; i < length; i += vector::lanes) {
          const int place = part * it.in_width + i;
          shared_vector_backward(it, rows, slopes[0] + column, x + i, of_window, vector::load(weights + place), dx + i,
                                 of_dx, products + place, length - i);
          column += vector::lanes;
          while (column >= it.in_width) column -= it.in_width;
        }
      }
    }
  }
  for (int image = 0; image < images.count && !it.is_first; ++image) {
    windows::clear_rows_below(it, images.image(image));
  }
  windows::with_width(it, [&](auto width) {
    for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
      C* const to = gradients + tap_row * width;
      for (int window = 0; window < it.out_width; ++window) {
        const C* const from = products + tap_row * it.in_width + window * width;
        for (int k = 0; k < width; ++k) to[k] += from[k];
      }
    }
  });
  if (it.bias >= 0) gradients[it.filter_size()] += sum_of(of_bias);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
