// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the convolution in matrix units cuts images, and where things lie in a team's memory: first for images of which
/// copies fit into it, and then for bands of few rows.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// What a matrix unit makes of a type. Its right operand has 8 columns, each of them for a place of the filter.
template <class T>
struct tensor_form {
  static constexpr int elements_of_word = 4 / static_cast<int>(sizeof(T));
  /// A *line* is a stretch of neighbouring elements of a row of an image, which as many weights of a row of the filter
  /// meet. A thread loads a line at once, by 8 bytes.
  static constexpr int line_taps = 2 * elements_of_word;
  /// Of each image, which begin an element further each: any line is aligned in one of them.
  static constexpr int copies = line_taps;
  /// What is copied at once, in elements.
  static constexpr int chunk = 4 * elements_of_word;
};

/// A matrix unit multiplies a tile of 16 rows of weights with a tile of 16 x 8 elements of images. Its rows are output
/// channels or, where there are 8 and fewer, the output channels of `stacked_rows` neighbouring rows of y: these are
/// the channels of a taller filter. A *step* multiplies four lines.
///
/// A *block* is four neighbouring columns of y in 4 units of rows. A unit has the stacked rows. A warp computes four
/// neighbouring blocks at a time, of the same rows or not. From a step to the next one of a *run*, the lines move on by
/// the rows of a unit. So each unit meets the elements that the next one met in the step before. Only those of the last
/// unit are loaded, and the others are in registers.
///
/// An *item* is what a team computes at a time: some images, or a band of rows of one.
struct tensor_layout {
  static constexpr int unit_rows = 16;
  static constexpr int lines_of_step = 4;
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  static constexpr int resident_teams = 2;  ///< of a multiprocessor
  static constexpr int block_columns = 4;
  static constexpr int block_units = 4;
  static constexpr int blocks_of_warp = 4;  ///< that it computes at a time

  int images = 0;      ///< of an item; 0: there is no layout
  int most_teams = 1;  ///< that run at the same time
  int bands = 1;       ///< of an image
  int block_rows = 1;  ///< of a band, each with rows_of_block() rows of the convolution
  int block_columns_of_row = 1;
  int stacked_rows = 1;  ///< 1, 2, 4, 8 or 16
  int weight_tiles = 1;  ///< of 16 rows
  int parts = 1;         ///< of these
  int part_tiles = 1;    ///< of a part

  int segments = 1;       ///< lines of a row of the filter
  int step_rows = 1;      ///< rows of the filter that a step has lines of
  int step_distance = 1;  ///< from one of these rows to the next, if they are not neighbours of a unit
  int residues = 1;       ///< runs that differ in the row they begin with
  int runs = 1;
  int run_steps = 1;

  int staged_pitch = 0;  ///< from a row to the next where images arrive, in words
  int staged_words = 0;
  int pitch = 0;  ///< the same in the copies, in elements
  int plane_rows = 0;
  int plane_elements = 0;  ///< from a channel to the next, in the copies
  int image_elements = 0;
  int copy_words = 0;  ///< from a copy to the next
  /// What arrives at once of images that come without padding, each in one stretch, in bytes; 0 for others.
  int pack_bytes = 0;
  int result_pack = 1;  ///< neighbouring results that one store takes
  /// The rows of blocks whose results are kept in the scratch memory and written together; 0: results are not kept.
  int result_rows = 0;
  int result_words = 0;

  KOKKOS_FUNCTION bool has_whole_images() const { return pack_bytes > 0; }
  KOKKOS_FUNCTION int rows_of_block() const { return block_units * stacked_rows; }
  /// The rows of the convolution, before pooling.
  KOKKOS_FUNCTION int band_rows() const { return block_rows * rows_of_block(); }
  /// The blocks of a band of an image.
  KOKKOS_FUNCTION int blocks() const { return block_rows * block_columns_of_row; }
  /// What is copied of a row.
  KOKKOS_FUNCTION int row_chunks() const { return (staged_pitch + 3) / 4; }
  KOKKOS_FUNCTION int steps() const { return runs * run_steps; }
  /// Words of the weights of a part. Those of a step more are read.
  KOKKOS_FUNCTION int weights_words() const { return (part_tiles * steps() + 1) * 128; }
  KOKKOS_FUNCTION int lines_words() const { return runs * lines_of_step; }
  KOKKOS_FUNCTION int bias_words() const { return part_tiles * unit_rows; }
  template <class T>
  KOKKOS_FUNCTION int scratch_words() const {
    return weights_words() + lines_words() + bias_words() + staged_words + result_words +
           tensor_form<T>::copies * copy_words;
  }
  /// The bands of all images; the images themselves, if these are not cut.
  std::int64_t image_bands(std::int64_t of_images) const { return of_images * bands; }
};

