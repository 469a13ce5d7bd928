// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the gradient of filters on hosts shares out images, and where things lie in a thread's memory.

#include "backward_problem.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// An *item* is a band of rows of one image: a whole image, if it is small. Items are shared out among groups, each of
/// which has a partial sum for each output. A chunk of items is in the cache at once. All of this follows from the
/// extents, so that sums have the same bits for any number of threads.
///
/// x lies in *planes*, one for each channel and each remainder of row and column by the strides, as in the direct
/// convolution: neighbouring places of the filter are neighbouring elements. The rows of dy have the same distance as
/// those of x, with zeros between them.
template <class C>
struct host_weights_layout {
  std::int64_t row_phases = 1;  ///< the remainders of rows by the stride that a filter meets
  std::int64_t column_phases = 1;
  std::int64_t pitch = 0;       ///< elements from row to row
  std::int64_t extra_rows = 0;  ///< rows of a plane of x beyond those of dy
  std::int64_t band_rows = 1;
  std::int64_t bands = 1;  ///< of an image
  std::int64_t items = 0;
  std::int64_t groups = 0;
  std::int64_t chunk = 1;    ///< the most items of a chunk
  std::int64_t x_plane = 0;  ///< elements of a plane
  std::int64_t dy_plane = 0;
  std::int64_t x_item = 0;  ///< elements of an item's planes
  std::int64_t dy_item = 0;

  template <class T>
  static host_weights_layout of(const backward_weights_problem<T>& problem) {
    constexpr std::int64_t lanes = simd<C>::lanes, bytes = sizeof(C);
    constexpr std::int64_t cached_bytes = 192 << 10, most_chunk = 16;
    constexpr std::int64_t places_of_group = 1024, most_groups = 256, most_partial_sums = std::int64_t{1} << 22;
    host_weights_layout layout;
    layout.row_phases = std::min(problem.row_stride, problem.filter_rows);
    layout.column_phases = std::min(problem.column_stride, problem.filter_columns);
    layout.pitch = problem.columns + (problem.filter_columns - 1) / problem.column_stride;
    layout.extra_rows = (problem.filter_rows - 1) / problem.row_stride;
    const std::int64_t planes = problem.in_channels * layout.row_phases * layout.column_phases;
    const auto set_planes = [&] {
      // A register reaches beyond the last element.
      layout.x_plane = (layout.band_rows + layout.extra_rows) * layout.pitch + lanes;
      layout.dy_plane = layout.band_rows * layout.pitch + lanes;
      layout.x_item = planes * layout.x_plane + (problem.has_bias ? layout.dy_plane : 0);
      layout.dy_item = problem.out_channels * layout.dy_plane;
      return (layout.x_item + layout.dy_item) * bytes;
    };
    layout.band_rows = problem.rows;
    while (set_planes() > cached_bytes && layout.band_rows > 1) layout.band_rows = (layout.band_rows + 1) / 2;
    layout.bands = (problem.rows + layout.band_rows - 1) / layout.band_rows;
    layout.items = problem.images * layout.bands;
    layout.chunk = std::clamp<std::int64_t>(cached_bytes / set_planes(), 1, most_chunk);
    const std::int64_t items_of_group = std::max<std::int64_t>(1, places_of_group / (layout.band_rows * layout.pitch));
    const std::int64_t most = std::clamp<std::int64_t>(most_partial_sums / problem.outputs(), 1, most_groups);
    layout.groups = std::min((layout.items + items_of_group - 1) / items_of_group, most);
    return layout;
  }

  /// The first item of a group.
  std::int64_t begin_of(std::int64_t group) const { return items / groups * group + std::min(group, items % groups); }

  /// Roundings upon each other: in a lane, over the lanes, over the chunks of a group, over the groups.
  std::int64_t longest_chain() const {
    constexpr std::int64_t lanes = simd<C>::lanes;
    if (groups == 0) return 0;
    const std::int64_t items_of_group = (items + groups - 1) / groups;
    const std::int64_t of_lane = std::min(chunk, items_of_group) * ((band_rows * pitch + lanes - 1) / lanes);
    return of_lane + std::bit_width(static_cast<std::uint64_t>(lanes)) + (items_of_group + chunk - 1) / chunk + groups;
  }

  /// Elements of a thread's memory.
  std::int64_t elements() const { return chunk * (x_item + dy_item); }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
