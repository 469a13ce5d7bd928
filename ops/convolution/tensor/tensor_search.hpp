// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the choices of layouts for matrix units have in common.

#include "convolution_problem.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::backend {

/// Whether extents are so large that they are left to others: smaller ones cannot overflow.
template <class T>
bool has_large_extents(const convolution_problem<T>& problem, std::int64_t most_extent) {
  return std::max({problem.width + 2 * problem.column_padding, problem.height + 2 * problem.row_padding,
                   problem.in_channels * problem.filter_rows, problem.out_channels, problem.filter_columns,
                   problem.row_stride, problem.column_stride}) > most_extent;
}

/// The bytes that are copied at once, if images come without padding, each in one stretch of memory; otherwise 0.
template <class T>
int bytes_of_packs(const convolution_problem<T>& problem) {
  constexpr std::int64_t elements_of_word = 4 / static_cast<int>(sizeof(T));
  const std::int64_t plane = problem.height * problem.width;
  const bool are_whole = problem.row_padding == 0 && problem.column_padding == 0 &&
                         problem.width % elements_of_word == 0 && problem.x.column_stride == 1 &&
                         problem.x.row_stride == problem.width && problem.x.channel_stride == plane &&
                         problem.x.image_stride >= problem.in_channels * plane;
  if (!are_whole) return 0;
  for (const int bytes : {16, 8, 4}) {
    const std::int64_t pack = bytes / static_cast<int>(sizeof(T));
    if ((problem.in_channels * plane) % pack == 0 && problem.x.image_stride % pack == 0 &&
        reinterpret_cast<std::uintptr_t>(problem.x.data) % static_cast<std::uintptr_t>(bytes) == 0) {
      return bytes;
    }
  }
  return 0;
}

/// Calls consider(parts of the weights, images of an item, bands of an image) for what teams may compute at a time.
/// \param weight_tiles of 16 rows
/// \param most_bands of an image
/// \param wants_bands tells whether an image shall be cut, after all items of whole images were considered
template <class Consider, class WantsBands>
void for_each_cut(std::int64_t weight_tiles, std::int64_t most_bands, std::int64_t images, std::int64_t teams,
                  const Consider& consider, const WantsBands& wants_bands) {
  constexpr std::int64_t most_parts = 16, many_bands = 1024;
  for (std::int64_t parts = 1; parts <= std::min(weight_tiles, most_parts); ++parts) {
    for (const std::int64_t of_item : {1, 2, 3, 4, 6, 8, 12, 16}) {
      if (of_item == 1 || of_item * teams <= images) consider(parts, of_item, 1);
    }
    if (!wants_bands()) continue;
    for (std::int64_t bands = 2; bands <= std::min(most_bands, many_bands);
         bands = bands < 8 ? bands + 1 : bands * 5 / 4) {
      consider(parts, 1, bands);
    }
    if (most_bands > 1) consider(parts, 1, most_bands);
  }
}

}  // namespace prumo::backend
