// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a device. A team moves a tile through its scratch memory, so that it reads and writes whole lines.

#include "transpose_problem.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::detail {

/// InPacks: unit strides and alignment allow loads and stores of 16 bytes.
template <class Word, bool InPacks>
class transpose_device_kernel {
  using pack = device_pack<Word>;
  static constexpr int pack_elements = device_pack_elements<Word>;
  /// A tile's side: rows of at least a line of 128 bytes.
  static constexpr int side = sizeof(Word) == 8 ? 32 : 64;

  /// A word of scratch memory. It has an element, or two elements of two rows, which are neighbours in the result.
  /// Scratch memory is as fast for four bytes as for two.
  static constexpr int rows_of_cell = sizeof(Word) == 2 ? 2 : 1;
  using cell = std::conditional_t<rows_of_cell == 2, std::uint32_t, Word>;
  static constexpr int pack_cells = pack_elements / rows_of_cell;
  /// With this padding, the packs of rows and the packs of columns lie in different banks of four bytes. Packs with the
  /// width of two banks also need a gap in the middle of a row.
  static constexpr int gap = rows_of_cell == 2 ? 4 : 0;
  static constexpr int padded = side + gap + 1;
  /// The same for rows of elements, if there are no packs.
  static constexpr int padded_words = side + rows_of_cell;
  static constexpr int scratch_cells = side / rows_of_cell * std::max(padded, padded_words);

  /// Neighbouring threads that take packs of a line of 128 bytes together.
  static constexpr int packs_of_line = 8;

 public:
  /// The fastest choice on an H200, of 128 to 512 threads, 4096 to 16384 elements in a tile, and tiles of 1 by 2 and 2
  /// by 1.
  static constexpr int most_threads = sizeof(Word) == 4 ? 512 : 256;
  static constexpr int resident_teams = sizeof(Word) == 4 ? 3 : 6;

  explicit transpose_device_kernel(const transpose_problem<Word>& problem)
      : problem_(problem),
        tiles_down_((problem.rows + side - 1) / side),
        tiles_((problem.columns + side - 1) / side * tiles_down_) {}

  std::int64_t blocks() const { return tiles_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return scratch_cells * sizeof(cell); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    cell* const tile = team_scratch_array<cell>(member, scratch_cells);
    const int thread = member.team_rank();
    for (std::int64_t which = member.league_rank(); which < tiles_; which += member.league_size()) {
      if (which >= member.league_size()) member.team_barrier();  // the last tile may still be read
      const auto [row, column] = corner_of(which);
      const int rows = problem_.rows - row < side ? static_cast<int>(problem_.rows - row) : side;
      const int columns = problem_.columns - column < side ? static_cast<int>(problem_.columns - column) : side;
      const Word* const source =
          problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
      Word* const target = problem_.target + column * problem_.target_row_stride + row * problem_.target_column_stride;
      if constexpr (InPacks) {
        const bool whole = rows == side && columns == side;
        whole ? read_packs<true>(source, tile, rows, columns, thread)
              : read_packs<false>(source, tile, rows, columns, thread);
        member.team_barrier();
        whole ? write_packs<true>(tile, target, rows, columns, thread)
              : write_packs<false>(tile, target, rows, columns, thread);
      } else {
        read_words(source, reinterpret_cast<Word*>(tile), rows, columns, thread);
        member.team_barrier();
        write_words(reinterpret_cast<const Word*>(tile), target, rows, columns, thread);
      }
    }
  }

 private:
  static constexpr int packs_of_row = side / pack_elements;
  static constexpr int packs_of_thread = side * packs_of_row / most_threads;
  static constexpr int words_of_thread = side * side / most_threads;

  struct corner {
    std::int64_t row;
    std::int64_t column;
  };
  /// The first element of a tile. Consecutive tiles lie one below the other, so that neighbouring teams write
  /// neighbouring memory, because writing scattered lines is slower than reading them. There are fewer than 2^32 tiles,
  /// because a division of 64 bits would take as long as moving some of them.
  KOKKOS_FORCEINLINE_FUNCTION corner corner_of(std::int64_t which) const {
    const auto tile = static_cast<std::uint32_t>(which);
    const auto down = static_cast<std::uint32_t>(tiles_down_);
    const std::uint32_t across = tile / down;
    return {static_cast<std::int64_t>(tile - across * down) * side, static_cast<std::int64_t>(across) * side};
  }

