// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Pooling of a step, forward and backward.

#include "filter_layers.hpp"

#include <cstdint>

namespace prumo::nets {

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

/// A window of 2 x 2 pixels, of a layer that has halves.
template <class C>
struct small_window {
  C values[4];
  int first_maximum = 0;
  C largest;

  /// \param x its first pixel
  PRUMO_STEP_FUNCTION small_window(const C* x, int pitch) {
    using pair = prumo::detail::device_pack<C, 2>;
    const pair upper = *reinterpret_cast<const pair*>(x), lower = *reinterpret_cast<const pair*>(x + pitch);
    values[0] = upper.values[0];
    values[1] = upper.values[1];
    values[2] = lower.values[0];
    values[3] = lower.values[1];
    largest = values[0];
    PRUMO_UNROLL
    for (int i = 1; i < 4; ++i) {
      if (largest == largest && !(values[i] <= largest)) {
        largest = values[i];
        first_maximum = i;
      }
    }
  }
};

/// The notes of an image (step_layer::notes_choices): the first maximum of each window, or that no pixel has a slope.
template <class C>
PRUMO_STEP_FUNCTION std::uint8_t* choices_of(const step_layer& it, C* memory) {
  return reinterpret_cast<std::uint8_t*>(memory + it.choices);
}
inline constexpr int no_choice = 4;

/// Pooling of windows of 2 x 2 pixels that cover the plane.
template <class Team, class C>
PRUMO_STEP_FUNCTION void pool_halves(const Team& team, const step_layer& it, const step_images<C>& images) {
  const item_grid grid = it.y_items;
  const step_planes x_planes = it.x, y_planes = it.y;
  const bool takes_maximum = it.kind == step_kind::maximum;
  const activation below = it.below;
  for (int item = team.rank(); item < images.count * grid.of_an_image; item += team.size()) {
    const item_place at(item, grid);
    C* const memory = images.image(at.image);
    const small_window<C> window(
        memory + x_planes.begin + at.channel * x_planes.plane + 2 * at.row * x_planes.pitch + 2 * at.column,
        x_planes.pitch);
    if (it.notes_choices) {
      const bool has_slope = below != activation::relu || window.largest > C(0);
      choices_of(it, memory)[item - at.image * grid.of_an_image] =
          static_cast<std::uint8_t>(has_slope ? window.first_maximum : no_choice);
    }
    const C sum = ((window.values[0] + window.values[1]) + window.values[2]) + window.values[3];
    memory[y_planes.begin + at.channel * y_planes.plane + at.row * y_planes.pitch + at.column] =
        takes_maximum ? window.largest : sum / C(4);
  }
}

/// Stores a pair in scratch memory at once. An assignment of a pack may become a store for each element.
template <class C>
PRUMO_STEP_FUNCTION void store_pair(C* to, C first, C second) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(C) == sizeof(float)) {
    *reinterpret_cast<float2*>(to) = make_float2(first, second);
    return;
  }
#endif
  *reinterpret_cast<prumo::detail::device_pack<C, 2>*>(to) = {first, second};
}

/// dx of pool_halves().
template <class Team, class C>
PRUMO_STEP_FUNCTION void pool_halves_backward(const Team& team, const step_layer& it, const step_images<C>& images) {
  const item_grid grid = it.y_items;
  const step_planes x_planes = it.x, dx_planes = it.dx, dy_planes = it.dy;
  const bool takes_maximum = it.kind == step_kind::maximum;
  const activation below = it.below;
  for (int item = team.rank(); item < images.count * grid.of_an_image; item += team.size()) {
    const item_place at(item, grid);
    C* const memory = images.image(at.image);
    const C slope = memory[dy_planes.begin + at.channel * dy_planes.plane + at.row * dy_planes.pitch + at.column];
    C values[4];
    C* const dx =
        memory + dx_planes.begin + at.channel * dx_planes.plane + 2 * at.row * dx_planes.pitch + 2 * at.column;
    if (it.notes_choices) {
      const int choice = choices_of(it, memory)[item - at.image * grid.of_an_image];
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) values[i] = i == choice ? slope : C(0);
      store_pair(dx, values[0], values[1]);
      store_pair(dx + dx_planes.pitch, values[2], values[3]);
      continue;
    }
    const small_window<C> window(
        memory + x_planes.begin + at.channel * x_planes.plane + 2 * at.row * x_planes.pitch + 2 * at.column,
        x_planes.pitch);
    if (takes_maximum) {
      const C of_largest = slope * slope_of(below, window.largest);
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) values[i] = i == window.first_maximum ? of_largest : C(0);
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) values[i] = slope / C(4);
      multiply_by_slopes(below, window.values, values);
    }
    store_pair(dx, values[0], values[1]);
    store_pair(dx + dx_planes.pitch, values[2], values[3]);
  }
}

template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void pool(const Team& team, const step_layer& from_table, const step_images<C>& images) {
  if (from_table.has_halves) {
    pool_halves(team, from_table, images);
    return;
  }
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.out_size(); item += team.size()) {
    const item_place at(item, it.y_items);
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
    *element_at(images, it.y, at) = result;
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
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void pool_backward_by_windows(const Team& team, const step_layer& from_table,
                                                  const step_images<C>& images) {
  if (from_table.has_halves) {
    pool_halves_backward(team, from_table, images);
    return;
  }
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.window_areas.of_an_image; item += team.size()) {
    const item_place at(item, it.window_areas);
    pool_backward_window(it, images.image(at.image), at.channel, at.row, at.column);
  }
}

/// dx of pooling where windows overlap: a thread looks at the windows of a pixel. For maxima, dx has a place of its
/// own.
template <class Team, class C>
PRUMO_STEP_FUNCTION void pool_backward_by_pixels(const Team& team, const step_layer& from_table,
                                                 const step_images<C>& images) {
  const step_layer it = from_table;
  for (int item = team.rank(); item < images.count * it.in_size(); item += team.size()) {
    const item_place at(item, it.x_items);
    C* const memory = images.image(at.image);
    const C* const x = memory + it.x.begin + at.channel * it.x.plane;
    const C* const dy = memory + it.dy.begin + at.channel * it.dy.plane;
    const pixel_windows windows(it, at);
    C sum = 0;
    for (int row = windows.row_begin; row < windows.row_end; ++row) {
      const window_range rows(row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
      for (int column = windows.column_begin; column < windows.column_end; ++column) {
        const window_range columns(column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
        const C value = dy[row * it.dy.pitch + column];
        if (it.kind == step_kind::average) {
          sum += value / static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
        } else if (first_maximum(x, it.x.pitch, rows, columns) == at.row * it.x.pitch + at.column) {
          sum += value;
        }
      }
    }
    *element_at(images, it.dx, at) = sum * slope_of(it.below, *element_at(images, it.x, at));
  }
}

}  // namespace prumo::nets
