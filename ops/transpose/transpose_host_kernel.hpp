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
/// - Targets that stay in the caches are written where they lie, in squares that need not begin at cache lines.

#include "transpose_problem.hpp"
#include "transpose_rectangle_host.hpp"
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Word>
class transpose_host_kernel {
  using square = line_square<Word>;
  using rectangle = transpose_rectangle_host<Word>;
  static constexpr std::int64_t line = square::side;  ///< words
  static constexpr std::int64_t lines = 4;            ///< of a row of a tile
  static constexpr std::int64_t tile = line * lines;
  static constexpr std::int64_t band = 64;
  static constexpr std::int64_t pitch = band + line;  ///< between rows of the target in the buffer
  static constexpr std::int64_t least = rectangle::least;
  static constexpr std::int64_t tallest = band + least - 1;
  static constexpr std::int64_t held_pitch = tile + line;  ///< between rows of the source in the buffer
  /// Rows that the processor reads ahead by itself, and words of the source that its second cache holds beside the
  /// target. Beyond both, tiles are prefetched.
  static constexpr std::int64_t most_followed_rows = 32;
  static constexpr std::int64_t near_words = static_cast<std::int64_t>((1 << 19) / sizeof(Word));
  /// Wide enough that each page of the source has few strips, and narrow enough that the target's lines and pages stay
  /// near.
  static constexpr std::int64_t widest_strip = static_cast<std::int64_t>(2048 / sizeof(Word));
  /// Whether lines of a target that is not streamed are prefetched. An Emerald Rapids, whose last cache is far from its
  /// cores, then takes half to two thirds of the time. A Zen 3 takes a tenth longer.
  static constexpr bool can_prefetch_target = simd_bytes == 64;

 public:
  /// Whether lines of a target in memory are prefetched rather than written past the caches. With two threads of an
  /// Emerald Rapids that takes two thirds of the time. Sixteen threads are bound by memory, which has to deliver the
  /// lines before they are written: they took a third longer.
  static constexpr bool prefetches_rather_than_streams(int threads) {
    constexpr int few_threads = 4;
    return can_prefetch_target && threads <= few_threads;
  }

  /// `workers` threads will share the blocks; `streaming` writes past the caches.
  transpose_host_kernel(const transpose_problem<Word>& problem, std::int64_t workers, bool streaming)
      : problem_(problem), bands_(parts_of(problem.rows, band)), streaming_(streaming) {
    in_rows_ = problem.source_column_stride == 1 && problem.target_column_stride == 1;
    shifted_ = streaming && (word_of_line(problem.target) != 0 || problem.target_row_stride % line != 0);
    crowded_ = in_rows_ && is_crowded(std::min(problem.rows, tallest), problem.source_row_stride);
    prefetches_ =
        streaming || (problem.rows > most_followed_rows && problem.rows * problem.columns > workers * near_words);
    const std::int64_t least_strip = streaming || workers == 1 ? tile : line;
    constexpr std::int64_t blocks_per_worker = 8;
    while (strip_ > least_strip && bands_ * strips() < workers * blocks_per_worker) strip_ /= 2;
  }

  /// Consecutive blocks lie one below the other.
  std::int64_t blocks() const { return bands_ * strips(); }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block % bands_ * band, begin = block / bands_ * strip_;
    const std::int64_t rows = size_of_part(problem_.rows, row, band);
    const std::int64_t end = begin + size_of_part(problem_.columns, begin, strip_);
    for (std::int64_t column = begin, columns = 0; column < end; column += columns) {
      columns = size_of_part(end, column, tile);
      const bool last = column + columns == end;
      const next_tile next = last ? next_tile{row + band, begin} : next_tile{row, column + columns};
      if (!in_rows_) {
        single_words(row, rows, column, columns);
      } else if (!streaming_) {
        direct_tile(row, rows, column, columns, next);
      } else if (rows == band && columns == tile && !shifted_) {
        whole_tile(row, column, next);
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

  /// Bands, strips and tiles have this size. Only the last of them is larger or smaller, and large enough for squares.
  static std::int64_t parts_of(std::int64_t extent, std::int64_t size) {
    return std::max<std::int64_t>(1, (extent + size - least) / size);
  }
  static std::int64_t size_of_part(std::int64_t end, std::int64_t begin, std::int64_t size) {
    return end - begin < size + least ? end - begin : size;
  }

  static std::int64_t word_of_line(const Word* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % streaming_unit / sizeof(Word));
  }

  /// Whether lines of so many rows share so few sets of the nearest cache that it cannot hold them.
  static bool is_crowded(std::int64_t rows, std::int64_t row_stride) {
    constexpr std::size_t sets = 64;
    constexpr int ways = 8, most = ways / 2;
    int held[sets] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      if (++held[static_cast<std::size_t>(r * row_stride / line) % sets] > most) return true;
    }
    return false;
  }

  std::int64_t strips() const { return parts_of(problem_.columns, strip_); }

  const Word* source_at(std::int64_t row, std::int64_t column) const {
    return problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
  }
  Word* target_at(std::int64_t row, std::int64_t column) const {
    return problem_.target + column * problem_.target_row_stride + row * problem_.target_column_stride;
  }

