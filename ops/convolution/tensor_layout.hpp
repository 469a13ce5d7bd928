// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the convolution in matrix units cuts images, and where things lie in a team's memory.

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
  int block_rows = 1;  ///< rows of blocks in a band
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

}  // namespace prumo::backend
