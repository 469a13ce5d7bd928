// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel of a device takes short rows that lie one behind the other and are not whole packs.

#include "softmax_device_share.hpp"

namespace prumo::detail {

/// How such rows go through a team: as tiles in its scratch memory, as packs with single elements at their ends, or
/// element by element.
enum class softmax_short_form { tiles, packs_with_ends, elements };

/// Tiles move everything in packs, but wait at two barriers, and their threads are few. So they lose where rows have
/// hardly anything to move in packs, where rows are long, and where a device is not filled anyway. The limits were
/// measured on an H200 in f32 and bf16; docs/performance-log.md has the times. Rows of double were not measured.
template <class T>
struct softmax_short_rows_choice {
  static constexpr std::int64_t pack_elements = device_pack_elements<T>;
  static constexpr bool is_single = sizeof(T) == 4, is_half = sizeof(T) == 2;
  /// Rows that a thread takes as a whole. A pack of halves is too much for it.
  static constexpr std::int64_t longest_row_of_thread = is_single ? pack_elements : 0;
  /// Rows with up to a pack for each thread that exchanges registers.
  static constexpr std::int64_t longest_row_of_packs = pack_elements * exchange_threads;
  /// Arrays up to this size are taken element by element. The longer the rows are, the larger such arrays are.
  static constexpr std::int64_t most_bytes_by_element(std::int64_t columns) {
    constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
    if (columns <= 32) return is_single ? 2 * mebibyte : 0;
    return is_single && columns > 96 ? std::numeric_limits<std::int64_t>::max() : 6 * mebibyte;
  }

  /// `same_packs`: whether the rows of source and target begin at the same place of a pack.
  static constexpr softmax_short_form of(std::int64_t rows, std::int64_t columns, bool same_packs) {
    if (!is_single && !is_half) return softmax_short_form::tiles;
    if (columns <= longest_row_of_thread) return softmax_short_form::elements;
    if (columns > longest_row_of_packs) {
      return same_packs ? softmax_short_form::packs_with_ends : softmax_short_form::tiles;
    }
    const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(sizeof(T));
    return bytes <= most_bytes_by_element(columns) ? softmax_short_form::elements : softmax_short_form::tiles;
  }
};

}  // namespace prumo::detail
