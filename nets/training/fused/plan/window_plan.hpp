// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The numbers of nets that take windows (window_image.hpp): a convolution, a filter that all maps share, and a dense
/// layer.

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

}  // namespace prumo::nets
