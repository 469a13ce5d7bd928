// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the convolution of bands in matrix units cuts images, and where things lie in a team's memory.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// What a matrix unit makes of a type. Its right operand has 8 columns, each of them for a place of the filter.
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
