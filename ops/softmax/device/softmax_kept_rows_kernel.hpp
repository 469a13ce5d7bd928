// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of softmax on a device for long rows that fit into the scratch memory of a team. So they are read once.

#include "softmax_kept_tiles.hpp"
#include <prumo/detail/device/team_resources.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// How many rows a multiprocessor holds at a time, or 0 if the kernel does not pay.
struct softmax_kept_choice {
  static constexpr int most_teams = 2;
  static constexpr std::int64_t fewest_rows = 64;
  /// Shorter rows give too little work to each thread of a team.
  static constexpr std::int64_t fewest_columns = 12'000;
  /// What a multiprocessor needs for a team beyond its scratch memory.
  static constexpr std::int64_t reserved_bytes = 1024;

  /// If a multiprocessor holds one row only, nothing is computed while its team waits. Then rows that fit into a team's
  /// registers take less time there. Longer ones should at least be read while others are written.
  ///
  /// \param team_bytes scratch memory of a team
  static constexpr int teams(std::int64_t rows, std::int64_t columns, std::int64_t team_bytes, bool fits_registers,
                             const team_resources& device) {
    if (rows < fewest_rows || columns < fewest_columns || team_bytes > device.bytes_of_team) return 0;
    if (most_teams * (team_bytes + reserved_bytes) <= device.bytes_of_multiprocessor) return most_teams;
    return rows > device.multiprocessors && !fits_registers ? 1 : 0;
  }
};

/// While a team writes a row, it reads its next one: each thread copies packs to where those were that it has just
/// written. So a thread reads only what it has put into scratch memory itself.
template <class T, class Formula, int Threads>
class softmax_kept_rows_kernel {
  using C = compute_t<T>;
  using run = pack_run<T, int>;
  using pack = device_pack<T>;
  using tiles = softmax_kept_tiles<T, Formula, Threads>;
  static constexpr int pack_elements = device_pack_elements<T>, tile = tiles::tile, tiles_ahead = tiles::tiles_ahead;

 public:
  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = softmax_device_partition<T>::most_threads / Threads;

  /// \param teams at most; a device should run all of them at the same time.
  softmax_kept_rows_kernel(const softmax_problem<T>& problem, std::int64_t teams)
      : problem_(problem), teams_(std::min(problem.rows, teams)) {}

  std::int64_t blocks() const { return teams_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return Threads; }
  std::size_t scratch_bytes() const { return scratch_bytes_for(problem_.columns); }
  static constexpr std::size_t scratch_bytes_for(std::int64_t columns) {
    // Up to another pack goes into the alignment of the row's packs.
    return static_cast<std::size_t>(columns) * sizeof(T) + join_scratch<softmax_statistics<C>>::bytes_for(Threads) +
           sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto scratch = team_join_scratch<softmax_statistics<C>>(member, Threads);
    const int thread = member.team_rank();
    auto* const kept = static_cast<pack_words*>(member.team_scratch(0).get_shmem_aligned(
                           static_cast<std::size_t>(problem_.columns) * sizeof(T), sizeof(pack))) +
                       thread;
    row written = row_of(problem_.rows), read = row_of(member.league_rank());
    C shift(0), factor(0);
    for (std::int64_t which = member.league_rank();; which += member.league_size()) {
      const softmax_running_statistics<C> own = exchange(written, read, kept, thread, shift, factor);
      if (which >= problem_.rows) return;
      written = read;
      read = row_of(which + member.league_size());
      const softmax_statistics<C> of_row = own.join_team(member, scratch, Threads);
      shift = softmax_shift(of_row.maximum);
      factor = softmax_row_factor<T, Formula>(of_row.total);
    }
  }

 private:
  struct row {
    std::int64_t source;  ///< where it begins in the matrix
    std::int64_t target;
    run parts;
  };

  /// Row number `which`, or one of nothing beyond the last.
  KOKKOS_FORCEINLINE_FUNCTION row row_of(std::int64_t which) const {
    if (which >= problem_.rows) return {0, 0, run::without_ends(0)};
    const std::int64_t target = which * problem_.target_row_stride;
    return {which * problem_.source_row_stride, target,
            run::template of<tiles::line>(problem_.target + target, static_cast<int>(problem_.columns))};
  }

  /// Writes one row from scratch memory, reads another one into it, and returns the statistics of what the thread has
  /// read.
  KOKKOS_FORCEINLINE_FUNCTION softmax_running_statistics<C> exchange(const row& written, const row& read,
                                                                     pack_words* kept, int thread, C shift,
                                                                     C factor) const {
    if (written.parts.has_end_for(thread)) {
      const int end = written.parts.end_of(thread);
      const C value = load(problem_.source[written.source + end]);
      problem_.target[written.target + end] = static_cast<T>(softmax_result<T, Formula>(value, shift, factor));
    }
    softmax_running_statistics<C> statistics;
    if (read.parts.has_end_for(thread)) {
      statistics.add(load(problem_.source[read.source + read.parts.end_of(thread)]));
    }
    const int written_packs = written.parts.whole / pack_elements, read_packs = read.parts.whole / pack_elements;
    const int read_end = read_packs == 0 ? 0 : read_packs + tiles_ahead * tile;
    const int end = written_packs > read_end ? written_packs : read_end;
    auto* to = reinterpret_cast<pack*>(problem_.target + written.target + written.parts.head) + thread;
    const auto* from = reinterpret_cast<const pack_words*>(problem_.source + read.source + read.parts.head) + thread;
    PRUMO_KEEP_LOOP
    for (int begin = 0; begin < end; begin += tile) {
      if (begin + tile <= written_packs) {
        tiles::template write<true>(kept, to, 0, shift, factor);
      } else {
        tiles::template write<false>(kept, to, written_packs - begin - thread, shift, factor);
      }
      tiles::copy(from, kept, read_packs - begin - thread);
      end_copy_group();
      const int earlier = begin - tiles_ahead * tile;
      if (earlier >= 0 && earlier < read_packs) {
        wait_for_copy_groups<tiles_ahead>();
        const pack_words* const arrived = kept - tiles_ahead * tile;
        if (earlier + tile <= read_packs) {
          tiles::template add<true>(statistics, arrived, 0);
        } else {
          tiles::template add<false>(statistics, arrived, read_packs - earlier - thread);
        }
      }
      kept += tile;
      to += tile;
      from += tile;
    }
    return statistics;
  }

  softmax_problem<T> problem_;
  std::int64_t teams_;
};

}  // namespace prumo::detail
