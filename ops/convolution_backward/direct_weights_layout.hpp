// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the gradient of filters on a device shares out images and weights, and where things lie in a team's memory.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// An *item* is a band of rows of one image, which a team copies into its scratch memory. Items are shared out among
/// *groups*, and weights among *parts*: a team takes a part of the weights and a group of the items. A thread holds a
/// *tile* of sums: those of neighbouring output channels, for a *line* of weights, which is a row of the filters of one
/// input channel, or a single weight of them. The last tiles of a part are those of the bias. Threads that have the
/// same tile take other places, and are a *slice* each.
struct direct_weights_layout {
  int tile = 0;     ///< which of the compiled ones
  int threads = 0;  ///< of a team; none: no layout
  int groups = 0;   ///< teams of a part
  int channel_parts = 1;
  int input_parts = 1;
  int channel_tiles = 1;  ///< of a part
  int in_channels = 0;    ///< of a part
  int lines = 1;          ///< of an input channel
  int tiles = 1;          ///< of a part, those of the bias included
  int slices = 1;
  int band_rows = 1;  ///< rows of dy of an item
  int bands = 1;      ///< of an image
  int segments = 1;   ///< of a row of dy: what a thread takes at once
  int x_rows = 0;     ///< rows of x that a band needs
  int x_pitch = 0;    ///< elements from a row to the next
  int x_plane = 0;    ///< elements of a channel
  int dy_pitch = 0;
  int dy_plane = 0;
  int x_pack = 1;  ///< elements that are copied at once
  int dy_pack = 1;
  int buffers = 1;          ///< with two, one is filled while the other is used
  int buffer_elements = 0;  ///< x, and dy behind it
  int ones = 0;             ///< the elements of the row that the bias meets
  int sums_elements = 0;    ///< for the sums of all threads, which are joined in the end

  int parts() const { return channel_parts * input_parts; }
  KOKKOS_FUNCTION std::int64_t scratch_elements() const {
    const std::int64_t staged = std::int64_t{buffers} * buffer_elements + ones;
    return staged > sums_elements ? staged : sums_elements;
  }
};

}  // namespace prumo::backend
