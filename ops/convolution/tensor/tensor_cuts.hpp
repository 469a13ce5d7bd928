// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows for the convolution in matrix units from the images and bands of an item.

#include "convolution_problem.hpp"
#include "tensor_search.hpp"
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::backend {

/// The most neighbouring results that one store takes. All rows must begin at an address that is aligned for it.
template <class T>
int result_pack_of(const convolution_problem<T>& problem) {
  if (problem.is_pooled() || problem.y.column_stride != 1) return 1;
  for (const std::int64_t pack : {4, 2}) {
    if (problem.y.row_stride % pack == 0 && problem.y.channel_stride % pack == 0 &&
        problem.y.image_stride % pack == 0 &&
        reinterpret_cast<std::uintptr_t>(problem.y.data) % (static_cast<std::uintptr_t>(pack) * sizeof(T)) == 0) {
      return static_cast<int>(pack);
    }
  }
  return 1;
}

/// Whether the distances of an item's results of a channel are less than 2^31.
template <class T>
bool has_short_distances(const convolution_problem<T>& problem, std::int64_t images, std::int64_t rows) {
  const auto& y = problem.y;
  const double farthest = static_cast<double>(images) * std::abs(static_cast<double>(y.image_stride)) +
                          static_cast<double>(rows) * std::abs(static_cast<double>(y.row_stride)) +
                          static_cast<double>(problem.columns + tensor_layout::block_columns) *
                              std::abs(static_cast<double>(y.column_stride));
  return farthest < std::numeric_limits<int>::max();
}

/// Whether rows of the results end within sectors of the memory, without gaps between them.
template <class T>
bool has_split_sectors(const convolution_problem<T>& problem) {
  constexpr std::int64_t sector_bytes = 32;
  const auto& y = problem.y;
  return y.column_stride == 1 && y.row_stride == problem.y_columns &&
         problem.y_columns * std::int64_t{sizeof(T)} % sector_bytes != 0;
}

/// What rows, planes and copies have beyond their elements, in chunks. It puts what a warp reads at once into different
/// banks of the memory.
struct padding {
  int of_row = 0;
  int of_plane = 0;
  int of_copy = 0;
};

/// Sets what follows from images and bands. Returns whether an item is small enough to be computed with.
template <class T>
bool cut_images(tensor_layout& layout, const convolution_problem<T>& problem, std::int64_t images, std::int64_t bands,
                padding more = {}) {
  using prumo::detail::divide_up;
  using prumo::detail::round_up;
  using form = tensor_form<T>;
  const std::int64_t block_rows = divide_up(problem.rows, layout.rows_of_block());
  layout.images = static_cast<int>(images);
  layout.block_rows = static_cast<int>(divide_up(block_rows, bands));
  layout.bands = static_cast<int>(divide_up(block_rows, layout.block_rows));
  layout.block_columns_of_row = static_cast<int>(divide_up(problem.columns, tensor_layout::block_columns));
  layout.pack_bytes = layout.bands == 1 ? bytes_of_packs(problem) : 0;
  layout.result_pack = result_pack_of(problem);
  layout.result_rows = 0;
  layout.result_words = 0;
  const std::int64_t needed_rows = (layout.band_rows() - 1) * problem.row_stride + problem.filter_rows;
  const std::int64_t rows = layout.has_whole_images() ? problem.height : needed_rows;
  const std::int64_t staged_pitch = divide_up(problem.width + 2 * problem.column_padding, form::elements_of_word);
  const std::int64_t pitch = round_up(staged_pitch * form::elements_of_word, form::chunk) + more.of_row * form::chunk;
  const std::int64_t plane = rows * pitch + more.of_plane * form::chunk, image = problem.in_channels * plane;
  // Blocks may end behind the results. Places there, and the unit that is loaded behind a run's last step, lie behind
  // the images.
  const std::int64_t unit = layout.stacked_rows * problem.row_stride;
  const std::int64_t last_line = unit + (layout.step_rows > unit ? (layout.step_rows - 1) * layout.step_distance : 0);
  const std::int64_t rows_read = layout.band_rows() * problem.row_stride + (layout.run_steps - 1) * unit + last_line;
  const std::int64_t columns = std::int64_t{layout.block_columns_of_row} * tensor_layout::block_columns;
  const std::int64_t end = images * image - plane + rows_read * pitch + (columns - 1) * problem.column_stride +
                           (std::int64_t{layout.segments} + 1) * form::line_taps;
  const std::int64_t elements = std::max(images * image, end);
  constexpr std::int64_t most_elements = 1 << 20;  // more than any team's memory has
  if (elements > most_elements || !has_short_distances(problem, images, layout.band_rows())) return false;
  // The last chunk of the last row, and the elements behind it, are read too.
  layout.staged_words = static_cast<int>(round_up(images * problem.in_channels * rows * staged_pitch + 8, 4));
  layout.staged_pitch = static_cast<int>(staged_pitch);
  layout.pitch = static_cast<int>(pitch);
  layout.plane_rows = static_cast<int>(rows);
  layout.plane_elements = static_cast<int>(plane);
  layout.image_elements = static_cast<int>(image);
  layout.copy_words = static_cast<int>(round_up(elements / form::elements_of_word + 1, 4)) + more.of_copy * 4;
  return true;
}

}  // namespace prumo::backend
