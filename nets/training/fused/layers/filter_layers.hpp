// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions of a step with any filter and stride.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// The windows of a layer in which a pixel of x lies: from `begin` to before `end`.
struct pixel_windows {
  int row_begin, row_end, column_begin, column_end;

  PRUMO_STEP_FUNCTION pixel_windows(const step_layer& it, const item_place& at)
      : row_begin(first_window(at.row, it.filter_height, it.row_stride, it.row_padding)),
        row_end(end_window(at.row, it.row_stride, it.row_padding, it.out_height)),
        column_begin(first_window(at.column, it.filter_width, it.column_stride, it.column_padding)),
        column_end(end_window(at.column, it.column_stride, it.column_padding, it.out_width)) {}

 private:
  PRUMO_STEP_FUNCTION static int first_window(int pixel, int window, int stride, int padding) {
    const int begin = pixel + padding - window + 1;
    return begin <= 0 ? 0 : (begin + stride - 1) / stride;
  }
  PRUMO_STEP_FUNCTION static int end_window(int pixel, int stride, int padding, int windows) {
    const int end = (pixel + padding) / stride + 1;
    return end < windows ? end : windows;
  }
};

/// An element of the planes of all images.
template <class C>
PRUMO_STEP_FUNCTION C* element_at(const step_images<C>& images, const step_planes& planes, const item_place& at) {
  return images.image(at.image) + planes.begin + at.channel * planes.plane + at.row * planes.pitch + at.column;
}

/// The place of a tap's copies for all maps (step_layer::forward_copy).
PRUMO_STEP_FUNCTION int tap_place(const step_layer& it, int row, int column) {
  return (column * it.filter_height + row) * it.padded_out;
}

/// y of a convolution of any shape.
template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_any(const Team& team, const step_layer& from_table, const step_images<C>& images,
                                      const C* copies) {
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const item_place at(item, it.y_items);
    const C* const x = images.image(at.image) + it.x.begin + (at.row * it.row_stride - it.row_padding) * it.x.pitch +
                       at.column * it.column_stride - it.column_padding;
    C sum = 0;
    for (int channel = 0; channel < it.in_channels; ++channel) {
      const C* const taps = copies + it.forward_copy + channel * it.forward_apart + at.channel;
      for (int row = 0; row < it.filter_height; ++row) {
        for (int column = 0; column < it.filter_width; ++column) {
          sum = prumo::fma(taps[tap_place(it, row, column)], x[channel * it.x.plane + row * it.x.pitch + column], sum);
        }
      }
    }
    if (it.bias_copy >= 0) sum += copies[it.bias_copy + at.channel];
    *element_at(images, it.y, at) = activated(it.activate, sum);
  }
}

/// dx of a convolution of any shape, times the slope below. It may take the place of x.
template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_any_backward(const Team& team, const step_layer& from_table,
                                               const step_images<C>& images, const C* copies) {
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const item_place at(item, it.x_items);
    const pixel_windows windows(it, at);
    const C* const planes = images.image(at.image) + it.dy.begin;
    C sum = 0;
    for (int map = 0; map < it.out_channels; ++map) {
      const C* const dy = planes + map * it.dy.plane;
      const C* const taps = copies + it.forward_copy + at.channel * it.forward_apart + map;
      for (int row = windows.row_begin; row < windows.row_end; ++row) {
        const int tap_row = at.row + it.row_padding - row * it.row_stride;
        for (int column = windows.column_begin; column < windows.column_end; ++column) {
          const int tap_column = at.column + it.column_padding - column * it.column_stride;
          sum = prumo::fma(taps[tap_place(it, tap_row, tap_column)], dy[row * it.dy.pitch + column], sum);
        }
      }
    }
    *element_at(images, it.dx, at) = sum * slope_of(it.below, *element_at(images, it.x, at));
  }
}

/// Adds to the gradients of weights: a stretch of threads sums over the places of all images for one weight.
template <class Team, class C>
PRUMO_STEP_FUNCTION void add_any_gradients(const Team& team, const step_layer& from_table, const step_images<C>& images,
                                           C* gradients) {
  const step_layer it = from_table;
  const int places = images.count * it.out_height * it.out_width;
  for (int weight = team.stretch(); weight < it.weight_count(); weight += team.stretches()) {
    const int filter = it.taps.quotient(weight), tap = weight - filter * it.filter_size();
    const int tap_row = it.tap_columns.quotient(tap), tap_column = tap - tap_row * it.filter_width;
    const int map = it.x_items.by_channels.quotient(filter), channel = filter - map * it.in_channels;
    C sum = 0;
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const item_place at(place, it.y_places);
      const C* const memory = images.image(at.image);
      const C x =
          memory[it.x.begin + channel * it.x.plane + (at.row * it.row_stride + tap_row - it.row_padding) * it.x.pitch +
                 at.column * it.column_stride + tap_column - it.column_padding];
      sum = prumo::fma(memory[it.dy.begin + map * it.dy.plane + at.row * it.dy.pitch + at.column], x, sum);
    }
    sum = sum_of_lanes(team, sum);
    if (team.lane() == 0) gradients[weight] += sum;
  }
}

/// Adds the sums of dy to the gradients of a convolution's bias.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void add_bias_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                            C* gradients) {
  const int places = images.count * it.out_height * it.out_width;
  // The last stretches begin: those of the weights' gradients begin with the first.
  for (int map = team.stretches() - 1 - team.stretch(); map < it.out_channels; map += team.stretches()) {
    C sum = 0;
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const item_place at(place, it.y_places);
      sum += images.image(at.image)[it.dy.begin + map * it.dy.plane + at.row * it.dy.pitch + at.column];
    }
    sum = sum_of_lanes(team, sum);
    if (team.lane() == 0) gradients[map] += sum;
  }
}

}  // namespace prumo::nets
