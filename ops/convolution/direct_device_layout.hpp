// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the direct convolution on a device cuts images and output channels, and where things lie in a team's memory.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// How elements come into the scratch memory.
enum class staging_kind : std::uint8_t {
  images,    ///< all channels of an image lie one behind the other, and are copied in packs
  planes,    ///< the rows of a channel lie one behind the other, and are copied in packs
  rows,      ///< the elements of a row lie one behind the other, and are copied in packs, between zeros if padded
  elements,  ///< one after the other; what lies beside the image is zero
};

/// An *item* is what a team computes at a time: a band of rows of y of some images, for a part of the output channels.
/// Its inputs come in chunks of input channels.
///
/// In a *stream*, a team takes an equal share of the tiles of all images instead. Its threads compute the next tiles,
/// as many as there are threads, whichever images these are of, and no thread is ever idle. Images lie in places of the
/// scratch memory that are used in turns, and are copied before their tiles' turn comes. Results do not wait in the
/// scratch memory then.
struct direct_device_layout {
  // These share a word: a kernel has this structure, and must stay a light_kernel.
  staging_kind staging = staging_kind::elements;
  bool is_stream = false;      ///< see above
  bool keeps_results = false;  ///< whether results go through the scratch memory, to be pooled or activated there
  /// Tiles that a stretch of threads takes at once, if neighbours exchange sums: whole rows of them. 0: as many as
  /// there are threads
  std::uint8_t stretch_tiles = 0;
  int tile = 0;            ///< which of the compiled ones
  int teams = 1;           ///< to launch for each part
  int threads = 0;         ///< of a team; none: no layout
  int images = 1;          ///< of an item, or places for images of a stream
  int band_rows = 1;       ///< rows of y of an item
  int bands = 1;           ///< of an image
  int parts = 1;           ///< of the output channels
  int channel_tiles = 1;   ///< of a part
  int row_tiles = 1;       ///< of a band
  int column_tiles = 1;    ///< of a row
  int convolved_rows = 1;  ///< the most rows of the convolution that a band needs
  int chunk_channels = 0;  ///< the input channels of a chunk
  int chunks = 1;
  int step_tiles = 0;        ///< those of a stream that a team computes between two barriers
  int buffers = 1;           ///< for chunks: with two, one is filled while the other is used
  int row_pack = 1;          ///< neighbours that are copied at once, if rows are
  int pitch = 0;             ///< elements from a row of a plane to the next
  int plane_rows = 0;        ///< rows of x that a band needs
  int plane_elements = 0;    ///< from a plane to the next
  int image_elements = 0;    ///< of a chunk
  int planes_elements = 0;   ///< of a chunk of all images of an item
  int weight_row = 0;        ///< from the weights of a row of the filters to those of the next
  int filter_rows = 0;       ///< of a filter, as in the problem
  int weight_channels = 0;   ///< the input channels whose weights are staged at a time: all, or those of a chunk
  int weights_elements = 0;  ///< what the weights of these channels take
  int tile_window = 0;       ///< the side of the windows that threads pool in their tiles; 0: none
  int result_pack = 1;       ///< neighbouring results that are stored at once
  int channel_groups = 0;    ///< of a team's threads, if their registers keep weights: each has tiles of its own
  int bias_elements = 0;
  int results_elements = 0;  ///< of an item, if they go through the scratch memory

  /// The elements of an array that is followed by one which is aligned for packs.
  KOKKOS_FUNCTION static constexpr std::int64_t aligned(std::int64_t elements) { return (elements + 3) / 4 * 4; }

  KOKKOS_FUNCTION std::int64_t scratch_elements() const {
    return std::int64_t{buffers} * planes_elements +
           std::int64_t{weights_come_in_chunks() ? buffers : 1} * weights_elements + bias_elements + results_elements;
  }
  /// The bands of all images; the images themselves, if these are not cut.
  std::int64_t image_bands(std::int64_t of_images) const { return of_images * bands; }
  KOKKOS_FUNCTION bool weights_come_in_chunks() const { return weight_channels < chunk_channels * chunks; }
  /// The weights of the channels of a tile for one input channel.
  KOKKOS_FUNCTION int filter_elements() const { return filter_rows * weight_row; }
  /// Those that the threads of a team compute at once. A stretch is 32 threads.
  KOKKOS_FUNCTION int tiles_at_once() const { return stretch_tiles == 0 ? threads : threads / 32 * stretch_tiles; }
  /// Tiles that neighbouring threads of a stretch must have.
  KOKKOS_FUNCTION int inseparable_tiles() const { return stretch_tiles == 0 ? 1 : column_tiles; }
  /// The tiles of an image that a group of a team's threads computes.
  KOKKOS_FUNCTION int tiles_of_group() const {
    return column_tiles * row_tiles * (channel_groups == 0 ? channel_tiles : channel_tiles / channel_groups);
  }
  /// Or of a band of an image.
  int tiles_of_image() const { return column_tiles * row_tiles * channel_tiles; }
};

}  // namespace prumo::backend
