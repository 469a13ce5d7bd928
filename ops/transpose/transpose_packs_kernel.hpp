// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a device of matrices whose rows may begin and end within packs, and of thin matrices.

#include "transpose_problem.hpp"
#include <prumo/detail/loop_nest.hpp>
#include <prumo/detail/pack_run.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// What a tile of a transpose is in memory.
enum class transpose_form {
  tiles,          ///< stretches of rows of the source, and stretches of rows of the target
  narrow_source,  ///< whole rows of the source, one behind the other: a run; and stretches of rows of the target
  narrow_target,  ///< stretches of rows of the source; and whole rows of the target: a run
};

/// Columns of both sides have unit stride. A tile goes through scratch memory, where it lies in lines: in the rows of
/// the target, but where the target is the run, in those of the source. A line begins at the same place of a pack there
/// as in the device's memory, so lines are moved in packs. The other side is moved in packs from its first whole pack
/// on, and the threads put the elements of a pack into their lines, or collect them from there.
template <class Word, transpose_form Form>
class transpose_packs_kernel {
  using run = pack_run<Word, int>;
  using pack = device_pack<Word>;
  static constexpr int pack_elements = device_pack_elements<Word>;
  static constexpr bool lines_are_read = Form == transpose_form::narrow_target;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = Form == transpose_form::tiles ? 5 : 6;

  /// The widest row of a narrow side. With wider ones, the stretches of lines would be short.
  static constexpr std::int64_t widest = 63;

  static bool can_take(const transpose_problem<Word>& problem) {
    if (problem.source_column_stride != 1 || problem.target_column_stride != 1) return false;
    if constexpr (Form == transpose_form::narrow_source) {
      return problem.columns <= widest && problem.source_row_stride == problem.columns;
    } else if constexpr (Form == transpose_form::narrow_target) {
      return problem.rows <= widest && problem.target_row_stride == problem.rows;
    } else {
      return true;
    }
  }

  explicit transpose_packs_kernel(const transpose_problem<Word>& problem)
      : source_(problem.source),
        target_(problem.target),
        source_stride_(problem.source_row_stride),
        target_stride_(problem.target_row_stride),
        lines_(lines_are_read ? problem.rows : problem.columns),
        length_(lines_are_read ? problem.columns : problem.rows) {
    if constexpr (Form == transpose_form::tiles) {
      tile_lines_ = packs_of_stretch * pack_elements;
      tile_length_ = rows_of_tile;
    } else {
      tile_lines_ = static_cast<int>(lines_);
      const std::int64_t most = (most_packs / tile_lines_ - 1) * pack_elements;
      const std::int64_t shared_out = (length_ + teams_wanted - 1) / teams_wanted;
      // A team of which most threads have nothing to do keeps others from starting.
      constexpr std::int64_t few_lines = 16, few_teams = 64;
      const std::int64_t for_all_threads = std::min<std::int64_t>(most, most_threads * pack_elements / tile_lines_);
      const bool are_idle = tile_lines_ <= few_lines && length_ >= few_teams * for_all_threads;
      tile_length_ =
          static_cast<int>(std::clamp(shared_out, are_idle ? for_all_threads : shortest, most) / unit * unit);
    }
    const std::int64_t line_stride = lines_are_read ? source_stride_ : target_stride_;
    // An odd number of packs, so that the lines lie in different banks, and what the lines of the device's memory are
    // apart beyond whole packs.
    const auto beyond_packs = static_cast<int>(line_stride % pack_elements);
    pitch_ = tile_length_ + pack_elements + (beyond_packs + pack_elements) % pack_elements;
    slots_ = tile_length_ / pack_elements + 1;
    by_slots_ = index_divider(slots_);
    by_lines_ = index_divider(tile_lines_);
    tiles_along_ = (length_ + tile_length_ - 1) / tile_length_;
  }

