// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for rows that do not fit into the registers of a team. Where there are many, a
/// team takes a row, and reads what its registers did not keep a second time while the cache may still hold it. Where
/// there are few, teams take segments: a first kernel finds the maximum and the sum of each, and every team of a second
/// one joins those of its row and writes a segment.

#include "softmax_device_share.hpp"

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

/// The statistics of what a thread has read so far (Milakov and Gimelshein, "Online normalizer calculation for
/// softmax", 2018).
template <class C>
struct softmax_running_statistics {
  C maximum = softmax_lowest<C>();
  C total = C(0);

  /// Takes a number into the maximum, and the total to the new one. Returns what to subtract from numbers that are
  /// added.
  KOKKOS_FORCEINLINE_FUNCTION C shift_with(C number) {
    const C new_maximum = Kokkos::fmax(maximum, number);
    const C shift = softmax_shift(new_maximum);
    total = total_under(shift);
    maximum = new_maximum;
    return shift;
  }

  template <class Share>
  KOKKOS_FORCEINLINE_FUNCTION void add(Share& share) {
    const C shift = shift_with(share.largest());
    total = total + share.template sum_exponentials<false>(shift);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(C value) {
    const C shift = shift_with(value);
    total = total + prumo::exp(value - shift);
  }

  /// The total under another maximum, which is not infinite.
  KOKKOS_FORCEINLINE_FUNCTION C total_under(C shift) const { return total * prumo::exp(maximum - shift); }

  /// The statistics of `group` neighbouring threads, at most exchange_threads.
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> join_neighbours(int group) const {
    const C of_group = prumo::detail::join_neighbours(group, maximum, join_maxima{});
    return {of_group, prumo::detail::join_neighbours(group, total_under(softmax_shift(of_group)), join_sums{})};
  }

  /// The statistics of all threads of a team, after one barrier.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> join_team(const Member& member,
                                                              join_scratch<softmax_statistics<C>>& scratch,
                                                              int threads) const {
    const softmax_statistics<C> own = join_neighbours(exchange_threads);
    const int lane = member.team_rank() % exchange_threads, stretches = threads / exchange_threads;
    softmax_statistics<C>* const values = scratch.take();
    if (lane == 0) values[member.team_rank() / exchange_threads] = own;
    member.team_barrier();
    const softmax_statistics<C> other = values[lane % stretches];
    return softmax_running_statistics{other.maximum, other.total}.join_neighbours(stretches);
  }
};

/// A stretch of a row as a team walks it: in tiles of what its registers hold, and the elements before the first pack
/// and after the last one.
template <class T, class Formula, int Packs, bool InPacks, int Threads>
class softmax_stretch {
  using C = compute_t<T>;
  using run = pack_run<T, std::int64_t>;

 public:
  static constexpr std::int64_t tile = std::int64_t{Threads} * Packs * run::pack_elements;

  KOKKOS_FORCEINLINE_FUNCTION softmax_stretch(const softmax_problem<T>& problem, std::int64_t row, std::int64_t begin,
                                              std::int64_t count, int lane)
      : source_(problem.source + row * problem.source_row_stride + begin * problem.source_column_stride),
        target_(problem.target + row * problem.target_row_stride + begin * problem.target_column_stride),
        source_stride_(InPacks ? 1 : problem.source_column_stride),
        target_stride_(InPacks ? 1 : problem.target_column_stride),
        run_(InPacks ? run::of(source_, count) : run::without_ends(count)),
        lane_(lane) {}

  /// Reads the stretch from its beginning to its end. The last tile stays in registers.
  KOKKOS_FORCEINLINE_FUNCTION softmax_running_statistics<C> read() {
    softmax_running_statistics<C> statistics;
    if (run_.has_end_for(lane_)) statistics.add(load(source_[run_.end_of(lane_)]));
    for (std::int64_t begin = 0; begin < run_.whole; begin += tile) {
      load_tile(begin);
      statistics.add(share_);
    }
    return statistics;
  }

  /// Writes the stretch from its end to its beginning, because what was read last is the likeliest to be cached.
  /// `holds_last_tile`: read() was called.
  KOKKOS_FORCEINLINE_FUNCTION void write(C shift, C factor, bool holds_last_tile) {
    if (run_.has_end_for(lane_)) {
      const C x = load(source_[run_.end_of(lane_)]);
      target_[run_.end_of(lane_)] = static_cast<T>(softmax_result<T, Formula>(x, shift, factor));
    }
    for (std::int64_t begin = (run_.whole - 1) / tile * tile; begin >= 0 && run_.whole > 0; begin -= tile) {
      if (!holds_last_tile) load_tile(begin);
      holds_last_tile = false;
      share_.template finish_values<Formula>(shift, factor);
      share_.store_to(target_ + (run_.head + begin) * target_stride_, length_of(begin), target_stride_, lane_, Threads);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int length_of(std::int64_t begin) const {
    return static_cast<int>(run_.whole - begin < tile ? run_.whole - begin : tile);
  }
  KOKKOS_FORCEINLINE_FUNCTION void load_tile(std::int64_t begin) {
    share_.load_from(source_ + (run_.head + begin) * source_stride_, length_of(begin), source_stride_, lane_, Threads);
  }

  const T* source_;
  T* target_;
  std::int64_t source_stride_;
  std::int64_t target_stride_;
  run run_;
  int lane_;
  softmax_share<T, Packs, InPacks> share_;
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
      softmax_stretch<T, Formula, partition::most_packs, InPacks, most_threads> stretch(
          problem_, row, 0, problem_.columns, member.team_rank());
      const auto statistics = stretch.read().join_team(member, scratch, most_threads);
      stretch.write(softmax_shift(statistics.maximum), softmax_row_factor<T, Formula>(statistics.total), true);
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
    auto scratch = team_join_scratch<softmax_statistics<C>>(member, most_threads);
    for (std::int64_t block = member.league_rank(); block < problem_.rows * cut_.segments;
         block += member.league_size()) {
      const softmax_long_segment own = cut_.segment_of(block, problem_.columns);
      softmax_stretch<T, Formula, partition::packs_of_segment, InPacks, most_threads> stretch(
          problem_, own.row, own.begin, own.count, member.team_rank());
      const auto statistics = stretch.read().join_team(member, scratch, most_threads);
      if (member.team_rank() == 0) partial_[block] = statistics;
    }
  }

 private:
  softmax_problem<T> problem_;
  softmax_long_partition cut_;
  softmax_statistics<C>* partial_;
};

/// Writes the segments, the last ones first: they may still be cached.
template <class T, class Formula, bool InPacks>
class softmax_write_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;

 public:
  static constexpr int most_threads = softmax_long_partition::threads;
  static constexpr int resident_teams = 4;

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
      const softmax_statistics<C> of_row = join_row(member, scratch, partial_ + own.row * cut_.segments);
      softmax_stretch<T, Formula, partition::packs_of_segment, InPacks, most_threads> stretch(
          problem_, own.row, own.begin, own.count, member.team_rank());
      stretch.write(softmax_shift(of_row.maximum), softmax_row_factor<T, Formula>(of_row.total), false);
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
