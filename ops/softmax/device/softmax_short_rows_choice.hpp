// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel of a device takes short rows that lie one behind the other and are not whole packs.

#include "softmax_device_share.hpp"

#include <limits>

namespace prumo::detail {

/// How such rows go through a team: as tiles in its scratch memory, each as a whole by one thread, element by element,
/// or in packs, with the elements outside of packs one by one.
enum class softmax_short_form { tiles, row_of_thread, elements, packs };

/// Tiles move everything in packs, but wait at two barriers. So they win where there is much to move and little to
/// compute: in large arrays of the shortest rows, and of 16-bit numbers, of which a load of single elements brings
/// little. Packs win over elements where rows of 16-bit numbers are longer. The limits were measured on an H100 and an
/// H200 in f32 and bf16; docs/performance-log.md has the times. Rows of double were not measured.
template <class T>
struct softmax_short_rows_choice {
  static constexpr bool is_single = sizeof(T) == 4, is_half = sizeof(T) == 2, takes_elements = is_single || is_half;
  /// Rows that a thread takes as a whole.
  static constexpr std::int64_t longest_row_of_thread = is_single ? 4 : 0;
  static constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  /// Arrays up to this size are taken element by element.
  static constexpr std::int64_t most_bytes_by_element(std::int64_t columns) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (is_single) return columns <= 16 ? 8 * mebibyte : any;
    if (columns <= 4) return 5 * mebibyte;
    if (columns <= 16) return 3 * mebibyte;
    if (columns <= 32) return 5 * mebibyte;
    if (columns <= 96) return 14 * mebibyte;
    return any;
  }

  /// Whether arrays are taken in packs. Rows of 129 to 160 elements would leave too many threads without a pack.
  static constexpr bool takes_packs(std::int64_t bytes, std::int64_t columns) {
    if (!is_half || columns <= 96) return false;
    return columns <= 128 || (columns > 160 && bytes > 3 * mebibyte);
  }

  /// \param same_packs what is read in packs can be written in packs.
  static constexpr softmax_short_form of(std::int64_t rows, std::int64_t columns, bool same_packs) {
    if (!takes_elements) return softmax_short_form::tiles;
    if (columns <= longest_row_of_thread) return softmax_short_form::row_of_thread;
    const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(sizeof(T));
    if (same_packs && takes_packs(bytes, columns)) return softmax_short_form::packs;
    return bytes <= most_bytes_by_element(columns) ? softmax_short_form::elements : softmax_short_form::tiles;
  }
};

}  // namespace prumo::detail
