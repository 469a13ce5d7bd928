// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layers of a step whose windows slide over planes: convolutions of any filter and stride, shared filters, pooling.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// The windows along one axis that a pixel lies in, and those pixels of a window that lie inside.
PRUMO_STEP_FUNCTION int first_window(int pixel, int window, int stride, int padding) {
  const int begin = pixel + padding - window + 1;
  return begin <= 0 ? 0 : (begin + stride - 1) / stride;
}
PRUMO_STEP_FUNCTION int end_window(int pixel, int stride, int padding, int windows) {
  const int end = (pixel + padding) / stride + 1;
  return end < windows ? end : windows;
}

/// A place in the planes of all images.
struct plane_place {
  int image, channel, row, column;

  PRUMO_STEP_FUNCTION plane_place(int item, int channels, int height, int width) {
    const int rows = item / width;
    column = item - rows * width;
    const int planes = rows / height;
    row = rows - planes * height;
    image = planes / channels;
    channel = planes - image * channels;
  }
  template <class C>
  PRUMO_STEP_FUNCTION C* in(const step_images<C>& images, const step_planes& planes) const {
    return images.image(image) + planes.begin + channel * planes.plane + row * planes.pitch + column;
  }
};

/// The place of a tap's copy (step_layer::forward_copy).
PRUMO_STEP_FUNCTION int tap_place(const step_layer& it, int row, int column) { return column * it.filter_height + row; }

/// y of a convolution of any shape.
template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_any(const Team& team, const step_layer& it, const step_images<C>& images,
                                      const C* copies) {
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const plane_place at(item, it.out_channels, it.out_height, it.out_width);
    const C* const x = images.image(at.image) + it.x.begin + (at.row * it.row_stride - it.row_padding) * it.x.pitch +
                       at.column * it.column_stride - it.column_padding;
    C sum = 0;
    for (int channel = 0; channel < it.in_channels; ++channel) {
      const C* const taps = copies + it.forward_copy + channel * it.filter_size() * it.padded_out + at.channel;
      for (int row = 0; row < it.filter_height; ++row) {
        for (int column = 0; column < it.filter_width; ++column) {
          sum = prumo::fma(taps[tap_place(it, row, column) * it.padded_out],
                           x[channel * it.x.plane + row * it.x.pitch + column], sum);
        }
      }
    }
    if (it.bias_copy >= 0) sum += copies[it.bias_copy + at.channel];
    *at.in(images, it.y) = activated(it.activate, sum);
  }
}

/// dx of a convolution of any shape, times the slope below. It may take the place of x.
template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_any_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                               const C* copies) {
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const plane_place at(item, it.in_channels, it.in_height, it.in_width);
    const int row_begin = first_window(at.row, it.filter_height, it.row_stride, it.row_padding);
    const int row_end = end_window(at.row, it.row_stride, it.row_padding, it.out_height);
    const int column_begin = first_window(at.column, it.filter_width, it.column_stride, it.column_padding);
    const int column_end = end_window(at.column, it.column_stride, it.column_padding, it.out_width);
    const C* const planes = images.image(at.image) + it.dy.begin;
    C sum = 0;
    for (int map = 0; map < it.out_channels; ++map) {
      const C* const dy = planes + map * it.dy.plane;
      const C* const taps = copies + it.forward_copy + at.channel * it.filter_size() * it.padded_out + map;
      for (int row = row_begin; row < row_end; ++row) {
        const int tap_row = at.row + it.row_padding - row * it.row_stride;
        for (int column = column_begin; column < column_end; ++column) {
          const int tap_column = at.column + it.column_padding - column * it.column_stride;
          sum =
              prumo::fma(taps[tap_place(it, tap_row, tap_column) * it.padded_out], dy[row * it.dy.pitch + column], sum);
        }
      }
    }
    *at.in(images, it.dx) = sum * slope_of(it.below, *at.in(images, it.x));
  }
}

/// Adds to the gradients of weights: a stretch of threads sums over the places of all images for one weight.
template <class Team, class C>
PRUMO_STEP_FUNCTION void add_any_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                           C* gradients) {
  const int places = images.count * it.out_height * it.out_width;
  for (int weight = team.stretch(); weight < it.weight_count(); weight += team.stretches()) {
    const int rows = weight / it.filter_width, tap_column = weight - rows * it.filter_width;
    const int filter = rows / it.filter_height, tap_row = rows - filter * it.filter_height;
    const int map = filter / it.in_channels, channel = filter - map * it.in_channels;
    C sum = 0;
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const plane_place at(place, 1, it.out_height, it.out_width);
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
template <class Team, class C>
PRUMO_STEP_FUNCTION void add_bias_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                            C* gradients) {
  const int places = images.count * it.out_height * it.out_width;
  // The last stretches begin: those of the weights' gradients begin with the first.
  for (int map = team.stretches() - 1 - team.stretch(); map < it.out_channels; map += team.stretches()) {
    C sum = 0;
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const plane_place at(place, 1, it.out_height, it.out_width);
      sum += images.image(at.image)[it.dy.begin + map * it.dy.plane + at.row * it.dy.pitch + at.column];
    }
    sum = sum_of_lanes(team, sum);
    if (team.lane() == 0) gradients[map] += sum;
  }
}

