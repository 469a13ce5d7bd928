// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of reductions on a device, one launch each: rows, and arrays of any strides. A long row is cut into
/// segments, whose results the team of the last one combines, in the same order every time.

#include "reduction_device_team.hpp"
#include "reduction_nest.hpp"
#include <prumo/reduction.hpp>

namespace prumo::detail {

/// What teams of all these kernels have in common.
template <class Policy>
struct reduction_team {
  using accumulator = typename Policy::accumulator;
  static constexpr int most_threads = reduction_tuning::team_threads;
  static constexpr int resident_teams = reduction_tuning::resident_teams;

  static int team_threads() { return most_threads; }

  static constexpr std::size_t scratch_bytes_for_joins() { return join_scratch<accumulator>::bytes_for(most_threads); }

  /// A group of threads that take a stretch together, as divisions by a power of two: threads come to their first loads
  /// after few instructions.
  struct group {
    int shift = 0;

    static group of(int threads) {
      group result;
      while ((1 << result.shift) < threads) ++result.shift;
      return result;
    }
    KOKKOS_FORCEINLINE_FUNCTION int threads() const { return 1 << shift; }
    KOKKOS_FORCEINLINE_FUNCTION int of_team() const { return most_threads >> shift; }
    KOKKOS_FORCEINLINE_FUNCTION int number_of(int thread) const { return thread >> shift; }
    KOKKOS_FORCEINLINE_FUNCTION int lane_of(int thread) const { return thread & (threads() - 1); }
  };
};

/// results[r] = the reduction of row r. A group of threads takes a row, or a team a segment of it.
template <class Policy>
class row_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;

 public:
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using team::most_threads;

  /// How many segments the rows of a problem have: 1 where there are rows enough.
  static std::int64_t segments_of(const problem_type& problem) {
    const std::int64_t segment = device_segment(problem.rows * problem.columns, sizeof(stored));
    return std::max<std::int64_t>(1, (problem.columns + segment - 1) / segment);
  }

  /// `words`: the context's, where there are several segments.
  row_reduction_device_kernel(const Policy& policy, const problem_type& problem, std::int64_t segments,
                              published_word* words)
      : policy_(policy), problem_(problem), segments_(segments), words_(words) {
    segment_ = segments == 1 ? problem.columns : device_segment(problem.rows * problem.columns, sizeof(stored));
    // A segment is as long as a whole team's loads at least: several segments mean a team for each.
    group_ = team::group::of(segments == 1 ? device_group<stored>(problem.columns) : most_threads);
  }

  std::int64_t blocks() const { return problem_.rows * segments_; }
  std::int64_t blocks_per_team() const { return group_.of_team(); }
  static std::size_t scratch_bytes() { return team::scratch_bytes_for_joins(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const int lane = group_.lane_of(member.team_rank());
    const std::int64_t block_count = problem_.rows * segments_;
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * group_.of_team();
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * group_.of_team(); begin < block_count;
         begin += step) {
      const std::int64_t block = begin + group_.number_of(member.team_rank());
      const bool is_there = block < block_count;
      const std::int64_t row = row_of(block);
      const std::int64_t segment = block - row * segments_;
      const accumulator own = is_there ? share_of(row, segment, lane) : policy_.identity();
      accumulator total = join_group(member, scratch, group_.threads(), own, combine_on_device<Policy>{policy_});
      if (segments_ > 1) {
        constexpr int words = words_of_published<accumulator>;
        if (segment < segments_ - 1) {
          if (lane == 0) publish(words_ + block * words, total);
          continue;
        }
        total = join_published<most_threads>(member, scratch, words_ + row * segments_ * words, segments_,
                                             policy_.identity(), total, combine_on_device<Policy>{policy_});
      }
      if (is_there && lane == 0) {
        problem_.results[row * problem_.result_stride] = policy_.finish(total, problem_.columns);
      }
    }
  }

