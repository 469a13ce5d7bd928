// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Transposes rectangles of words on a host, in squares of vector registers. What is left at an edge is not moved word
/// by word: the last square is moved back, so that it overlaps the one before.

#include <prumo/detail/host/lane_square.hpp>
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// target[c * target_stride + r] = source[r * source_stride + c]
template <class Word>
class transpose_rectangle_host {
  using square = vector_square<Word>;

 public:
  /// Rectangles have at least that many rows and columns.
  static constexpr std::int64_t least = square::side;

  /// Before each of the steps, which are `least` columns or a few times that, it calls before(first column).
  template <class Before>
  static void transpose(std::int64_t rows, std::int64_t columns, const Word* source, std::int64_t source_stride,
                        Word* target, std::int64_t target_stride, const Before& before) {
    std::int64_t c = 0;
    if (rows < square::length) {
      for (std::int64_t r = 0; r < rows; r += least) {
        const std::int64_t first = std::min(r, rows - least);
        const Word* const from = source + first * source_stride;
        Word* const to = target + first;
        for (c = 0; c + square::length <= columns; c += square::length) {
          if (r == 0) before(c);
          square::transpose_columns(from + c, source_stride, to + c * target_stride, target_stride);
        }
      }
    }
    // Loops over a few squares of a column would take longer to begin and to end than the squares.
    constexpr std::int64_t few = 3 * square::length;
    if (rows >= square::length && rows < few) {
      for (std::int64_t r = 0; r < rows; r += square::length) {
        const std::int64_t first = std::min<std::int64_t>(r, rows - square::length);
        const Word* const from = source + first * source_stride;
        Word* const to = target + first;
        for (c = 0; c + least <= columns; c += least) {
          if (r == 0) before(c);
          square::transpose_rows(from + c, source_stride, to + c * target_stride, target_stride);
        }
      }
    }
    for (; c < columns; c += least) {
      before(c);
      const std::int64_t first = std::min(c, columns - least);
      transpose_rows(rows, source + first, source_stride, target + first * target_stride, target_stride);
    }
  }

 private:
  /// `least` columns.
  [[gnu::always_inline]] static void transpose_rows(std::int64_t rows, const Word* source, std::int64_t source_stride,
                                                    Word* target, std::int64_t target_stride) {
    std::int64_t r = 0;
    for (; r + square::length <= rows; r += square::length) {
      square::transpose_rows(source + r * source_stride, source_stride, target + r, target_stride);
    }
    if (r > 0 && r + least < rows) {
      r = rows - square::length;
      square::transpose_rows(source + r * source_stride, source_stride, target + r, target_stride);
      return;
    }
    for (; r < rows; r += least) {
      const std::int64_t first = std::min(r, rows - least);
      lane_square<Word>::transpose(source + first * source_stride, source_stride, target + first, target_stride);
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