  std::int64_t blocks() const { return (lines_ + tile_lines_ - 1) / tile_lines_ * tiles_along_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const {
    // Up to another pack goes into its alignment.
    return static_cast<std::size_t>(scratch_words()) * sizeof(Word) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    Word* const scratch = static_cast<Word*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(scratch_words()) * sizeof(Word), sizeof(pack)));
    const int thread = member.team_rank();
    const std::int64_t blocks = (lines_ + tile_lines_ - 1) / tile_lines_ * tiles_along_;
    for (std::int64_t block = member.league_rank(); block < blocks; block += member.league_size()) {
      if (block >= member.league_size()) member.team_barrier();  // the last tile may still be read
      // Consecutive tiles lie one behind the other in the lines.
      // There are fewer than 2^32, because a division of 64 bits would take as long as moving some of them.
      const auto which = static_cast<std::uint32_t>(block), along = static_cast<std::uint32_t>(tiles_along_);
      const std::uint32_t across = Form == transpose_form::tiles ? which / along : 0;
      const std::int64_t line = static_cast<std::int64_t>(across) * tile_lines_;
      const std::int64_t begin = static_cast<std::int64_t>(which - across * along) * tile_length_;
      const int lines = lines_ - line < tile_lines_ ? static_cast<int>(lines_ - line) : tile_lines_;
      const int length = length_ - begin < tile_length_ ? static_cast<int>(length_ - begin) : tile_length_;
      if constexpr (lines_are_read) {
        const Word* const from = source_ + line * source_stride_ + begin;
        Word* const tile = scratch + place_in_pack(from);
        read_lines(from, tile, lines, length, thread);
        member.team_barrier();
        write_run(tile, target_ + begin * tile_lines_, lines * length, thread);
      } else {
        Word* const to = target_ + line * target_stride_ + begin;
        Word* const tile = scratch + place_in_pack(to);
        if constexpr (Form == transpose_form::narrow_source) {
          read_run(source_ + begin * tile_lines_, tile, lines * length, thread);
        } else {
          read_stretches(source_ + begin * source_stride_ + line, tile, lines, length, thread);
        }
        member.team_barrier();
        write_lines(tile, to, lines, length, thread);
      }
    }
  }

 private:
  /// Packs that a tile has at most on either side, and those of a thread.
  static constexpr int most_packs = 1024;
  static constexpr int packs_of_thread = most_packs / most_threads;
  /// Tiles of matrices that are not narrow: a line of 128 bytes of each row of the source.
  static constexpr int packs_of_stretch = 8;
  static constexpr int rows_of_tile = 64;
  /// Stretches of lines are whole sectors of memory. They are at least as long as the caches' lines.
  static constexpr std::int64_t unit = 2 * pack_elements;
  static constexpr std::int64_t shortest = 8 * pack_elements;
  /// Stretches are no longer than leaves work for this number of teams, unless they would be too short.
  static constexpr std::int64_t teams_wanted = 1024;

  KOKKOS_FORCEINLINE_FUNCTION int scratch_words() const { return tile_lines_ * pitch_ + pack_elements; }

  /// A run, whose elements lie side by side in the lines.
  KOKKOS_FORCEINLINE_FUNCTION void read_run(const Word* from, Word* tile, int count, int thread) const {
    const run parts = run::of(from, count);
    const auto* const packs = reinterpret_cast<const pack*>(from + parts.head);
    const int pack_count = parts.whole / pack_elements;
    pack held[packs_of_thread];
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const int place = i * most_threads + thread;
      if (place < pack_count) held[i] = packs[place];
    }
    if (parts.has_end_for(thread)) *element_of_run(tile, parts.end_of(thread)).at = from[parts.end_of(thread)];
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const int place = i * most_threads + thread;
      if (place >= pack_count) continue;
      auto to = element_of_run(tile, parts.head + place * pack_elements);
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        *to.at = held[i].values[j];
        next_of_run(to);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_run(Word* tile, Word* to, int count, int thread) const {
    const run parts = run::of(to, count);
    const int pack_count = parts.whole / pack_elements;
    if (parts.has_end_for(thread)) to[parts.end_of(thread)] = *element_of_run(tile, parts.end_of(thread)).at;
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const int place = i * most_threads + thread;
      if (place >= pack_count) continue;
      auto from = element_of_run(tile, parts.head + place * pack_elements);
      pack held;
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        held.values[j] = *from.at;
        next_of_run(from);
      }
      store_pack(to + parts.head + place * pack_elements, held);
    }
  }

  /// An element of the run in its line.
  struct element_in_line {
    Word* at;
    int line;
  };
  KOKKOS_FORCEINLINE_FUNCTION element_in_line element_of_run(Word* tile, int which) const {
    const int along = by_lines_.quotient(which);
    const int line = which - along * tile_lines_;
    return {tile + line * pitch_ + along, line};
  }
  KOKKOS_FORCEINLINE_FUNCTION void next_of_run(element_in_line& element) const {
    element.at += pitch_;
    if (++element.line == tile_lines_) {
      element.at -= tile_lines_ * pitch_ - 1;
      element.line = 0;
    }
  }

  /// A pack of a line of the tile: elements first ... first + pack_elements - 1, of which those below 0 and from the
  /// end of the line on belong to others.
  struct pack_of_line {
    int line;
    int first;
  };
  KOKKOS_FORCEINLINE_FUNCTION pack_of_line pack_of_lines(const Word* tile, int which) const {
    const int line = by_slots_.quotient(which);
    return {line, (which - line * slots_) * pack_elements - place_in_pack(tile + line * pitch_)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_whole(const pack_of_line& it, int length) {
    return it.first >= 0 && it.first + pack_elements <= length;
  }
  /// The elements of a pack that are in the line.
  KOKKOS_FORCEINLINE_FUNCTION static void copy_part(const Word* from, Word* to, const pack_of_line& it, int length) {
    PRUMO_UNROLL
    for (int j = 0; j < pack_elements; ++j) {
      if (it.first + j >= 0 && it.first + j < length) to[j] = from[j];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_lines(const Word* from, Word* tile, int lines, int length, int thread) const {
    pack held[packs_of_thread];
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const pack_of_line it = pack_of_lines(tile, i * most_threads + thread);
      if (it.line >= lines) continue;
      const Word* const source = from + it.line * source_stride_ + it.first;
      if (is_whole(it, length)) {
        held[i] = *reinterpret_cast<const pack*>(source);
      } else {
        copy_part(source, tile + it.line * pitch_ + it.first, it, length);
      }
    }
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const pack_of_line it = pack_of_lines(tile, i * most_threads + thread);
      if (it.line < lines && is_whole(it, length)) {
        *reinterpret_cast<pack*>(tile + it.line * pitch_ + it.first) = held[i];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_lines(const Word* tile, Word* to, int lines, int length, int thread) const {
    PRUMO_UNROLL
    for (int i = 0; i < packs_of_thread; ++i) {
      const pack_of_line it = pack_of_lines(tile, i * most_threads + thread);
      if (it.line >= lines) continue;
      const Word* const from = tile + it.line * pitch_ + it.first;
      Word* const target = to + it.line * target_stride_ + it.first;
      if (is_whole(it, length)) {
        store_pack(target, *reinterpret_cast<const pack*>(from));
      } else {
        copy_part(from, target, it, length);
      }
    }
  }

  /// Stretches of `lines` elements of `length` rows of the source. Each is read from its first pack on.
  KOKKOS_FORCEINLINE_FUNCTION void read_stretches(const Word* from, Word* tile, int lines, int length,
                                                  int thread) const {
    constexpr int slots = packs_of_stretch + 1;
    constexpr int steps = (rows_of_tile * slots + most_threads - 1) / most_threads;
    pack held[steps];
    PRUMO_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int row = (i * most_threads + thread) / slots;
      const Word* const source = from + row * source_stride_;
      const int first = ((i * most_threads + thread) % slots) * pack_elements - place_in_pack(source);
      if (row >= length) continue;
      if (first >= 0 && first + pack_elements <= lines) {
        held[i] = *reinterpret_cast<const pack*>(source + first);
      } else {
        PRUMO_UNROLL
        for (int j = 0; j < pack_elements; ++j) {
          if (first + j >= 0 && first + j < lines) held[i].values[j] = source[first + j];
        }
      }
    }
    PRUMO_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int row = (i * most_threads + thread) / slots;
      const int first =
          ((i * most_threads + thread) % slots) * pack_elements - place_in_pack(from + row * source_stride_);
      if (row >= length) continue;
      Word* const to = tile + row;
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        if (first + j >= 0 && first + j < lines) to[(first + j) * pitch_] = held[i].values[j];
      }
    }
  }

  const Word* source_;
  Word* target_;
  std::int64_t source_stride_;  ///< between rows
  std::int64_t target_stride_;
  std::int64_t lines_;
  std::int64_t length_;
  std::int64_t tiles_along_ = 0;
  int tile_lines_ = 0;
  int tile_length_ = 0;
  int pitch_ = 0;  ///< between lines in scratch memory
  int slots_ = 0;  ///< for the packs of a line
  index_divider by_slots_;
  index_divider by_lines_;
};

}  // namespace prumo::detail
