// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on the host. It is not limited by the exchange of words but by how memory is accessed. The shapes
/// below follow from that:
/// - Whole lines are written past the caches. That is equally fast for any address, as long as the page is in the
///   processor's translation buffers. A *band* of rows gives each row of the target several lines at a time. A *strip*
///   of columns is so narrow that the next band finds the pages of the one before.
/// - Reading is only as fast as copying if several lines of a row are prefetched early. The processor cannot guess the
///   order, so each *tile* prefetches the next one.
/// - Rows that are a power of two apart share sets of the nearest cache, so their lines are copied before they are
///   taken apart.

#include "transpose_problem.hpp"
#include <prumo/detail/host/line_square.hpp>

#include <algorithm>
#include <cstring>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Word>
class transpose_host_kernel {
  using square = line_square<Word>;
  static constexpr std::int64_t line = square::side;  ///< words
  static constexpr std::int64_t lines = 4;            ///< of a row of a tile
  static constexpr std::int64_t tile = line * lines;
  static constexpr std::int64_t band = sizeof(Word) == 8 ? 8 * line : 4 * line;
  static constexpr std::int64_t pitch = band + line;  ///< between rows of the target in the buffer
  /// A page: the processor does not read ahead beyond one.
  static constexpr std::int64_t widest_strip = static_cast<std::int64_t>(4096 / sizeof(Word));

 public:
  /// `workers` threads will share the blocks; `streaming` writes past the caches.
  transpose_host_kernel(const transpose_problem<Word>& problem, std::int64_t workers, bool streaming)
      : problem_(problem), bands_((problem.rows + band - 1) / band), streaming_(streaming) {
    in_rows_ = problem.source_column_stride == 1 && problem.target_column_stride == 1;
    shifted_ = streaming && (word_of_line(problem.target) != 0 || problem.target_row_stride % line != 0);
    constexpr std::int64_t blocks_per_worker = 8;
    while (strip_ > tile && bands_ * strips() < workers * blocks_per_worker) strip_ /= 2;
  }

