// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows for the convolution in matrix units from the images and bands of an item.

#include "convolution_problem.hpp"
#include "team_resources.hpp"
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace prumo::backend {

/// Whether extents are so large that they are left to others: smaller ones cannot overflow.
template <class T>
bool has_large_extents(const convolution_problem<T>& problem, std::int64_t most_extent) {
  return std::max({problem.width + 2 * problem.column_padding, problem.height + 2 * problem.row_padding,
                   problem.in_channels * problem.filter_rows, problem.out_channels, problem.filter_columns,
                   problem.row_stride, problem.column_stride}) > most_extent;
}

/// The scratch memory of each team, in words, if a multiprocessor holds this number of teams.
inline int words_of_team(int teams, const team_resources& resources) {
  constexpr std::int64_t for_alignment = 64;
  const std::int64_t bytes = std::min<std::int64_t>(
      resources.bytes_of_multiprocessor / teams - team_resources::reserved_bytes, resources.bytes_of_team);
  return static_cast<int>(std::max<std::int64_t>(0, bytes - for_alignment) / 4);
}

/// Whether an address is aligned for packs, and all distances are multiples of a pack. Both are in elements.
template <class T>
bool has_packs(const T* data, std::int64_t elements_of_pack, std::initializer_list<std::int64_t> distances) {
  return reinterpret_cast<std::uintptr_t>(data) % (static_cast<std::uintptr_t>(elements_of_pack) * sizeof(T)) == 0 &&
         std::ranges::all_of(distances, [=](std::int64_t each) { return each % elements_of_pack == 0; });
}

/// The largest pack, in elements, for which has_packs() holds; 0 if there is none.
template <class T>
std::int64_t largest_pack(const T* data, std::initializer_list<std::int64_t> distances) {
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t pack = bytes / static_cast<std::int64_t>(sizeof(T));
    if (has_packs(data, pack, distances)) return pack;
  }
  return 0;
}

/// The neighbouring results that one store takes: 8 bytes, or two maxima.
template <class T>
int result_pack_of(const convolution_problem<T>& problem, const tensor_layout& layout) {
  constexpr std::int64_t pack = 8 / static_cast<std::int64_t>(sizeof(T));
  const auto& y = problem.y;
  if (problem.is_pooled()) {
    const bool are_pairs = y.column_stride == 1 && problem.y_columns % 2 == 0 &&
                           has_packs(y.data, 2, {y.row_stride, y.channel_stride, y.image_stride});
    return are_pairs ? 2 : 1;
  }
  if (y.column_stride != 1 || !has_packs(y.data, pack, {y.channel_stride, y.image_stride})) return 1;
  // Without gaps and stacked rows, packs may go on in the next row, but not in the next band or image.
  const bool has_flat_rows = y.row_stride == problem.columns && layout.stacked_rows == 1 && layout.column_bands == 1 &&
                             problem.columns % layout.stacked_columns == 0;
  const bool has_whole_packs =
      has_flat_rows ? (problem.columns * layout.band_units) % pack == 0 && (problem.rows * problem.columns) % pack == 0
                    : problem.columns % pack == 0 && y.row_stride % pack == 0;
  return has_whole_packs ? static_cast<int>(pack) : 1;
}

/// Whether the distances between an item's results are less than 2^31 bytes, and none is negative.
template <class T>
bool has_short_distances(const convolution_problem<T>& problem, const tensor_layout& layout) {
  const auto& y = problem.y;
  if (std::min({y.image_stride, y.channel_stride, y.row_stride, y.column_stride}) < 0) return false;
  const auto product = [](auto count, std::int64_t stride) {
    return static_cast<double>(count) * static_cast<double>(stride);
  };
  const double farthest = product(layout.images, y.image_stride) +
                          product(problem.out_channels + tensor_layout::tile_rows * 4, y.channel_stride) +
                          product(layout.band_rows(), y.row_stride) +
                          product(layout.band_columns + tensor_layout::tile_columns, y.column_stride);
  return farthest * sizeof(T) < std::numeric_limits<int>::max();
}

/// Sets how images arrive: in the longest stretches, and the largest packs, that they consist of.
template <class T>
void cut_stage(tensor_layout& layout, const convolution_problem<T>& problem, std::int64_t needed_columns) {
  using prumo::detail::round_up;
  constexpr std::int64_t of_word = tensor_form<T>::elements_of_word;
  const auto& x = problem.x;
  const std::int64_t plane = problem.height * problem.width, needed_rows = layout.plane_rows;
  const auto choose = [&](tensor_stage stage, std::int64_t pack, std::int64_t pitch, std::int64_t of_plane) {
    layout.stage = stage;
    layout.pack_bytes = static_cast<std::int8_t>(pack * static_cast<std::int64_t>(sizeof(T)));
    layout.staged_pitch = static_cast<int>(pitch);
    layout.staged_plane = static_cast<int>(of_plane);
  };
  const bool has_whole_rows = layout.column_bands == 1 && x.column_stride == 1 && x.row_stride == problem.width;
  const bool has_whole_planes = has_whole_rows && layout.bands == 1 && x.channel_stride == plane;
  const std::int64_t pack_of_images =
      has_whole_planes
          ? largest_pack(x.data, {problem.in_channels * plane, x.image_stride, layout.staged_channels * plane})
          : 0;
  const std::int64_t pack_of_planes =
      has_whole_rows ? largest_pack(x.data, {plane, x.channel_stride, x.image_stride}) : 0;
  if (pack_of_images > 0 || pack_of_planes > 0) {
    if (pack_of_images > 0) {
      choose(tensor_stage::images, pack_of_images, problem.width, plane);
    } else {
      choose(tensor_stage::planes, pack_of_planes, problem.width,
             round_up(needed_rows * problem.width + pack_of_planes - 1, pack_of_planes));
    }
    // Rows of an odd number of elements do not begin with words. Cells are made of elements then.
    const bool has_words = problem.width % of_word == 0;
    layout.first_cell = static_cast<std::int8_t>(has_words ? problem.column_padding % of_word : 0);
    layout.first_staged = static_cast<std::int16_t>(-problem.column_padding - layout.first_cell);
    return;
  }
  // A band begins with an element that is aligned, if the columns from a band to the next one are whole packs.
  const std::int64_t band_distance = layout.column_bands == 1 ? 0 : layout.band_columns * problem.column_stride;
  const std::int64_t pack =
      x.column_stride == 1
          ? largest_pack(x.data, {problem.width, x.row_stride, x.channel_stride, x.image_stride, band_distance})
          : 0;
  // Rows begin with an element that is aligned.
  const std::int64_t skipped = pack == 0 ? 0 : round_up(problem.column_padding, pack) - problem.column_padding;
  const std::int64_t pitch = round_up(skipped + needed_columns, std::max(pack, of_word));
  choose(tensor_stage::rows, pack, pitch, needed_rows * pitch);
  layout.first_cell = static_cast<std::int8_t>(skipped % of_word);
  layout.first_staged = static_cast<std::int16_t>(skipped - layout.first_cell);
}