/// y of a filter that all maps share.
template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_shared(const Team& team, const step_layer& it, const step_images<C>& images,
                                         const C* copies) {
  const C* const taps = copies + it.forward_copy;
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const plane_place at(item, it.out_channels, it.out_height, it.out_width);
    const C* const x = images.image(at.image) + it.x.begin + at.channel * it.x.plane +
                       (at.row * it.row_stride - it.row_padding) * it.x.pitch + at.column * it.column_stride -
                       it.column_padding;
    C sum = it.bias_copy >= 0 ? copies[it.bias_copy] : C(0);
    for (int row = 0; row < it.filter_height; ++row) {
      for (int column = 0; column < it.filter_width; ++column) {
        sum = prumo::fma(taps[row * it.filter_width + column], x[row * it.x.pitch + column], sum);
      }
    }
    *at.in(images, it.y) = activated(it.activate, sum);
  }
}

template <class Team, class C>
PRUMO_STEP_FUNCTION void convolve_shared_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                                  const C* copies) {
  const C* const taps = copies + it.forward_copy;
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const plane_place at(item, it.in_channels, it.in_height, it.in_width);
    const int row_begin = first_window(at.row, it.filter_height, it.row_stride, it.row_padding);
    const int row_end = end_window(at.row, it.row_stride, it.row_padding, it.out_height);
    const int column_begin = first_window(at.column, it.filter_width, it.column_stride, it.column_padding);
    const int column_end = end_window(at.column, it.column_stride, it.column_padding, it.out_width);
    const C* const dy = images.image(at.image) + it.dy.begin + at.channel * it.dy.plane;
    C sum = 0;
    for (int row = row_begin; row < row_end; ++row) {
      const C* const tap_row = taps + (at.row + it.row_padding - row * it.row_stride) * it.filter_width;
      for (int column = column_begin; column < column_end; ++column) {
        sum = prumo::fma(tap_row[at.column + it.column_padding - column * it.column_stride],
                         dy[row * it.dy.pitch + column], sum);
      }
    }
    *at.in(images, it.dx) = sum * slope_of(it.below, *at.in(images, it.x));
  }
}

/// Adds to the gradients of a shared filter's taps, and of its bias behind them.
template <class Team, class C>
PRUMO_STEP_FUNCTION void add_shared_gradients(const Team& team, const step_layer& it, const step_images<C>& images,
                                              C* gradients) {
  const int taps = it.filter_size(), places = images.count * it.out_size();
  for (int tap = team.stretch(); tap < taps + it.bias_count(); tap += team.stretches()) {
    const int tap_row = tap / it.filter_width, tap_column = tap - tap_row * it.filter_width;
    C sum = 0;
    for (int place = team.lane(); place < places; place += Team::lanes) {
      const plane_place at(place, it.out_channels, it.out_height, it.out_width);
      C x = 1;
      if (tap < taps) {
        x = images.image(at.image)[it.x.begin + at.channel * it.x.plane +
                                   (at.row * it.row_stride + tap_row - it.row_padding) * it.x.pitch +
                                   at.column * it.column_stride + tap_column - it.column_padding];
      }
      sum = prumo::fma(*at.in(images, it.dy), x, sum);
    }
    sum = sum_of_lanes(team, sum);
    if (team.lane() == 0) gradients[tap] += sum;
  }
}

/// The part of a window along one axis that lies inside: [begin, end).
struct window_range {
  int begin, end;

  PRUMO_STEP_FUNCTION window_range(int which, int window, int stride, int padding, int extent) {
    begin = which * stride - padding;
    end = begin + window < extent ? begin + window : extent;
    if (begin < 0) begin = 0;
  }
};

/// The first maximum of a window in row-major order, where a NaN counts as the maximum: its place in the plane.
template <class C>
PRUMO_STEP_FUNCTION int first_maximum(const C* plane, int pitch, const window_range& rows,
                                      const window_range& columns) {
  int found = rows.begin * pitch + columns.begin;
  C largest = plane[found];
  for (int row = rows.begin; row < rows.end; ++row) {
    for (int column = columns.begin; column < columns.end; ++column) {
      const C value = plane[row * pitch + column];
      if (largest == largest && !(value <= largest)) {
        largest = value;
        found = row * pitch + column;
      }
    }
  }
  return found;
}

