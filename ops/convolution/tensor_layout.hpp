// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the convolution in matrix units cuts images and filters, and where things lie in a team's memory.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// What a matrix unit makes of a type.
template <class T>
struct tensor_form {
  static constexpr int elements_of_word = 4 / static_cast<int>(sizeof(T));
  static constexpr int elements_of_cell = 16 / static_cast<int>(sizeof(T));
};

/// How images arrive in a team's memory.
enum class tensor_stage : std::int8_t {
  images,  ///< all channels of a slice in one stretch, without padding
  planes,  ///< the rows of each channel in one stretch, without padding
  rows     ///< each row by itself, with zeros beside the image
};

/// A matrix unit multiplies a tile of 16 rows of weights with a tile of 8 columns of elements. Its columns are places
/// of the filter, which are neighbouring results. Its rows are output channels or, where there are 8 and fewer, the
/// output channels of `stacked_rows` neighbouring rows of y, and of `stacked_columns` of its columns: these are the
/// channels of a taller and wider filter. The stacked rows of results are a *unit*.
///
/// A *cell* is 16 bytes: the elements of `cell_channels` channels in a row and in some neighbouring columns. A *group*
/// of so many channels has a cell for each place of the image. A *step* multiplies two cells for each place.
///
/// An *item* is what a team computes at a time: some images, or a band of rows and columns of one. If the filters do
/// not fit into the memory, it takes a *slice* of the channels after the other, and keeps its sums in registers.
struct tensor_layout {
  static constexpr int tile_rows = 16;
  static constexpr int tile_columns = 8;
  static constexpr int tiles_of_turn = 8;  ///< of columns, that a warp computes at a time
  static constexpr int places_of_turn = tiles_of_turn * tile_columns;
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  static constexpr int most_resident_teams = 2;  ///< of a multiprocessor
  static constexpr int bytes_of_cell = 16;
  static constexpr int words_of_step = 128;  ///< of a tile of weights
  /// A thread makes the cells of this number of words of a staged row, one in each half of the row. To find a row takes
  /// as long as to make its cells, so it finds one for both.
  static constexpr int words_of_work = 2;

  int images = 0;  ///< of an item; 0: there is no layout
  int most_teams = 1;
  int bands = 1;  ///< of rows of an image
  int column_bands = 1;
  int band_units = 1;               ///< rows of units of a band
  int band_columns = 1;             ///< of the convolution
  std::int8_t stacked_rows = 1;     ///< 1, 2, 4, 8 or 16
  std::int8_t stacked_columns = 1;  ///< 1 or 2
  std::int8_t warp_tiles = 1;       ///< tiles of weights that a warp multiplies at once: 1, 2 or 4
  std::int8_t cell_channels = 1;
  std::int8_t pack_bytes = 0;   ///< of images that arrive at once; 0: single elements
  std::int8_t result_pack = 1;  ///< neighbouring results that one store takes
  std::int8_t first_cell = 0;   ///< of a row, that a filter meets
  tensor_stage stage = tensor_stage::rows;
  std::uint16_t segments = 1;         ///< cells of a row of the filter
  std::uint16_t slices = 1;           ///< of the channels
  std::uint16_t staged_channels = 1;  ///< of an image and a slice
  std::int16_t first_staged = 0;  ///< the element of a staged row that its first cell begins with; negative in padding
  int parts = 1;                  ///< of the weights, each for a team
  int part_tiles = 1;             ///< a multiple of warp_tiles
  int filter_lines = 1;           ///< rows of the taller filter
  int slice_groups = 1;           ///< of channels

  int staged_pitch = 0;  ///< from a staged row to the next, in elements
  int staged_plane = 0;  ///< from a staged channel to the next, in elements
  int staged_words = 0;

