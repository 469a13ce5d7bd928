// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layers of a step with one filter for all maps, forward and backward.

#include "filter_layers.hpp"

namespace prumo::nets {

/// y of a filter that all maps share.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void convolve_shared(const Team& team, const step_layer& from_table, const step_images<C>& images,
                                         const C* copies) {
  const step_layer it = from_table;
  const C* const taps = copies + it.forward_copy;
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const item_place at(item, it.y_items);
    const C* const x = images.image(at.image) + it.x.begin + at.channel * it.x.plane +
                       (at.row * it.row_stride - it.row_padding) * it.x.pitch + at.column * it.column_stride -
                       it.column_padding;
    C sum = it.bias_copy >= 0 ? copies[it.bias_copy] : C(0);
    for (int row = 0; row < it.filter_height; ++row) {
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int column = 0; column < it.filter_width; ++column) {
        sum = prumo::fma(taps[row * it.filter_width + column], x[row * it.x.pitch + column], sum);
      }
    }
    *element_at(images, it.y, at) = activated(it.activate, sum);
  }
}

template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void convolve_shared_backward(const Team& team, const step_layer& from_table,
                                                  const step_images<C>& images, const C* copies) {
  const step_layer it = from_table;
  const C* const taps = copies + it.forward_copy;
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const item_place at(item, it.x_items);
    const pixel_windows windows(it, at);
    const C* const dy = images.image(at.image) + it.dy.begin + at.channel * it.dy.plane;
    C sum = 0;
    for (int row = windows.row_begin; row < windows.row_end; ++row) {
      const C* const tap_row = taps + (at.row + it.row_padding - row * it.row_stride) * it.filter_width;
      for (int column = windows.column_begin; column < windows.column_end; ++column) {
        sum = prumo::fma(tap_row[at.column + it.column_padding - column * it.column_stride],
                         dy[row * it.dy.pitch + column], sum);
      }
    }
    *element_at(images, it.dx, at) = sum * slope_of(it.below, *element_at(images, it.x, at));
  }
}

/// Whether pixel i of those that a window covers lies in the image; the first of them is in column `first`.
PRUMO_STEP_FUNCTION bool is_inside(const step_layer& it, int first, int i) {
  return i < it.column_stride && first + i >= 0 && first + i < it.in_width;
}

/// dx where no pixel lies in two windows: a thread for the pixels that a row of a window and the gap behind it cover.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void convolve_shared_backward_by_windows(const Team& team, const step_layer& from_table,
                                                             const step_images<C>& images, const C* copies) {
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.window_rows.of_an_image; item += team.size()) {
    const item_place at(item, it.window_rows);
    const int window_row = it.window_strides.quotient(at.row + it.row_padding);
    const int tap_row = at.row + it.row_padding - window_row * it.row_stride;
    C* const memory = images.image(at.image);
    C slope = 0;
    if (window_row < it.out_height && tap_row < it.filter_height && at.column < it.out_width) {
      slope = memory[it.dy.begin + at.channel * it.dy.plane + window_row * it.dy.pitch + at.column];
    }
    const C* const taps = copies + it.forward_copy + tap_row * it.filter_width;
    const int first = at.column * it.column_stride - it.column_padding;
    const C* const x = memory + it.x.begin + at.channel * it.x.plane + at.row * it.x.pitch + first;
    C* const dx = memory + it.dx.begin + at.channel * it.dx.plane + at.row * it.dx.pitch + first;
    constexpr int at_once = 4;
    PRUMO_KEEP_LOOP
    for (int begin = 0; begin < it.column_stride; begin += at_once) {
      C y[at_once], values[at_once];
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = begin + k;
        y[k] = is_inside(it, first, i) ? x[i] : C(0);
        values[k] = i < it.filter_width && tap_row < it.filter_height ? taps[i] * slope : C(0);
      }
      multiply_by_slopes(it.below, y, values);
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        if (is_inside(it, first, begin + k)) dx[begin + k] = values[k];
      }
    }
  }
}

/// Adds to the gradients of a shared filter's taps, and of its bias behind them. A stretch of threads has a tap.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void add_shared_gradients(const Team& team, const step_layer& from_table,
                                              const step_images<C>& images, C* gradients) {
  const step_layer it = from_table;
  const int taps = it.filter_size(), places = images.count * it.y_items.of_an_image;
  for (int tap = team.stretch(); tap < taps; tap += team.stretches()) {
    const int tap_row = it.tap_columns.quotient(tap), tap_column = tap - tap_row * it.filter_width;
    const int x_begin = it.x.begin + (tap_row - it.row_padding) * it.x.pitch + tap_column - it.column_padding;
    C sum = 0, of_bias = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const item_place at(place, it.y_items);
      const C slope = *element_at(images, it.dy, at);
      const C x = images.image(at.image)[x_begin + at.channel * it.x.plane + at.row * it.row_stride * it.x.pitch +
                                         at.column * it.column_stride];
      sum = prumo::fma(slope, x, sum);
      of_bias += slope;
    }
    sum = sum_of_lanes(team, sum);
    if (team.lane() == 0) gradients[tap] += sum;
    if (tap == 0 && it.bias >= 0) {
      of_bias = sum_of_lanes(team, of_bias);
      if (team.lane() == 0) gradients[taps] += of_bias;
    }
  }
}

}  // namespace prumo::nets