/// Sets what follows from images and bands. Returns whether an item is small enough to be computed with.
/// \param band_columns of the convolution
template <class T>
bool cut_images(tensor_layout& layout, const convolution_problem<T>& problem, int window, std::int64_t images,
                std::int64_t bands, std::int64_t band_columns) {
  using prumo::detail::divide_up;
  using prumo::detail::round_up;
  using form = tensor_form<T>;
  constexpr std::int64_t most_cells = 1 << 16, most_places = 1 << 13;  // more than any team's memory has
  const std::int64_t units = tensor_layout::units_of_window(window, layout.stacked_rows);
  const std::int64_t windows = divide_up(problem.rows, layout.stacked_rows * units);
  layout.images = static_cast<int>(images);
  layout.band_units = static_cast<int>(divide_up(windows, bands) * units);
  layout.bands = static_cast<int>(divide_up(windows * units, std::int64_t{layout.band_units}));
  layout.band_columns = static_cast<int>(band_columns);
  layout.column_bands = static_cast<int>(divide_up(problem.columns, band_columns));
  const std::int64_t places =
      round_up(images * layout.places_of_image(window), std::int64_t{tensor_layout::places_of_turn});
  if (places > most_places || layout.band_rows() > most_places || !has_short_distances(problem, layout)) return false;
  layout.places = static_cast<int>(places);
  layout.staged_channels = static_cast<std::uint16_t>(layout.slice_groups * layout.cell_channels);
  const std::int64_t needed_rows =
      (layout.band_units * layout.stacked_rows - 1) * problem.row_stride + problem.filter_rows;
  const std::int64_t needed_columns = (band_columns - 1) * problem.column_stride + problem.filter_columns;
  if (images * layout.slice_groups * needed_rows * needed_columns > most_cells) return false;
  layout.plane_rows = static_cast<int>(needed_rows);
  cut_stage(layout, problem, needed_columns);
  // Cells of a row of which the filter meets the first element, and those that begin in the same words.
  const std::int64_t row_cells = (band_columns - 1) * problem.column_stride + layout.first_cell +
                                 (std::int64_t{layout.segments} - 1) * (form::elements_of_cell / layout.cell_channels) +
                                 1;
  // Each word is the first or the last one of a cell.
  layout.row_cells = static_cast<int>(std::max<std::int64_t>(
      round_up(row_cells, tensor_layout::words_of_work * form::elements_of_word), form::elements_of_cell));
  const std::int64_t place_distance = layout.stacked_columns * problem.column_stride;
  layout.column_distance = static_cast<int>(divide_up(std::int64_t{layout.row_cells}, place_distance));
  layout.pitch = static_cast<int>(layout.column_distance * place_distance);
  if (place_distance == 2 && layout.segments == 1 && layout.staged_pitch % form::elements_of_word == 0 &&
      form::elements_of_word == 2) {
    layout.pitch = layout.column_distance;
    layout.column_distance = 0;
  }
  // Units may end behind the rows that are there: the cells that they meet are zero.
  const std::int64_t rows_read =
      (layout.band_units - 1) * std::int64_t{layout.stacked_rows} * problem.row_stride + layout.filter_lines;
  const std::int64_t cells = (images * layout.slice_groups - 1) * layout.plane_cells() +
                             std::max<std::int64_t>(rows_read, layout.plane_rows) * layout.pitch;
  // With what is read behind the last row: rows that units have beyond those of the image, and words of the last cell.
  const std::int64_t staged = images * std::int64_t{layout.staged_channels} * layout.staged_plane +
                              std::max<std::int64_t>(0, needed_rows - problem.height) * layout.staged_pitch +
                              layout.row_cells + 2 * form::elements_of_cell;
  if (cells > most_cells || staged > most_cells * 4) return false;
  layout.cells = static_cast<int>(cells);
  layout.staged_words = static_cast<int>(round_up(divide_up(staged, form::elements_of_word), std::int64_t{4}));
  layout.result_pack = static_cast<std::int8_t>(result_pack_of(problem, layout));
  return true;
}

}  // namespace prumo::backend
