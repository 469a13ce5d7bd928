// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a device of matrices of a few rows or columns, whose elements change places in registers.

#include "transpose_problem.hpp"
#include <prumo/detail/pack_run.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::detail {

/// One side of a transpose is a run of memory that begins at a pack: Width columns without gaps. The other side are
/// Width lines. A thread takes a pack of each line, which together are Width packs of the run.
///
/// LinesAreRead: the lines are the source, and the run is the target; else the other way round. What is written goes
/// through scratch memory. There the packs of the run, of which a thread has neighbours, are written by neighbouring
/// threads, and the packs of a line begin where its memory has packs.
template <class Word, int Width, bool LinesAreRead>
class transpose_thin_device_kernel {
  using pack = device_pack<Word>;
  static constexpr int pack_elements = device_pack_elements<Word>;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = Width <= 2 ? 8 : Width <= 3 ? 6 : 4;

  /// Below this size transpose_direct_kernel takes less time, on an H200.
  static constexpr std::int64_t fewest_bytes = std::int64_t{Width > 5 && sizeof(Word) == 4 ? 8 : 3} << 20;

  static bool can_take(const transpose_problem<Word>& problem) {
    if (problem.source_column_stride != 1 || problem.target_column_stride != 1) return false;
    if (problem.rows * problem.columns < fewest_bytes / static_cast<std::int64_t>(sizeof(Word))) return false;
    if constexpr (LinesAreRead) {
      return problem.rows == Width && problem.target_row_stride == Width && place_in_pack(problem.target) == 0;
    } else {
      return problem.columns == Width && problem.source_row_stride == Width && place_in_pack(problem.source) == 0;
    }
  }

  explicit transpose_thin_device_kernel(const transpose_problem<Word>& problem)
      : source_(problem.source),
        target_(problem.target),
        line_stride_(LinesAreRead ? problem.source_row_stride : problem.target_row_stride),
        length_(LinesAreRead ? problem.columns : problem.rows) {}

