// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for rows that fit into the registers of a team: read once and written once.

#include "softmax_device_share.hpp"

#include <bit>

namespace prumo::detail {

/// How the rows of a matrix lie in memory: as packs of neighbouring elements, as neighbouring elements that begin or
/// end within packs, or in any other way.
enum class softmax_rows { whole_packs, with_ends, strided };

/// Rows that fit into the registers of a team: read once, written once. Group is the number of threads of a row, or 0
/// if it is known at run time only. If it is known here, offsets are part of the instructions and take no registers.
///
/// Where rows begin or end within packs, a thread also takes one of the elements outside of packs, so a row needs a
/// thread for each of these.
template <class T, class Formula, softmax_rows Rows, int Packs, int Threads, int Group = 0>
class softmax_short_rows_kernel {
  static constexpr bool in_packs = Rows != softmax_rows::strided, has_ends = Rows == softmax_rows::with_ends;
  static constexpr int known_shift = Group > 0 ? std::countr_zero(static_cast<unsigned>(Group)) : 0;
  using C = compute_t<T>;
  using run = pack_run<T, int>;

 public:
  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = Threads > 256 ? 1 : Packs <= 2 ? 6 : 4;

  /// `group` is a power of two.
  softmax_short_rows_kernel(const softmax_problem<T>& problem, int group)
      : problem_(problem), given_group_(group), given_shift_(std::countr_zero(static_cast<unsigned>(group))) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : problem_.rows; }
  std::int64_t blocks_per_team() const { return Threads >> group_shift(); }
  int team_threads() const { return Threads; }
  std::size_t scratch_bytes() const { return join_scratch<C>::bytes_for(Threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<C> scratch;
    if constexpr (Group == 0 || Group > exchange_threads) scratch = team_join_scratch<C>(member, Threads);
    const int groups = Threads >> group_shift();
    const int lane = member.team_rank() & (group() - 1);
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * groups; begin < problem_.rows;
         begin += step) {
      const std::int64_t row = begin + (member.team_rank() >> group_shift());
      const int count = row < problem_.rows ? static_cast<int>(problem_.columns) : 0;
      const T* const source = problem_.source + row * problem_.source_row_stride;
      T* const target = problem_.target + row * problem_.target_row_stride;
      run parts = run::without_ends(count);
      if constexpr (has_ends) parts = run::of(source, count);

      // It is loaded before the packs, and used after all of them are under way.
      T loaded_end = static_cast<T>(softmax_lowest<C>());
      if (has_ends && parts.has_end_for(lane)) loaded_end = source[parts.end_of(lane)];
      softmax_share<T, Packs, in_packs> share;
      share.load_from(source + parts.head, parts.whole, problem_.source_column_stride, lane, group());
      C end = load(loaded_end);
      C largest = share.largest();
      if constexpr (has_ends) largest = Kokkos::fmax(largest, end);
      const C shift = softmax_shift(join_group(member, scratch, group(), largest, join_maxima{}));
      C own = share.template sum_exponentials<Formula::keeps_exponentials>(shift);
      if constexpr (has_ends) {
        const C exponential = softmax_exponential<T, Formula::keeps_exponentials>(end, shift);
        if constexpr (Formula::keeps_exponentials) end = exponential;
        own = own + exponential;
      }
      const C factor = softmax_row_factor<T, Formula>(join_group(member, scratch, group(), own, join_sums{}));
      share.template finish_kept<Formula>(shift, factor);
      share.store_to(target + parts.head, parts.whole, problem_.target_column_stride, lane, group());
      if (has_ends && parts.has_end_for(lane)) {
        target[parts.end_of(lane)] = static_cast<T>(Formula::from_kept(end, shift, factor));
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION constexpr int group() const { return Group > 0 ? Group : given_group_; }
  /// Divisions by the group are shifts: a division takes some twenty instructions.
  KOKKOS_FORCEINLINE_FUNCTION constexpr int group_shift() const { return Group > 0 ? known_shift : given_shift_; }

  softmax_problem<T> problem_;
  int given_group_;
  int given_shift_;
};

/// Short rows that lie one behind the other. A team's rows together are a run, which goes through its scratch memory,
/// so that the device's memory is read and written in packs, however long a row is. A group of threads takes a row, of
/// the shortest ones several after each other. Elements: the numbers of a row that a thread has.
template <class T, class Formula, int Elements>
class softmax_tile_kernel {
  using C = compute_t<T>;
  using run = pack_run<T, int>;
  using pack = device_pack<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  /// Packs of a tile that a thread copies: what keeps enough of memory under way.
  static constexpr int packs = 4;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = sizeof(T) == 8 ? 4 : 6;

  softmax_tile_kernel(const softmax_problem<T>& problem, int group)
      : source_(problem.source),
        target_(problem.target),
        rows_(problem.rows),
        columns_(static_cast<int>(problem.columns)),
        group_(group),
        same_packs_(softmax_have_same_packs(problem)) {
    // A tile of one row for each group fits, because a group's row has at most Elements a thread.
    static_assert(Elements * sizeof(T) <= packs * sizeof(pack));
    const std::int64_t at_once = most_threads / group_;
    const std::int64_t most = most_threads * packs * pack_elements / (at_once * columns_);
    rounds_ = static_cast<int>(std::clamp<std::int64_t>(rows_ / (at_once * teams_wanted), 1, most));
  }

  std::int64_t blocks() const { return rows_; }
  std::int64_t blocks_per_team() const { return most_threads / group_ * rounds_; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const {
    // A run may begin within a pack. Up to another pack goes into its alignment.
    return static_cast<std::size_t>(blocks_per_team() * columns_) * sizeof(T) + 2 * sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int rows_at_once = most_threads / group_;
    const int rows_of_tile = rows_at_once * rounds_;
    T* const scratch = static_cast<T*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(rows_of_tile * columns_ + pack_elements) * sizeof(T), sizeof(pack)));
    const int thread = member.team_rank();
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * rows_of_tile;
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * rows_of_tile; begin < rows_;
         begin += step) {
      if (begin >= step) member.team_barrier();  // the last tile may still be read
      const std::int64_t rest = rows_ - begin;
      const int rows = rest < rows_of_tile ? static_cast<int>(rest) : rows_of_tile;
      const T* const source = source_ + begin * columns_;
      T* const target = target_ + begin * columns_;
      const run parts = run::of(source, rows * columns_);
      // In scratch memory the run's packs are packs, too.
      T* const tile = scratch + place_in_pack(source);
      copy_run<packs, most_threads>(source, tile, parts, thread);
      member.team_barrier();
      for (int first = 0; first < rows; first += rows_at_once) {
        const int row = first + thread / group_;
        finish_row(tile + row * columns_, row < rows ? columns_ : 0, thread & (group_ - 1));
      }
      member.team_barrier();
      if (same_packs_) {
        copy_run<packs, most_threads>(tile, target, parts, thread);
      } else {
        for (int at = thread; at < rows * columns_; at += most_threads) target[at] = tile[at];
      }
    }
  }

 private:
  /// Teams that keep a large device busy.
  static constexpr std::int64_t teams_wanted = 1024;

  /// A group's row of the tile. All threads of a group must call.
  KOKKOS_FORCEINLINE_FUNCTION void finish_row(T* row, int count, int lane) const {
    T* const own = row + lane;
    const int left = count - lane;
    C values[Elements];
    C largest = softmax_lowest<C>();
    PRUMO_UNROLL
    for (int element = 0; element < Elements; ++element) {
      values[element] = element * group_ < left ? load(own[element * group_]) : softmax_lowest<C>();
      largest = Kokkos::fmax(largest, values[element]);
    }
    const C shift = softmax_shift(join_neighbours(group_, largest, join_maxima{}));
    C sum = C(0);
    PRUMO_UNROLL
    for (int element = 0; element < Elements; ++element) {
      const C exponential = softmax_exponential<T, Formula::keeps_exponentials>(values[element], shift);
      if constexpr (Formula::keeps_exponentials) values[element] = exponential;
      sum = sum + exponential;
    }
    const C factor = softmax_row_factor<T, Formula>(join_neighbours(group_, sum, join_sums{}));
    PRUMO_UNROLL
    for (int element = 0; element < Elements; ++element) {
      if (element * group_ < left) {
        own[element * group_] = static_cast<T>(Formula::from_kept(values[element], shift, factor));
      }
    }
  }

  const T* source_;
  T* target_;
  std::int64_t rows_;
  int columns_;
  int group_;
  bool same_packs_;
  int rounds_ = 1;
};

}  // namespace prumo::detail
