// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for rows that do not fit into the registers of a team. Where there are many, a
/// team takes a row, and reads what its registers did not keep a second time while the cache may still hold it. Where
/// there are few, teams take segments: a first kernel finds the maximum and the sum of each, and every team of a second
/// one joins those of its row and writes a segment.

#include "softmax_stretch.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// What a team works on at a time where rows are long.
struct softmax_long_segment {
  std::int64_t row, begin, count;
};

/// How long rows are cut into segments: by their number and length alone.
struct softmax_long_partition {
  static constexpr int threads = 256;
  /// Segments that keep a large device busy. More of them would be shorter, and take longer together: a team spends
  /// some 600 instructions a thread on what does not depend on its segment's length.
  static constexpr std::int64_t wanted_segments = 512;
  /// From this many rows on, a team a row keeps a device as busy, and of shorter rows two thirds of them are enough ...
  static constexpr std::int64_t many_rows = 96;
  /// ... and its second read comes from a cache as long as a row has no more bytes than this: large devices run some
  /// 130 to 300 teams of 1024 threads at a time, on 50 to 256 MB of last-level cache.
  static constexpr std::int64_t cached_row_bytes = std::int64_t{512} << 10;
  /// Of rows up to this size the cache holds those of twice the teams. Then one team computes while another one loads.
  static constexpr std::int64_t shorter_row_bytes = std::int64_t{160} << 10;

  static constexpr bool gives_rows_to_teams(std::int64_t rows, std::int64_t row_bytes) {
    return row_bytes <= cached_row_bytes && rows >= (row_bytes <= shorter_row_bytes ? many_rows * 2 / 3 : many_rows);
  }

  std::int64_t segment = 1;
  std::int64_t segments = 1;

  /// `unit`: elements that a team holds at a time.
  static softmax_long_partition of(std::int64_t rows, std::int64_t columns, std::int64_t unit) {
    // Half a unit takes as many instructions as a whole one.
    const std::int64_t half = unit / 2;
    const std::int64_t even = (rows * columns + wanted_segments - 1) / wanted_segments;
    softmax_long_partition result;
    result.segment = even <= unit / 3 ? half : std::max(unit, (even + half - 1) / half * half);
    result.segments = (columns + result.segment - 1) / result.segment;
    return result;
  }

  /// Segment number `block`, row by row.
  KOKKOS_FORCEINLINE_FUNCTION softmax_long_segment segment_of(std::int64_t block, std::int64_t columns) const {
    const std::int64_t row = block / segments;
    const std::int64_t begin = (block - row * segments) * segment;
    const std::int64_t rest = columns - begin;
    return {row, begin, rest < segment ? rest : segment};
  }
};

/// A team a row.
template <class T, class Formula, bool InPacks, int Threads>
class softmax_long_rows_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;

 public:
  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = partition::most_threads / Threads;

  explicit softmax_long_rows_kernel(const softmax_problem<T>& problem) : problem_(problem) {}

  std::int64_t blocks() const { return problem_.rows; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch<softmax_statistics<C>>::bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto scratch = team_join_scratch<softmax_statistics<C>>(member, most_threads);
    for (std::int64_t row = member.league_rank(); row < problem_.rows; row += member.league_size()) {
      softmax_stretch<T, Formula, partition::most_packs, InPacks> stretch(problem_, row, 0, problem_.columns,
                                                                          member.team_rank(), most_threads);
      const auto statistics = stretch.read().join_team(member, scratch, most_threads);
      stretch.write(statistics);
    }
  }

 private:
  softmax_problem<T> problem_;
};