  /// Consecutive blocks lie one below the other.
  std::int64_t blocks() const { return bands_ * strips(); }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block % bands_ * band;
    const std::int64_t begin = block / bands_ * strip_;
    const std::int64_t end = std::min(problem_.columns, begin + strip_);
    for (std::int64_t column = begin; column < end; column += tile) {
      const bool last = column + tile >= end;
      const next_tile next = last ? next_tile{row + band, begin} : next_tile{row, column + tile};
      const std::int64_t columns = std::min(tile, end - column);
      if (!in_rows_) {
        single_words(row, column, columns);
      } else if (row + band <= problem_.rows && columns == tile && !shifted_) {
        if (streaming_) {
          whole_tile<true>(row, column, next);
        } else {
          whole_tile<false>(row, column, next);
        }
      } else {
        any_tile(row, column, columns, next);
      }
    }
    if (streaming_) streaming_fence();
  }

 private:
  struct next_tile {
    std::int64_t row, column;
  };

  static std::int64_t word_of_line(const Word* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % streaming_unit / sizeof(Word));
  }

  std::int64_t strips() const { return (problem_.columns + strip_ - 1) / strip_; }

  const Word* source_at(std::int64_t row, std::int64_t column) const {
    return problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
  }
  Word* target_at(std::int64_t row, std::int64_t column) const {
    return problem_.target + column * problem_.target_row_stride + row * problem_.target_column_stride;
  }

  /// Prefetches a part of a tile.
  void prefetch([[maybe_unused]] next_tile next, [[maybe_unused]] std::int64_t part,
                [[maybe_unused]] std::int64_t parts) const {
#if defined(__GNUC__)
    // If lines are shifted, the rows above this band were prefetched as rows below the one before.
    const std::int64_t first = next.row + (shifted_ ? line : 0);
    const std::int64_t end = std::min(problem_.rows, first + (part + 1) * band / parts);
    for (std::int64_t row = first + part * band / parts; row < end; ++row) {
      // Into the second cache, because the nearest one cannot hold the lines of rows that are a power of two apart.
      const Word* const at = source_at(row, next.column);
      for (std::int64_t across = 0; across < lines; ++across) __builtin_prefetch(at + across * line, 0, 2);
    }
#endif
  }

  /// Copies the beginnings of rows, one after the other. Rows that are a power of two apart share sets of the nearest
  /// cache, and every line is needed several times.
  void gather(std::int64_t row, std::int64_t column, std::int64_t rows, Word* held) const {
    const Word* source = source_at(row, column);
    for (std::int64_t r = 0; r < rows; ++r, source += problem_.source_row_stride) {
      std::memcpy(held + r * line, source, line * sizeof(Word));
    }
  }

  template <bool Streaming>
  void whole_tile(std::int64_t row, std::int64_t column, next_tile next) const {
    alignas(streaming_unit) Word held[band * line];
    for (std::int64_t across = 0; across < lines; ++across) {
      gather(row, column + across * line, band, held);
      Word* const target = target_at(row, column + across * line);
      constexpr std::int64_t parts = line / square::columns;
      for (std::int64_t part = 0; part < parts; ++part) {
        prefetch(next, across * parts + part, lines * parts);
        // A few rows of the target at a time, several lines of each.
        const std::int64_t c = part * square::columns;
        for (std::int64_t r = 0; r < band; r += line) {
          square::template transpose<Streaming>(held + r * line + c, line, target + c * problem_.target_row_stride + r,
                                                problem_.target_row_stride);
        }
      }
    }
  }

  /// Tiles at the edges, and tiles of targets whose rows begin within a line. Whole lines are written here, too. In
  /// each row of the target the tile begins where a line begins, and it ends with rows of the source below the band,
  /// which are near.
  void any_tile(std::int64_t row, std::int64_t column, std::int64_t columns, next_tile next) const {
    // It is two lines wide. What is read back, at other boundaries than it was written at, has then left the queue of
    // stores. In the queue it would wait for the lines that go to memory.
    constexpr std::int64_t group = 2 * line;
    alignas(streaming_unit) Word held[group * pitch];
    const std::int64_t reach = std::min(problem_.rows - row, shifted_ ? pitch : band);
    for (std::int64_t across = 0; across < columns; across += group) {
      const std::int64_t wide = std::min(group, columns - across);
      for (std::int64_t c = 0; c < wide; c += line) {
        turn(row, column + across + c, reach, std::min(line, wide - c), held + c * pitch, next, (across + c) / line);
      }
      for (std::int64_t c = 0; c < wide; ++c) {
        Word* const target = target_at(row, column + across + c);
        const std::int64_t shift = shifted_ ? (line - word_of_line(target)) % line : 0;
        const std::int64_t begin = row == 0 ? 0 : std::min(reach, shift);
        const std::int64_t end = row + band >= problem_.rows ? reach : std::min(reach, band + shift);
        copy_run(target + begin, held + c * pitch + begin, end - begin);
      }
    }
  }

  /// held[c * pitch + r]. There is at most a line of columns; `across` is the number of this line in the tile.
  void turn(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns, Word* held, next_tile next,
            std::int64_t across) const {
    constexpr std::int64_t parts = pitch / line;
    alignas(streaming_unit) Word gathered[line * line];
    std::int64_t r = 0;
    for (; columns == line && r + line <= rows; r += line) {
      prefetch(next, across * parts + r / line, lines * parts);
      gather(row + r, column, line, gathered);
      for (std::int64_t c = 0; c < line; c += square::columns) {
        square::template transpose<false>(gathered + c, line, held + c * pitch + r, pitch);
      }
    }
    for (; r < rows; ++r) {
      const Word* const source = source_at(row + r, column);
      for (std::int64_t c = 0; c < columns; ++c) held[c * pitch + r] = source[c];
    }
  }

  void copy_run(Word* to, const Word* from, std::int64_t count) const {
    if (streaming_) {
      stream_run(to, from, count);
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Word));
    }
  }

  /// In squares, so that the lines of both sides stay in the cache between their uses.
  void single_words(std::int64_t row, std::int64_t column, std::int64_t columns) const {
    const std::int64_t row_end = std::min(problem_.rows, row + band), column_end = column + columns;
    // These are copies, because words may alias anything, also the members.
    const std::int64_t source_step = problem_.source_row_stride, target_step = problem_.target_column_stride;
    for (std::int64_t r0 = row; r0 < row_end; r0 += line) {
      for (std::int64_t c0 = column; c0 < column_end; c0 += line) {
        for (std::int64_t c = c0; c < std::min(column_end, c0 + line); ++c) {
          const Word* const from = source_at(r0, c);
          Word* const to = target_at(r0, c);
          const std::int64_t rows = std::min(row_end - r0, line);
          for (std::int64_t r = 0; r < rows; ++r) to[r * target_step] = from[r * source_step];
        }
      }
    }
  }

  transpose_problem<Word> problem_;
  std::int64_t bands_;
  std::int64_t strip_ = widest_strip;
  bool streaming_;
  bool in_rows_;
  bool shifted_;  ///< whole lines must be written, and the target's rows do not begin at lines
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