template <class Team, class C>
PRUMO_STEP_FUNCTION void pool(const Team& team, const step_layer& it, const step_images<C>& images) {
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const plane_place at(item, it.out_channels, it.out_height, it.out_width);
    const C* const x = images.image(at.image) + it.x.begin + at.channel * it.x.plane;
    const window_range rows(at.row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
    const window_range columns(at.column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
    C result;
    if (it.kind == step_kind::maximum) {
      result = x[first_maximum(x, it.x.pitch, rows, columns)];
    } else {
      result = 0;
      for (int row = rows.begin; row < rows.end; ++row) {
        for (int column = columns.begin; column < columns.end; ++column) result += x[row * it.x.pitch + column];
      }
      result /= static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
    }
    *at.in(images, it.y) = result;
  }
}

/// dx of one window of a plane where no pixel lies in two windows, and of what lies between it and the next.
template <class C>
PRUMO_STEP_FUNCTION void pool_backward_window(const step_layer& it, C* memory, int channel, int area_row,
                                              int area_column) {
  C* const x = memory + it.x.begin + channel * it.x.plane;
  C* const dx = memory + it.dx.begin + channel * it.dx.plane;
  const window_range area_rows(area_row, it.row_stride, it.row_stride, it.row_padding, it.in_height);
  const window_range area_columns(area_column, it.column_stride, it.column_stride, it.column_padding, it.in_width);
  const bool has_window = area_row < it.out_height && area_column < it.out_width;
  const window_range rows(area_row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
  const window_range columns(area_column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
  C dy = 0;
  int found = -1;
  if (has_window) {
    dy = memory[it.dy.begin + channel * it.dy.plane + area_row * it.dy.pitch + area_column];
    if (it.kind == step_kind::maximum) {
      found = first_maximum(x, it.x.pitch, rows, columns);
    } else {
      dy /= static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
    }
  }
  for (int row = area_rows.begin; row < area_rows.end; ++row) {
    for (int column = area_columns.begin; column < area_columns.end; ++column) {
      const bool inside = has_window && row < rows.end && column < columns.end;
      const bool takes = inside && (it.kind == step_kind::average || row * it.x.pitch + column == found);
      const C slope = slope_of(it.below, x[row * it.x.pitch + column]);
      dx[row * it.dx.pitch + column] = takes ? dy * slope : C(0);
    }
  }
}

/// dx of pooling where no pixel lies in two windows: a thread for each window.
template <class Team, class C>
PRUMO_STEP_FUNCTION void pool_backward_by_windows(const Team& team, const step_layer& it,
                                                  const step_images<C>& images) {
  const int areas_down = (it.in_height + it.row_padding - 1) / it.row_stride + 1;
  const int areas_across = (it.in_width + it.column_padding - 1) / it.column_stride + 1;
  for (int item = team.rank(); item < images.count * it.in_channels * areas_down * areas_across; item += team.size()) {
    const plane_place at(item, it.in_channels, areas_down, areas_across);
    pool_backward_window(it, images.image(at.image), at.channel, at.row, at.column);
  }
}

/// dx of pooling where windows overlap: a thread looks at the windows of a pixel. For maxima, dx has a place of its
/// own.
template <class Team, class C>
PRUMO_STEP_FUNCTION void pool_backward_by_pixels(const Team& team, const step_layer& it, const step_images<C>& images) {
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const plane_place at(item, it.in_channels, it.in_height, it.in_width);
    C* const memory = images.image(at.image);
    const C* const x = memory + it.x.begin + at.channel * it.x.plane;
    const C* const dy = memory + it.dy.begin + at.channel * it.dy.plane;
    const int row_end = end_window(at.row, it.row_stride, it.row_padding, it.out_height);
    const int column_end = end_window(at.column, it.column_stride, it.column_padding, it.out_width);
    C sum = 0;
    for (int row = first_window(at.row, it.filter_height, it.row_stride, it.row_padding); row < row_end; ++row) {
      const window_range rows(row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
      for (int column = first_window(at.column, it.filter_width, it.column_stride, it.column_padding);
           column < column_end; ++column) {
        const window_range columns(column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
        const C value = dy[row * it.dy.pitch + column];
        if (it.kind == step_kind::average) {
          sum += value / static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
        } else if (first_maximum(x, it.x.pitch, rows, columns) == at.row * it.x.pitch + at.column) {
          sum += value;
        }
      }
    }
    *at.in(images, it.dx) = sum * slope_of(it.below, *at.in(images, it.x));
  }
}

}  // namespace prumo::nets