  std::int64_t blocks() const { return (length_ + tile - 1) / tile; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  /// Up to another pack goes into its alignment.
  std::size_t scratch_bytes() const { return scratch_words * sizeof(Word) + sizeof(pack); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    Word* const scratch =
        static_cast<Word*>(member.team_scratch(0).get_shmem_aligned(scratch_words * sizeof(Word), sizeof(pack)));
    const int thread = member.team_rank();
    const int first = thread * pack_elements;
    const std::int64_t blocks = (length_ + tile - 1) / tile;
    for (std::int64_t block = member.league_rank(); block < blocks; block += member.league_size()) {
      if (block >= member.league_size()) member.team_barrier();  // the last tile may still be read
      const std::int64_t begin = block * tile;
      const int count = length_ - begin < tile ? static_cast<int>(length_ - begin) : tile;
      pack lines[Width], run[Width];
      if constexpr (LinesAreRead) {
        read_lines(source_ + begin + first, lines, count - first);
        PRUMO_UNROLL
        for (int e = 0; e < Width * pack_elements; ++e) element(run, e) = lines[e % Width].values[e / Width];
        auto* const packs = reinterpret_cast<pack*>(scratch);
        PRUMO_UNROLL
        for (int i = 0; i < Width; ++i) packs[slot_of(thread * Width + i)] = run[i];
        member.team_barrier();
        write_run(packs, target_ + begin * Width, count * Width, thread);
      } else {
        read_run(source_ + (begin + first) * Width, run, count - first);
        PRUMO_UNROLL
        for (int e = 0; e < Width * pack_elements; ++e) lines[e % Width].values[e / Width] = element(run, e);
        Word* const target = target_ + begin;
        PRUMO_UNROLL
        for (int line = 0; line < Width; ++line) {
          put(scratch + line * pitch + place_in_pack(target + line * line_stride_) + first, lines[line]);
        }
        member.team_barrier();
        PRUMO_UNROLL
        for (int line = 0; line < Width; ++line) {
          write_line(scratch + line * pitch, target + line * line_stride_, count, first);
        }
      }
    }
  }

 private:
  /// Elements of a line that a team takes at a time.
  static constexpr int tile = most_threads * pack_elements;
  /// Between lines in scratch memory: where a line begins in its first pack, and an odd number of packs, so that the
  /// lines lie in different banks.
  static constexpr int pitch = tile + pack_elements;
  static constexpr std::size_t scratch_words = LinesAreRead ? std::size_t{Width} * tile : std::size_t{Width} * pitch;

  KOKKOS_FORCEINLINE_FUNCTION static Word& element(pack (&run)[Width], int which) {
    return run[which / pack_elements].values[which % pack_elements];
  }

  /// Where a pack of the run lies in scratch memory. The packs of a thread are Width apart. If Width is even, packs of
  /// neighbouring threads would lie in the same banks.
  KOKKOS_FORCEINLINE_FUNCTION static int slot_of(int which) {
    return Width % 2 == 0 ? which ^ ((which >> 3) & 7) : which;
  }

  /// A pack of each line, wherever these begin. All loads come before the first use.
  KOKKOS_FORCEINLINE_FUNCTION void read_lines(const Word* from, pack (&lines)[Width], int left) const {
    if (left < pack_elements) {
      PRUMO_UNROLL
      for (int line = 0; line < Width; ++line) {
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) {
          lines[line].values[i] = i < left ? from[line * line_stride_ + i] : Word(0);
        }
      }
    } else if constexpr (sizeof(Word) == 2) {
      // Loads of two elements take half the time. If a line begins between two, five have its pack.
      std::uint32_t pairs[Width][5];
      unsigned shifts[Width];
      PRUMO_UNROLL
      for (int line = 0; line < Width; ++line) {
        const auto at = reinterpret_cast<std::uintptr_t>(from + line * line_stride_);
        const auto* const first = reinterpret_cast<const std::uint32_t*>(at - at % 4);
        shifts[line] = static_cast<unsigned>(at % 4 * 8);
        PRUMO_UNROLL
        for (int i = 0; i < 5; ++i) pairs[line][i] = i < 4 || shifts[line] != 0 ? first[i] : 0;
      }
      PRUMO_UNROLL
      for (int line = 0; line < Width; ++line) {
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) {
          const std::uint64_t both = static_cast<std::uint64_t>(pairs[line][i + 1]) << 32 | pairs[line][i];
          const auto pair = static_cast<std::uint32_t>(both >> shifts[line]);
          lines[line].values[2 * i] = static_cast<Word>(pair);
          lines[line].values[2 * i + 1] = static_cast<Word>(pair >> 16);
        }
      }
    } else {
      PRUMO_UNROLL
      for (int line = 0; line < Width; ++line) {
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) lines[line].values[i] = from[line * line_stride_ + i];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void write_run(const pack* packs, Word* to, int count, int thread) {
    PRUMO_UNROLL
    for (int i = 0; i < Width; ++i) {
      const int which = i * most_threads + thread, at = which * pack_elements;
      const pack held = packs[slot_of(which)];
      if (at + pack_elements <= count) {
        store_pack(to + at, held);
      } else {
        PRUMO_UNROLL
        for (int j = 0; j < pack_elements; ++j) {
          if (at + j < count) to[at + j] = held.values[j];
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void read_run(const Word* from, pack (&run)[Width], int left) {
    if (left >= pack_elements) {
      PRUMO_UNROLL
      for (int i = 0; i < Width; ++i) run[i] = reinterpret_cast<const pack*>(from)[i];
    } else {
      PRUMO_UNROLL
      for (int e = 0; e < Width * pack_elements; ++e) element(run, e) = e / Width < left ? from[e] : Word(0);
    }
  }

  /// Stores a pack at any element of scratch memory, which need not be where packs begin.
  KOKKOS_FORCEINLINE_FUNCTION static void put(Word* to, const pack& from) {
    if (place_in_pack(to) == 0) {
      *reinterpret_cast<pack*>(to) = from;
    } else if constexpr (sizeof(Word) == 2) {
      const bool between = place_in_pack(to) % 2 != 0;
      auto* const pairs = reinterpret_cast<std::uint32_t*>(between ? to + 1 : to);
      const auto pair = [&](int first) {
        return from.values[first] | static_cast<std::uint32_t>(from.values[first + 1]) << 16;
      };
      if (between) {
        to[0] = from.values[0];
        PRUMO_UNROLL
        for (int i = 0; i < 3; ++i) pairs[i] = pair(2 * i + 1);
        to[7] = from.values[7];
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) pairs[i] = pair(2 * i);
      }
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) to[i] = from.values[i];
    }
  }

  /// The packs of a line, of which the first and the last one may have elements of others.
  KOKKOS_FORCEINLINE_FUNCTION static void write_line(const Word* line, Word* to, int count, int first) {
    const int place = place_in_pack(to);
    for (int at = first - place; at < count; at += tile) {
      const Word* const held = line + place + at;
      if (at >= 0 && at + pack_elements <= count) {
        store_pack(to + at, *reinterpret_cast<const pack*>(held));
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) {
          if (at + i >= 0 && at + i < count) to[at + i] = held[i];
        }
      }
    }
  }

  const Word* source_;
  Word* target_;
  std::int64_t line_stride_;
  std::int64_t length_;
};

}  // namespace prumo::detail