  /// Where pack number `which` of a thread lies in a tile. Eight threads take a line and the next eight the next row,
  /// so that the words of neighbouring threads lie in all banks.
  struct place {
    int line;
    int at;
  };
  KOKKOS_FORCEINLINE_FUNCTION static place place_of(int which, int thread) {
    constexpr int lines_of_row = packs_of_row / packs_of_line;
    constexpr int rows_at_once = most_threads / packs_of_line / lines_of_row;
    const int in_line = thread & (packs_of_line - 1);
    const int group = thread / packs_of_line;
    const int row = group % rows_at_once;
    const int part = group / rows_at_once;
    return {which * rows_at_once + row, (part * packs_of_line + in_line) * pack_elements};
  }

  /// Where the cell of a row, or of two, and a column is in the scratch memory.
  KOKKOS_FORCEINLINE_FUNCTION static int cell_at(int row, int column) {
    return row * padded + column + (column >= side / 2 ? gap : 0);
  }

  /// Whole: the tile has all its rows and columns.
  template <bool Whole>
  KOKKOS_FORCEINLINE_FUNCTION void read_packs(const Word* source, cell* tile, int rows, int columns, int thread) const {
    constexpr int steps = packs_of_thread / rows_of_cell;
    pack held[steps][rows_of_cell];
    PRUMO_UNROLL
    for (int which = 0; which < steps; ++which) {
      const auto [line, at] = place_of(which, thread);
      PRUMO_UNROLL
      for (int r = 0; r < rows_of_cell; ++r) {
        const int row = line * rows_of_cell + r;
        const Word* const from = source + row * problem_.source_row_stride + at;
        if (Whole || (row < rows && at + pack_elements <= columns)) {
          held[which][r] = *reinterpret_cast<const pack*>(from);
        } else {
          PRUMO_UNROLL
          for (int i = 0; i < pack_elements; ++i) {
            held[which][r].values[i] = row < rows && at + i < columns ? from[i] : Word(0);
          }
        }
      }
    }
    PRUMO_UNROLL
    for (int which = 0; which < steps; ++which) {
      const auto [line, at] = place_of(which, thread);
      cell* const to = tile + cell_at(line, at);
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) {
        if constexpr (rows_of_cell == 1) {
          to[i] = held[which][0].values[i];
        } else {
          to[i] = held[which][0].values[i] | static_cast<cell>(held[which][1].values[i]) << 16;
        }
      }
    }
  }

  template <bool Whole>
  KOKKOS_FORCEINLINE_FUNCTION void write_packs(const cell* tile, Word* target, int rows, int columns,
                                               int thread) const {
    PRUMO_UNROLL
    for (int which = 0; which < packs_of_thread; ++which) {
      const auto [column, at] = place_of(which, thread);
      if (!Whole && (column >= columns || at >= rows)) continue;
      Word* const to = target + column * problem_.target_row_stride + at;
      device_pack<cell> held;
      PRUMO_UNROLL
      for (int i = 0; i < pack_cells; ++i) held.values[i] = tile[cell_at(at / rows_of_cell + i, column)];
      if (Whole || at + pack_elements <= rows) {
        store_pack(to, held);
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) {
          if (at + i < rows) to[i] = static_cast<Word>(held.values[i / rows_of_cell] >> (16 * (i % rows_of_cell)));
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_words(const Word* source, Word* tile, int rows, int columns, int thread) const {
    Word held[words_of_thread];
    const int column = thread % side;
    PRUMO_UNROLL
    for (int which = 0; which < words_of_thread; ++which) {
      const int row = which * (most_threads / side) + thread / side;
      held[which] = Word(0);
      if (row < rows && column < columns) {
        held[which] = source[row * problem_.source_row_stride + column * problem_.source_column_stride];
      }
    }
    PRUMO_UNROLL
    for (int which = 0; which < words_of_thread; ++which) {
      tile[(which * (most_threads / side) + thread / side) * padded_words + column] = held[which];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_words(const Word* tile, Word* target, int rows, int columns,
                                               int thread) const {
    const int row = thread % side;
    PRUMO_UNROLL
    for (int which = 0; which < words_of_thread; ++which) {
      const int column = which * (most_threads / side) + thread / side;
      if (row < rows && column < columns) {
        target[column * problem_.target_row_stride + row * problem_.target_column_stride] =
            tile[row * padded_words + column];
      }
    }
  }

  transpose_problem<Word> problem_;
  std::int64_t tiles_down_;
  std::int64_t tiles_;
};

}  // namespace prumo::detail