  int plane_rows = 0;  ///< of a channel
  int row_cells = 0;   ///< of a row; an even number of 16-bit cells
  /// The cells that a weight meets at neighbouring places are neighbours. This is the distance, in cells, from those of
  /// a column to those of the next column; 0 if the filter meets only one of them.
  int column_distance = 0;
  int pitch = 0;  ///< from a row to the next, in cells
  int cells = 0;
  int places = 0;  ///< of an item, in whole turns

  /// Rows of weights from a stacked row to the next one in the same half of a tile. Devices take long to divide.
  KOKKOS_FUNCTION int rows_of_stacked() const {
    const int shift = (stacked_rows >= 2 ? 1 : 0) + (stacked_rows >= 4 ? 1 : 0) + (stacked_rows >= 8 ? 1 : 0) +
                      (stacked_rows >= 16 ? 1 : 0);
    return (stacked_columns == 2 ? tile_rows / 2 : tile_rows) >> shift;
  }
  KOKKOS_FUNCTION int place_columns() const { return (band_columns + stacked_columns - 1) / stacked_columns; }
  KOKKOS_FUNCTION int band_rows() const { return band_units * stacked_rows; }
  KOKKOS_FUNCTION int plane_cells() const { return plane_rows * pitch; }
  KOKKOS_FUNCTION int image_cells() const { return slice_groups * plane_cells(); }
  KOKKOS_FUNCTION int cells_of_group() const { return filter_lines * segments; }
  KOKKOS_FUNCTION int steps() const { return (slice_groups * cells_of_group() + 1) / 2; }
  /// The weights of a slice and a part.
  KOKKOS_FUNCTION int weights_words() const { return part_tiles * steps() * words_of_step; }
  /// With several slices, the weights of the next one arrive while those of a slice are used.
  KOKKOS_FUNCTION int weights_buffers() const { return slices > 1 ? 2 : 1; }
  KOKKOS_FUNCTION int places_of_image(int window) const {
    const int columns = place_columns();
    return band_units * (window == 1 ? columns : (columns + tile_columns - 1) / tile_columns * tile_columns);
  }
  /// Whether a kernel of its own arranges the weights in the device's memory. A team would take longer for many of them
  /// than that kernel's launch takes.
  KOKKOS_FUNCTION bool has_arranged_weights() const {
    constexpr int many_words = 2048;
    return slices > 1 || weights_words() > many_words;
  }
  KOKKOS_FUNCTION int bias_words() const { return part_tiles * tile_rows; }
  KOKKOS_FUNCTION int scratch_words() const {
    return weights_buffers() * weights_words() + cells * (bytes_of_cell / 4) + staged_words + 3 * places + 2 * steps() +
           bias_words() + 4;
  }
  /// The unit rows whose results a window needs beside each other.
  KOKKOS_FUNCTION static int units_of_window(int window, int stacked_rows) {
    return window > stacked_rows ? window / stacked_rows : 1;
  }
  /// The bands of all images; the images themselves, if these are not cut.
  std::int64_t image_bands(std::int64_t of_images) const { return of_images * bands * column_bands; }
};

/// One of the two cells that a step multiplies for each place. If their number is odd, the last step has only one.
struct tensor_cell {
  int group;    ///< of channels, in the slice
  int line;     ///< row of the taller filter
  int segment;  ///< of that row
  bool is_there;

  KOKKOS_FUNCTION static tensor_cell of(const tensor_layout& layout, int which) {
    const int of_group = layout.cells_of_group(), group = which / of_group, rest = which - group * of_group;
    const int line = rest / layout.segments;
    return {group, line, rest - line * layout.segments, group < layout.slice_groups};
  }

  /// From the place of the filter, in cells.
  /// \param column_stride from a place to the next
  KOKKOS_FUNCTION int distance(const tensor_layout& layout, int columns_of_cell, int column_stride) const {
    if (!is_there) return 0;
    const int column = segment * columns_of_cell + layout.first_cell;
    return group * layout.plane_cells() + line * layout.pitch + column % column_stride * layout.column_distance +
           column / column_stride;
  }
};

}  // namespace prumo::backend