/// The same for bands of few rows, of images that do not fit otherwise: what a matrix unit makes of a type. Its right
/// operand has 8 columns, each of them for a place of the filter.
template <class T>
struct banded_tensor_form {
  static constexpr int elements_of_word = 4 / static_cast<int>(sizeof(T));
  static constexpr int lines_of_step = elements_of_word;
  /// The tiles of 8 places whose sums a warp holds at a time.
  static constexpr int tiles = 4 * elements_of_word;
  /// Two tiles are a stretch: neighbouring places of a run. Four of these are columns of the two tiles that one thread
  /// gets the results of, so that the threads of a row store a sector of memory at once.
  static constexpr int stretch = 16;
  static constexpr int stretches_of_group = tiles / 2;  ///< what a warp computes at a time
};

/// A matrix unit multiplies a tile of 16 rows of weights with a tile of 16 x 8 elements of images. Its rows are output
/// channels or, where there are fewer than 16, the output channels of `stacked_rows` neighbouring rows: these are the
/// channels of a taller filter. A *line* is a stretch of 8 neighbouring elements of a row of an image, which 8 weights
/// of a row of such a filter meet. A *step* multiplies two
/// lines of 16-bit elements, or one of f32.
///
/// An *item* is what a team computes at a time: some images, or a band of rows of one.
struct banded_tensor_layout {
  static constexpr int line_taps = 8;
  static constexpr int unit_rows = 16;
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  static constexpr int resident_teams = 2;  ///< of a multiprocessor

  int images = 0;       ///< of an item; 0: there is no layout
  int most_teams = 1;   ///< that run at the same time
  int bands = 1;        ///< of an image
  int band_blocks = 1;  ///< blocks of stacked rows in a band
  int stacked_rows = 1;
  int filter_lines = 1;  ///< rows of the taller filter
  int segments = 1;      ///< lines of a row of the filter
  int steps = 0;
  int row_blocks = 1;             ///< tiles of 16 rows of weights
  int parts = 1;                  ///< of these
  int part_blocks = 1;            ///< tiles of a part
  bool has_flat_results = false;  ///< the results of a band and channel are one run, otherwise those of a row
  int pitch = 0;                  ///< elements from a row to the next
  int plane_rows = 0;
  int plane_elements = 0;  ///< from a channel to the next
  int image_elements = 0;
  int buffer_words = 0;
  /// What is copied at once of images that come without padding, each in one stretch; 0 for others.
  int pack_bytes = 0;
  int copies = 1;  ///< of the images that are computed with

  /// A run is a stretch of results of an output channel: those of a row, or of all rows of a band.
  int run_length = 0;
  int run_stretches = 0;
  int runs = 0;  ///< of a band of an image

  KOKKOS_FUNCTION bool has_whole_images() const { return pack_bytes > 0; }
  /// For images: with two, one is filled while the other is used.
  KOKKOS_FUNCTION int buffers() const { return has_whole_images() ? 2 : 1; }
  KOKKOS_FUNCTION int band_rows() const { return band_blocks * stacked_rows; }
  /// Words of the weights of a part, and of the places of the lines.
  KOKKOS_FUNCTION int weights_words() const { return part_blocks * steps * 128; }
  KOKKOS_FUNCTION int lines_words() const { return (2 * steps + 3) / 4 * 4; }
  /// Where 16-bit images lie a second time, an element further, so that each pair of neighbours is a word of one of the
  /// copies. The words of both that a warp reads at once lie in different banks of the memory.
  KOKKOS_FUNCTION int second_begin() const { return buffers() * buffer_words + 16; }
  /// With a word that may be read behind the second copy.
  KOKKOS_FUNCTION int images_words() const { return second_begin() + (copies - 1) * buffer_words + 4; }
  KOKKOS_FUNCTION int scratch_words() const { return weights_words() + lines_words() + images_words() + bias_words(); }
  KOKKOS_FUNCTION int bias_words() const { return part_blocks * unit_rows; }
  /// The bands of all images; the images themselves, if these are not cut.
  std::int64_t image_bands(std::int64_t of_images) const { return of_images * bands; }
};

}  // namespace prumo::backend
