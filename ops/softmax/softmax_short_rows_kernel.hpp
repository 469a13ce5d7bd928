// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for rows that fit into the registers of a team: read once and written once.

#include "softmax_device_share.hpp"

namespace prumo::detail {

/// Rows that fit into the registers of a team: read once, written once. Group is the number of threads a row where it
/// is known when this is compiled, else 0: offsets are then part of the instructions instead of in registers.
template <class T, class Formula, int Packs, bool InPacks, int Threads, int Group = 0>
class softmax_short_rows_kernel {
  using C = compute_t<T>;

 public:
  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = Threads > 256 ? 1 : Packs <= 2 ? 6 : 4;

  softmax_short_rows_kernel(const softmax_problem<T>& problem, int group) : problem_(problem), given_group_(group) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : problem_.rows; }
  std::int64_t blocks_per_team() const { return Threads / group(); }
  int team_threads() const { return Threads; }
  std::size_t scratch_bytes() const { return join_scratch<C>::bytes_for(Threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<C> scratch;
    if constexpr (Group == 0 || Group > exchange_threads) scratch = team_join_scratch<C>(member, Threads);
    const int groups = Threads / group();
    const int lane = member.team_rank() & (group() - 1);
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * groups; begin < problem_.rows;
         begin += step) {
      const std::int64_t row = begin + member.team_rank() / group();
      const int count = row < problem_.rows ? static_cast<int>(problem_.columns) : 0;
      softmax_share<T, Packs, InPacks> share;
      share.load_from(problem_.source + row * problem_.source_row_stride, count, problem_.source_column_stride, lane,
                      group());
      const C shift = softmax_shift(join_group(member, scratch, group(), share.largest(), join_maxima{}));
      const C own = share.template sum_exponentials<Formula::keeps_exponentials>(shift);
      const C total = join_group(member, scratch, group(), own, join_sums{});
      share.template finish_kept<Formula>(shift, Formula::row_factor(total));
      share.store_to(problem_.target + row * problem_.target_row_stride, count, problem_.target_column_stride, lane,
                     group());
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION constexpr int group() const { return Group > 0 ? Group : given_group_; }

  softmax_problem<T> problem_;
  int given_group_;
};

/// Short rows that lie one behind the other, of lengths that packs do not fit: a team's rows together are whole packs,
/// and go through its scratch memory, so that the device's memory is read and written in packs all the same.
template <class T, class Formula>
class softmax_tile_kernel {
  using C = compute_t<T>;
  using pack = device_pack<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  /// Numbers that a thread holds: 16, of double 8.
  static constexpr int packs = sizeof(T) == 2 ? 2 : 4;
  static constexpr int most_elements = packs * pack_elements;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 4;
  /// The longest row: one for all threads that exchange registers.
  static constexpr std::int64_t longest_row = std::int64_t{most_elements} * exchange_threads;

  /// Whether rows lie as this kernel wants them.
  static bool can_take(const softmax_problem<T>& problem) {
    const auto lies_in_one = [&](const T* data, std::int64_t row_stride, std::int64_t column_stride) {
      return column_stride == 1 && row_stride == problem.columns && can_load_packs(data, 0);
    };
    return problem.columns <= longest_row && problem.columns % pack_elements != 0 &&
           lies_in_one(problem.source, problem.source_row_stride, problem.source_column_stride) &&
           lies_in_one(problem.target, problem.target_row_stride, problem.target_column_stride);
  }

  explicit softmax_tile_kernel(const softmax_problem<T>& problem)
      : source_(problem.source),
        target_(problem.target),
        rows_(problem.rows),
        columns_(static_cast<int>(problem.columns)),
        group_(group_threads((problem.columns + most_elements - 1) / most_elements, exchange_threads)) {}

  std::int64_t blocks() const { return columns_ == 0 ? 0 : rows_; }
  std::int64_t blocks_per_team() const { return most_threads / group_; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const {
    // Up to another pack goes into its alignment.
    return static_cast<std::size_t>(most_threads / group_ * columns_) * sizeof(T) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int rows_at_once = most_threads / group_;
    T* const tile = static_cast<T*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(rows_at_once * columns_) * sizeof(T), sizeof(pack)));
    const int thread = member.team_rank();
    const int lane = thread & (group_ - 1);
    const int own_row = thread / group_;
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * rows_at_once;
    // rows_at_once is a multiple of a pack's elements, so every tile begins with a pack.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * rows_at_once; begin < rows_;
         begin += step) {
      const std::int64_t rest = rows_ - begin;
      const int rows_here = rest < rows_at_once ? static_cast<int>(rest) : rows_at_once;
      const int count = rows_here * columns_;
      copy_tile(source_ + begin * columns_, tile, count, thread);
      member.team_barrier();

      const int own_count = own_row < rows_here ? columns_ : 0;
      softmax_share<T, packs, false> share;
      share.load_from(tile + own_row * columns_, own_count, 1, lane, group_);
      const C shift = softmax_shift(join_neighbours(group_, share.largest(), join_maxima{}));
      const C own = share.template sum_exponentials<Formula::keeps_exponentials>(shift);
      const C total = join_neighbours(group_, own, join_sums{});
      share.template finish_kept<Formula>(shift, Formula::row_factor(total));
      share.store_to(tile + own_row * columns_, own_count, 1, lane, group_);
      member.team_barrier();

      copy_tile(tile, target_ + begin * columns_, count, thread);
      member.team_barrier();
    }
  }

 private:
  /// A tile holds most_elements a thread at most: this many packs, all of which are loaded before the first is stored.
  KOKKOS_FORCEINLINE_FUNCTION static void copy_tile(const T* from, T* to, int count, int thread) {
    const int pack_count = count / pack_elements;
    const auto* const from_packs = reinterpret_cast<const pack*>(from);
    auto* const to_packs = reinterpret_cast<pack*>(to);
    pack held[packs];
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      const int place = i * most_threads + thread;
      if (place < pack_count) held[i] = from_packs[place];
    }
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      const int place = i * most_threads + thread;
      if (place < pack_count) to_packs[place] = held[i];
    }
    // Only the last tile of all ends within a pack.
    const int at = pack_count * pack_elements + thread;
    if (at < count) to[at] = from[at];
  }

  const T* source_;
  T* target_;
  std::int64_t rows_;
  int columns_;
  int group_;
};

}  // namespace prumo::detail