 private:
  /// Divides only where it must.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row_of(std::int64_t block) const {
    if (segments_ == 1) return block;
    if (problem_.rows == 1) return 0;
    return block / segments_;
  }

  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of(std::int64_t row, std::int64_t segment, int lane) const {
    const std::int64_t begin = segment * segment_;
    const std::int64_t count = problem_.columns - begin < segment_ ? problem_.columns - begin : segment_;
    const stored* const first = problem_.source + row * problem_.row_stride + begin * problem_.column_stride;
    return share_of_stretch<Policy>(policy_, lane, group_.threads(), begin, 1)
        .reduce(first, count, problem_.column_stride);
  }

  Policy policy_;
  problem_type problem_;
  std::int64_t segment_;
  std::int64_t segments_;
  published_word* words_;
  typename team::group group_;
};

/// The reduction of an array of any strides. Its inner loops, in pieces where they are long, are dealt out to groups of
/// threads; a thread combines what it finds in all of its pieces, and the last team what all teams find.
template <class Policy>
class nest_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;

 public:
  using team::most_threads;

  nest_reduction_device_kernel(const Policy& policy, const stored* source, const reduction_nest<Policy>& nest,
                               typename Policy::result* result)
      : policy_(policy), source_(source), nest_(nest), result_(result) {
    const std::int64_t columns = nest.extents[nest.inner()];
    const std::int64_t total = nest.size();
    const std::int64_t segment = device_segment(total, sizeof(stored));
    piece_ = std::clamp<std::int64_t>(columns, 1, segment);
    pieces_ = (columns + piece_ - 1) / piece_;
    items_ = total == 0 ? 0 : total / columns * pieces_;
    group_ = team::group::of(device_group<stored>(piece_));
    const std::int64_t groups = group_.of_team();
    teams_ = std::max<std::int64_t>(1, std::min((items_ + groups - 1) / groups, (total + segment - 1) / segment));
  }

  /// The context's words, where there are several teams.
  void use(published_word* words) { words_ = words; }

  std::int64_t blocks() const { return teams_; }
  static std::int64_t blocks_per_team() { return 1; }
  static std::size_t scratch_bytes() { return team::scratch_bytes_for_joins(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const int groups = group_.of_team();
    const int lane = group_.lane_of(member.team_rank());
    const std::int64_t step = teams_ * groups;
    accumulator total = policy_.identity();
    for (std::int64_t item =
             static_cast<std::int64_t>(member.league_rank()) * groups + group_.number_of(member.team_rank());
         item < items_; item += step) {
      total = policy_.combine(total, share_of(item, lane));
    }
    total = join_group(member, scratch, most_threads, total, combine_on_device<Policy>{policy_});
    if (teams_ > 1) {
      if (member.league_rank() < teams_ - 1) {
        if (member.team_rank() == 0) publish(words_ + member.league_rank() * words_of_published<accumulator>, total);
        return;
      }
      total = join_published<most_threads>(member, scratch, words_, teams_, policy_.identity(), total,
                                           combine_on_device<Policy>{policy_});
    }
    if (member.team_rank() == 0) *result_ = policy_.finish(total, nest_.size());
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of(std::int64_t item, int lane) const {
    const int inner = nest_.inner();
    std::int64_t rest = item / pieces_;
    const std::int64_t begin = (item - rest * pieces_) * piece_;
    const std::int64_t count = nest_.extents[inner] - begin < piece_ ? nest_.extents[inner] - begin : piece_;
    std::int64_t offset = begin * nest_.strides[0][inner];
    std::int64_t position = 0;
    std::int64_t position_step = 1;
    if constexpr (Policy::indexed) {
      position_step = nest_.strides[1][inner];
      position = begin * position_step;
    }
    for (int dimension = inner - 1; dimension >= 0; --dimension) {
      const std::int64_t index = rest % nest_.extents[dimension];
      rest /= nest_.extents[dimension];
      offset += index * nest_.strides[0][dimension];
      if constexpr (Policy::indexed) position += index * nest_.strides[1][dimension];
    }
    return share_of_stretch<Policy>(policy_, lane, group_.threads(), position, position_step)
        .reduce(source_ + offset, count, nest_.strides[0][inner]);
  }

  Policy policy_;
  const stored* source_;
  reduction_nest<Policy> nest_;
  typename Policy::result* result_;
  std::int64_t piece_;
  std::int64_t pieces_;
  std::int64_t items_;
  std::int64_t teams_;
  published_word* words_ = nullptr;
  typename team::group group_;
};

}  // namespace prumo::detail
