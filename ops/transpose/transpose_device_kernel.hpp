// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a device: a tile of a team's passes through its scratch memory, so that both sides are read and
/// written in whole lines.

#include <prumo/detail/team_kernel.hpp>
#include <prumo/transpose.hpp>

namespace prumo::detail {

/// InPacks: unit strides and alignment allow loads and stores of 16 bytes.
template <class Word, bool InPacks>
class transpose_device_kernel {
  using pack = device_pack<Word>;
  static constexpr int pack_elements = device_pack_elements<Word>;
  /// A tile's side: rows of at least a line of 128 bytes.
  static constexpr int side = sizeof(Word) == 8 ? 32 : 64;
  /// Padding that lets both the rows and the columns of a tile fall on different banks of four bytes.
  static constexpr int padded = side + (sizeof(Word) == 2 ? 2 : 1);
  /// Neighbouring threads that take packs of a line of 128 bytes together.
  static constexpr int packs_of_line = 8;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 4;

  explicit transpose_device_kernel(const transpose_problem<Word>& problem)
      : problem_(problem),
        tiles_across_((problem.columns + side - 1) / side),
        tiles_((problem.rows + side - 1) / side * tiles_across_) {}

  std::int64_t blocks() const { return tiles_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(side) * padded * sizeof(Word); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    Word* const tile = team_scratch_array<Word>(member, side * padded);
    const int thread = member.team_rank();
    for (std::int64_t which = member.league_rank(); which < tiles_; which += member.league_size()) {
      const std::int64_t tile_row = which / tiles_across_;
      const std::int64_t row = tile_row * side;
      const std::int64_t column = (which - tile_row * tiles_across_) * side;
      const int rows = problem_.rows - row < side ? static_cast<int>(problem_.rows - row) : side;
      const int columns = problem_.columns - column < side ? static_cast<int>(problem_.columns - column) : side;
      const Word* const source =
          problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
      Word* const target = problem_.target + column * problem_.target_row_stride + row * problem_.target_column_stride;
      if constexpr (InPacks) {
        read_packs(source, tile, rows, columns, thread);
        member.team_barrier();
        write_packs(tile, target, rows, columns, thread);
      } else {
        read_words(source, tile, rows, columns, thread);
        member.team_barrier();
        write_words(tile, target, rows, columns, thread);
      }
      member.team_barrier();  // the next tile must not overtake a slow reader
    }
  }

 private:
  static constexpr int packs_of_row = side / pack_elements;
  static constexpr int packs_of_thread = side * packs_of_row / most_threads;
  static constexpr int words_of_thread = side * side / most_threads;

  /// Where pack number `which` of a thread lies in a tile: eight threads take a line, the next eight the next row,
  /// which scatters the words of neighbouring threads over all banks.
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

  KOKKOS_FORCEINLINE_FUNCTION void read_packs(const Word* source, Word* tile, int rows, int columns, int thread) const {
    pack held[packs_of_thread];
    PRUMO_UNROLL
    for (int which = 0; which < packs_of_thread; ++which) {
      const auto [row, at] = place_of(which, thread);
      const Word* const from = source + row * problem_.source_row_stride + at;
      if (row >= rows) continue;
      if (at + pack_elements <= columns) {
        held[which] = *reinterpret_cast<const pack*>(from);
      } else {
        for (int i = 0; i < pack_elements; ++i) held[which].values[i] = at + i < columns ? from[i] : Word(0);
      }
    }
    PRUMO_UNROLL
    for (int which = 0; which < packs_of_thread; ++which) {
      const auto [row, at] = place_of(which, thread);
      if (row >= rows) continue;
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) tile[row * padded + at + i] = held[which].values[i];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_packs(const Word* tile, Word* target, int rows, int columns,
                                               int thread) const {
    PRUMO_UNROLL
    for (int which = 0; which < packs_of_thread; ++which) {
      const auto [column, at] = place_of(which, thread);
      if (column >= columns || at >= rows) continue;
      Word* const to = target + column * problem_.target_row_stride + at;
      pack held;
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) held.values[i] = tile[(at + i) * padded + column];
      if (at + pack_elements <= rows) {
        *reinterpret_cast<pack*>(to) = held;
      } else {
        for (int i = 0; at + i < rows; ++i) to[i] = held.values[i];
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
      tile[(which * (most_threads / side) + thread / side) * padded + column] = held[which];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_words(const Word* tile, Word* target, int rows, int columns,
                                               int thread) const {
    const int row = thread % side;
    PRUMO_UNROLL
    for (int which = 0; which < words_of_thread; ++which) {
      const int column = which * (most_threads / side) + thread / side;
      if (row < rows && column < columns) {
        target[column * problem_.target_row_stride + row * problem_.target_column_stride] = tile[row * padded + column];
      }
    }
  }

  transpose_problem<Word> problem_;
  std::int64_t tiles_across_;
  std::int64_t tiles_;
};

}  // namespace prumo::detail