  /// Prefetches a part of a tile, and of where it goes, if that helps.
  void prefetch([[maybe_unused]] next_tile next, [[maybe_unused]] std::int64_t part,
                [[maybe_unused]] std::int64_t parts) const {
#if defined(__GNUC__)
    if (!prefetches_) return;
    // If lines are shifted, the rows above this band were prefetched as rows below the one before.
    const std::int64_t first = next.row + (shifted_ ? line : 0);
    const std::int64_t end = std::min(problem_.rows, first + (part + 1) * band / parts);
    for (std::int64_t row = first + part * band / parts; row < end; ++row) {
      // Into the second cache, because the nearest one cannot hold the lines of rows that are a power of two apart.
      const Word* const at = source_at(row, next.column);
      for (std::int64_t across = 0; across < lines; ++across) __builtin_prefetch(at + across * line, 0, 2);
    }
    if (!can_prefetch_target || streaming_ || next.row >= problem_.rows) return;
    const std::int64_t column_end = std::min(problem_.columns, next.column + (part + 1) * tile / parts);
    for (std::int64_t column = next.column + part * tile / parts; column < column_end; ++column) {
      const Word* const to = target_at(next.row, column);
      for (std::int64_t down = 0; down <= band; down += line) __builtin_prefetch(to + down, 0, 2);
    }
#endif
  }

  struct strided_rows {
    const Word* words;
    std::int64_t stride;
  };
  /// Rows of a tile where squares can be taken from them. Each square takes a part of a line of each row. If the
  /// nearest cache would lose the lines meanwhile, they are copied first, one row after the other.
  strided_rows rows_of_tile(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                            Word* held) const {
    const Word* source = source_at(row, column);
    const std::int64_t stride = problem_.source_row_stride;
    if (!crowded_) return {source, stride};
    const std::int64_t in_lines = columns / line * line;
    for (std::int64_t r = 0; r < rows; ++r, source += stride) {
      Word* const to = held + r * held_pitch;
      for (std::int64_t c = 0; c < in_lines; c += line) std::memcpy(to + c, source + c, line * sizeof(Word));
      for (std::int64_t c = in_lines; c < columns; ++c) to[c] = source[c];
    }
    return {held, held_pitch};
  }

  void direct_tile(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                   next_tile next) const {
    alignas(streaming_unit) Word held[tallest * held_pitch];
    const strided_rows from = rows_of_tile(row, rows, column, columns, held);
    rectangle::transpose(rows, columns, from.words, from.stride, target_at(row, column), problem_.target_row_stride,
                         [&](std::int64_t c) { prefetch(next, c / least, tile / least); });
  }

  /// Past the caches, whole lines of the target where they lie. Only a line of each row is copied at a time, so that
  /// reading and writing take turns.
  void whole_tile(std::int64_t row, std::int64_t column, next_tile next) const {
    alignas(streaming_unit) Word held[tallest * held_pitch];
    for (std::int64_t across = 0; across < tile; across += line) {
      const strided_rows from = rows_of_tile(row, band, column + across, line, held);
      for (std::int64_t c = 0; c < line; c += square::columns) {
        prefetch(next, (across + c) / square::columns, tile / square::columns);
        Word* const target = target_at(row, column + across + c);
        // A few rows of the target at a time, several lines of each.
        for (std::int64_t r = 0; r < band; r += line) {
          square::template transpose<true>(from.words + r * from.stride + c, from.stride, target + r,
                                           problem_.target_row_stride);
        }
      }
    }
  }

  /// Past the caches, tiles at the edges, and tiles of targets whose rows begin within a cache line. Whole lines are
  /// written here, too. In each row of the target the tile begins where a line begins, and it ends with rows of the
  /// source below the band, which are near.
  void any_tile(std::int64_t row, std::int64_t column, std::int64_t columns, next_tile next) const {
    // It is two lines wide. What is read back, at other boundaries than it was written at, has then left the queue of
    // stores. In the queue it would wait for the lines that go to memory.
    constexpr std::int64_t group = 2 * line;
    alignas(streaming_unit) Word turned[(group + least - 1) * pitch];
    const bool is_last = row + band + least > problem_.rows;
    const std::int64_t reach = is_last ? problem_.rows - row : std::min(problem_.rows - row, shifted_ ? pitch : band);
    for (std::int64_t across = 0, wide = 0; across < columns; across += wide) {
      wide = size_of_part(columns, across, group);
      rectangle::transpose(reach, wide, source_at(row, column + across), problem_.source_row_stride, turned, pitch,
                           [&](std::int64_t c) { prefetch(next, (across + c) / least, tile / least); });
      for (std::int64_t c = 0; c < wide; ++c) {
        Word* const target = target_at(row, column + across + c);
        const std::int64_t shift = shifted_ ? (line - word_of_line(target)) % line : 0;
        const std::int64_t begin = row == 0 ? 0 : std::min(reach, shift);
        const std::int64_t end = is_last ? reach : std::min(reach, band + shift);
        stream_run(target + begin, turned + c * pitch + begin, end - begin);
      }
    }
  }

  /// In squares, so that the lines of both sides stay in the cache between their uses.
  void single_words(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    const std::int64_t row_end = row + rows, column_end = column + columns;
    // These are copies, because words may alias anything, also the members.
    const std::int64_t source_step = problem_.source_row_stride, target_step = problem_.target_column_stride;
    for (std::int64_t r0 = row; r0 < row_end; r0 += line) {
      for (std::int64_t c0 = column; c0 < column_end; c0 += line) {
        for (std::int64_t c = c0; c < std::min(column_end, c0 + line); ++c) {
          const Word* const from = source_at(r0, c);
          Word* const to = target_at(r0, c);
          const std::int64_t high = std::min(row_end - r0, line);
          for (std::int64_t r = 0; r < high; ++r) to[r * target_step] = from[r * source_step];
        }
      }
    }
  }

  transpose_problem<Word> problem_;
  std::int64_t bands_;
  std::int64_t strip_ = widest_strip;
  bool streaming_;
  bool in_rows_;
  bool crowded_;
  bool prefetches_;
  bool shifted_;  ///< whole lines must be written, and the target's rows do not begin at lines
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
