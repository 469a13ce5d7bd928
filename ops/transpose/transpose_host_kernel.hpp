// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on the host: tiles that stay in the nearest cache, made of squares whose rows are a cache line.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/transpose.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Word>
class transpose_host_kernel {
  /// Words of a cache line, and the side of a square.
  static constexpr int line = static_cast<int>(streaming_unit / sizeof(Word));
  /// Lines side by side that are read and written together: memory likes stretches longer than a line.
  static constexpr int lines = 4;
  static constexpr std::int64_t side = std::int64_t{line} * lines;

 public:
  transpose_host_kernel(const transpose_problem<Word>& problem, bool streaming) : problem_(problem) {
    tiles_across_ = (problem.columns + side - 1) / side;
    const bool lines_fit =
        reinterpret_cast<std::uintptr_t>(problem.target) % streaming_unit == 0 && problem.target_row_stride % line == 0;
    streaming_ = streaming && lines_fit;
  }

  /// Tiles; neighbouring ones read on in the same rows.
  std::int64_t blocks() const { return (problem_.rows + side - 1) / side * tiles_across_; }

  void operator()(std::int64_t block) const {
    const std::int64_t tile_row = block / tiles_across_;
    const std::int64_t row = tile_row * side;
    const std::int64_t column = (block - tile_row * tiles_across_) * side;
    const std::int64_t rows = std::min(side, problem_.rows - row);
    const std::int64_t columns = std::min(side, problem_.columns - column);
    const Word* const source =
        problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
    Word* const target = problem_.target + column * problem_.target_row_stride + row * problem_.target_column_stride;
    if (rows == side && columns == side && problem_.source_column_stride == 1 && problem_.target_column_stride == 1) {
      if (column + 2 * side <= problem_.columns) prefetch(source + side);
      whole_tile(source, target);
    } else {
      part_of_tile(source, target, rows, columns);
    }
  }

 private:
  /// Asks for the next tile: its rows are too short for the processor to see that they are read in order.
  void prefetch([[maybe_unused]] const Word* tile) const {
#if defined(__GNUC__)
    for (std::int64_t r = 0; r < side; ++r) {
      for (int across = 0; across < lines; ++across) {
        __builtin_prefetch(tile + r * problem_.source_row_stride + across * line);
      }
    }
#endif
  }

  void whole_tile(const Word* source, Word* target) const {
    alignas(streaming_unit) Word tile[side * side];  // row c, column r
    for (int down = 0; down < lines; ++down) {
      for (int across = 0; across < lines; ++across) {
        square(source + down * line * problem_.source_row_stride + across * line,
               tile + across * line * side + down * line);
      }
    }
    for (std::int64_t c = 0; c < side; ++c) {
      if (streaming_) {
        stream_bytes(target + c * problem_.target_row_stride, tile + c * side, side * sizeof(Word));
      } else {
        std::memcpy(target + c * problem_.target_row_stride, tile + c * side, side * sizeof(Word));
      }
    }
    if (streaming_) streaming_fence();
  }

  /// Transposes a square of lines into the tile. Where the bits of an index are (r, c), interleaving the first half of
  /// all words with the second moves r's highest bit to the end: as many rounds as r has bits make (c, r). Each round
  /// is a loop that compilers vectorise.
  void square(const Word* source, Word* target) const {
    constexpr int words = line * line;
    alignas(streaming_unit) Word first[words], second[words];
    for (int r = 0; r < line; ++r) {
      std::memcpy(first + r * line, source + r * problem_.source_row_stride, line * sizeof(Word));
    }
    Word* from = first;
    Word* to = second;
    for (int bit = 1; bit < line; bit *= 2) {
      interleave<words / 2>(from, to);
      std::swap(from, to);
    }
    for (int c = 0; c < line; ++c) std::memcpy(target + c * side, from + c * line, line * sizeof(Word));
  }

  template <int Half>
  static void interleave(const Word* from, Word* to) {
    PRUMO_INDEPENDENT_ITERATIONS
    for (int i = 0; i < Half; ++i) {
      to[2 * i] = from[i];
      to[2 * i + 1] = from[Half + i];
    }
  }

  void part_of_tile(const Word* source, Word* target, std::int64_t rows, std::int64_t columns) const {
    // Squares, so that the lines of both sides stay in the cache between their uses.
    for (std::int64_t r0 = 0; r0 < rows; r0 += line) {
      for (std::int64_t c0 = 0; c0 < columns; c0 += line) {
        const std::int64_t r1 = std::min<std::int64_t>(rows, r0 + line);
        const std::int64_t c1 = std::min<std::int64_t>(columns, c0 + line);
        for (std::int64_t c = c0; c < c1; ++c) {
          for (std::int64_t r = r0; r < r1; ++r) {
            target[c * problem_.target_row_stride + r * problem_.target_column_stride] =
                source[r * problem_.source_row_stride + c * problem_.source_column_stride];
          }
        }
      }
    }
  }

  transpose_problem<Word> problem_;
  std::int64_t tiles_across_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
