// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A part of a long row that a team keeps in its scratch memory while it waits for the statistics of the other parts.

#include "softmax_kept_tiles.hpp"

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// What one thread of a team has of a part: packs, which it finds in scratch memory again, and at most one element
/// before the row's first pack or after its last one.
template <class T, class Formula, int Threads>
class softmax_kept_part {
  using C = compute_t<T>;
  using run = pack_run<T, int>;
  using pack = device_pack<T>;
  using tiles = softmax_kept_tiles<T, Formula, Threads>;
  static constexpr int pack_elements = device_pack_elements<T>, tile = tiles::tile, tiles_ahead = tiles::tiles_ahead;

 public:
  /// Elements of each part, if a row is cut into `parts`: whole lines, so that teams share none of them, but at the
  /// ends of rows.
  static constexpr int elements(std::int64_t columns, std::int64_t parts) {
    const std::int64_t lines = (columns + tiles::line - 1) / tiles::line;
    return static_cast<int>((lines + parts - 1) / parts) * tiles::line;
  }
  /// The scratch memory that such parts need. Up to another pack goes into the alignment of the part's packs.
  static constexpr std::size_t scratch_bytes_for(int elements) {
    return static_cast<std::size_t>(elements) * sizeof(T) + sizeof(pack);
  }
  static constexpr std::size_t most_scratch_bytes_for(std::int64_t bytes) {
    return static_cast<std::size_t>(bytes) + tiles::line * sizeof(T) + sizeof(pack);
  }

  /// Where the thread's packs of a part of so many elements go.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static pack_words* place(const Member& member, int elements) {
    return static_cast<pack_words*>(
               member.team_scratch(0).get_shmem_aligned(static_cast<std::size_t>(elements) * sizeof(T), sizeof(pack))) +
           member.team_rank();
  }

  /// Part number `which` of a row.
  KOKKOS_FORCEINLINE_FUNCTION softmax_kept_part(const softmax_problem<T>& problem, std::int64_t row, int which,
                                                int elements, int thread) {
    const std::int64_t source = row * problem.source_row_stride, target = row * problem.target_row_stride;
    const auto parts = run::template of<tiles::line>(problem.target + target, static_cast<int>(problem.columns));
    const int begin = which * elements, left = parts.whole - begin;
    const int first = parts.head + begin;
    source_ = reinterpret_cast<const pack_words*>(problem.source + source + first) + thread;
    target_ = reinterpret_cast<pack*>(problem.target + target + first) + thread;
    packs_ = (left < elements ? left : elements) / pack_elements - thread;
    if (which == 0 && parts.has_end_for(thread)) {
      end_ = load(problem.source[source + parts.end_of(thread)]);
      end_target_ = problem.target + target + parts.end_of(thread);
    }
  }

  /// Copies the thread's packs to their place. Returns the statistics of what the thread has.
  KOKKOS_FORCEINLINE_FUNCTION softmax_running_statistics<C> read(pack_words* kept) const {
    softmax_running_statistics<C> result;
    const pack_words* from = source_;
    const int end = packs_ > 0 ? packs_ + tiles_ahead * tile : 0;
    PRUMO_KEEP_LOOP
    for (int begin = 0; begin < end; begin += tile) {
      tiles::copy(from, kept, packs_ - begin);
      end_copy_group();
      const int left = packs_ - begin + tiles_ahead * tile;
      if (begin >= tiles_ahead * tile) {
        wait_for_copy_groups<tiles_ahead>();
        const pack_words* const arrived = kept - tiles_ahead * tile;
        if (left > tile - Threads) {
          tiles::template add<true>(result, arrived, 0);
        } else {
          tiles::template add<false>(result, arrived, left);
        }
      }
      kept += tile;
      from += tile;
    }
    if (end_target_ != nullptr) result.add(end_);
    return result;
  }

  /// Writes the results of what read() has kept.
  KOKKOS_FORCEINLINE_FUNCTION void write(const pack_words* kept, const softmax_statistics<C>& of_row) const {
    const C shift = softmax_shift(of_row.maximum), factor = softmax_row_factor<T, Formula>(of_row.total);
    if (end_target_ != nullptr) *end_target_ = static_cast<T>(softmax_result<T, Formula>(end_, shift, factor));
    pack* to = target_;
    PRUMO_KEEP_LOOP
    for (int left = packs_; left > 0; left -= tile) {
      if (left > tile - Threads) {
        tiles::template write<true>(kept, to, 0, shift, factor);
      } else {
        tiles::template write<false>(kept, to, left, shift, factor);
      }
      kept += tile;
      to += tile;
    }
  }

 private:
  const pack_words* source_;  ///< the thread's first pack of the part
  pack* target_;
  int packs_;  ///< from that one to the part's end
  C end_ = softmax_lowest<C>();
  T* end_target_ = nullptr;  ///< where the result of end_ goes, or null if the thread has no such element
};

}  // namespace prumo::detail