/// partial[r * segments + s] = the statistics of segment s of row r.
template <class T, class Formula, bool InPacks>
class softmax_statistics_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;

 public:
  static constexpr int most_threads = softmax_long_partition::threads;
  static constexpr int resident_teams = 4;

  softmax_statistics_kernel(const softmax_problem<T>& problem, const softmax_long_partition& cut,
                            softmax_statistics<C>* partial)
      : problem_(problem), cut_(cut), partial_(partial) {}

  std::int64_t blocks() const { return problem_.rows * cut_.segments; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch<softmax_statistics<C>>::bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // The next kernel may begin to load its elements, because this kernel does not write them.
    let_next_kernel_start(member);
    auto scratch = team_join_scratch<softmax_statistics<C>>(member, most_threads);
    for (std::int64_t block = member.league_rank(); block < problem_.rows * cut_.segments;
         block += member.league_size()) {
      const softmax_long_segment own = cut_.segment_of(block, problem_.columns);
      softmax_stretch<T, Formula, partition::packs_of_segment, InPacks> stretch(problem_, own.row, own.begin, own.count,
                                                                                member.team_rank(), most_threads);
      const auto statistics = stretch.read().join_team(member, scratch, most_threads);
      if (member.team_rank() == 0) partial_[block] = statistics;
    }
  }

 private:
  softmax_problem<T> problem_;
  softmax_long_partition cut_;
  softmax_statistics<C>* partial_;
};

/// Writes the segments, the last ones first: they may still be cached. A team begins to read its first segment while
/// the kernel before it, which finds the statistics, still runs.
template <class T, class Formula, bool InPacks>
class softmax_write_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;

 public:
  static constexpr int most_threads = softmax_long_partition::threads;
  static constexpr int resident_teams = 4;
  static constexpr bool waits_itself = true;

  softmax_write_kernel(const softmax_problem<T>& problem, const softmax_long_partition& cut,
                       const softmax_statistics<C>* partial)
      : problem_(problem), cut_(cut), partial_(partial) {}

  std::int64_t blocks() const { return problem_.rows * cut_.segments; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch<softmax_statistics<C>>::bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto scratch = team_join_scratch<softmax_statistics<C>>(member, most_threads);
    const std::int64_t blocks = problem_.rows * cut_.segments;
    for (std::int64_t turn = member.league_rank(); turn < blocks; turn += member.league_size()) {
      const softmax_long_segment own = cut_.segment_of(blocks - 1 - turn, problem_.columns);
      softmax_stretch<T, Formula, partition::packs_of_segment, InPacks> stretch(problem_, own.row, own.begin, own.count,
                                                                                member.team_rank(), most_threads);
      stretch.read_last_tile();
      if (turn == member.league_rank()) wait_for_work_before(member);
      const softmax_statistics<C> of_row = join_row(member, scratch, partial_ + own.row * cut_.segments);
      stretch.write(of_row);
    }
  }

 private:
  /// The statistics of a row from those of its segments: the same order in every team, so the same bits.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> join_row(const Member& member,
                                                             join_scratch<softmax_statistics<C>>& scratch,
                                                             const softmax_statistics<C>* segments) const {
    constexpr int at_once = 4;
    softmax_running_statistics<C> own;
    for (std::int64_t first = member.team_rank(); first < cut_.segments;
         first += std::int64_t{at_once} * most_threads) {
      softmax_statistics<C> loaded[at_once];
      PRUMO_UNROLL
      for (int i = 0; i < at_once; ++i) {
        const std::int64_t which = first + static_cast<std::int64_t>(i) * most_threads;
        loaded[i] = which < cut_.segments ? segments[which] : softmax_statistics<C>{softmax_lowest<C>(), C(0)};
      }
      C maximum = loaded[0].maximum;
      PRUMO_UNROLL
      for (int i = 1; i < at_once; ++i) maximum = Kokkos::fmax(maximum, loaded[i].maximum);
      const C shift = own.shift_with(maximum);
      PRUMO_UNROLL
      for (int i = 0; i < at_once; ++i) own.total = own.total + loaded[i].total * prumo::exp(loaded[i].maximum - shift);
    }
    return own.join_team(member, scratch, most_threads);
  }

  softmax_problem<T> problem_;
  softmax_long_partition cut_;
  const softmax_statistics<C>* partial_;
};

}  // namespace prumo::detail
