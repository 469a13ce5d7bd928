// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The numbers of nets that take windows (window_image.hpp): a convolution, a filter that all maps share, and a dense
/// layer.

#include "step_table.hpp"

namespace prumo::nets {

/// The rows and columns of a window, and the rows of it that a thread has.
inline constexpr int window_side = 4;
inline constexpr int window_rows = 2;
inline constexpr int window_places = window_rows * window_side;

/// The rows and columns of the convolution's filters, and what lies in scratch memory for a map: its taps, its bias and
/// a gap. Behind the taps of the shared filter lies its bias.
inline constexpr int window_filter = 5;
inline constexpr int window_taps = window_filter * window_filter;
inline constexpr int window_map_copies = 28;
inline constexpr int shared_taps = window_side * window_side;
inline constexpr int shared_copies = shared_taps + 4;

/// Neighbouring lanes that add their sums for the gradients: four windows of a map.
inline constexpr int window_lanes = 8;
/// The sums of such lanes: the taps and bias of a map, and for each half of a window its taps of the shared filter and
/// the bias. The distance to those of the next lanes is odd, so that lanes meet in fewer banks.
inline constexpr int map_sums = window_taps + 1;
inline constexpr int half_sums = window_places + 1;
inline constexpr int window_group_sums = (map_sums + 2 * half_sums) | 1;
/// Lanes that share a sum of the shared filter over all windows.
inline constexpr int shared_lanes = 8;

/// The most inputs and outputs of the dense layer, and copies of parameters that a thread makes.
inline constexpr int most_window_inputs = 256;
inline constexpr int most_window_outputs = 16;
inline constexpr int window_copies_of_thread = 8;

/// The halves of windows of a map, filled up so that neighbouring lanes have the same map.
inline int window_halves_of(const step_layer& shared) {
  const int halves = shared.out_height * shared.out_width * (window_side / window_rows);
  return (halves + window_lanes - 1) / window_lanes * window_lanes;
}

/// Whether the net is a convolution, a shared filter whose windows cover its result without touching each other, and
/// a dense layer, small enough for a thread to have half a window.
inline bool has_windows(const step_table& table) {
  const step_layer &it = table.layer[0], &behind = table.layer[1], &last = table.layer[2];
  if (table.layers != 3 || !it.takes_tiles || last.kind != step_kind::dense) return false;
  const bool has_filters =
      it.in_channels == 1 && it.filter_height == window_filter && it.activate == activation::sigmoid &&
      behind.kind == step_kind::shared_convolution && behind.activate == activation::sigmoid &&
      behind.filter_height == window_side && behind.filter_width == window_side && behind.row_stride == window_side &&
      behind.column_stride == window_side && behind.row_padding == 0 && behind.column_padding == 0 &&
      it.out_height == window_side * behind.out_height && it.out_width == window_side * behind.out_width;
  const bool has_words = it.in_width % pixels_of_word == 0 && table.pixels <= pixels_of_word * step_threads;
  return has_filters && has_words && last.in_size() <= most_window_inputs && last.out_channels <= most_window_outputs &&
         window_halves_of(behind) * it.out_channels <= step_threads && it.out_channels * map_sums <= step_threads &&
         last.weight_count() + it.out_channels * window_map_copies + 64 <= window_copies_of_thread * step_threads;
}

}  // namespace prumo::nets
