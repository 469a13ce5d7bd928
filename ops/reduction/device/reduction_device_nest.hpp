// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for arrays of any strides.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

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
    group_ = any_group::of(device_group<stored>(piece_));
    const std::int64_t groups = group_.of_team();
    teams_ = std::max<std::int64_t>(1, std::min((items_ + groups - 1) / groups, (total + segment - 1) / segment));
  }

  /// The context's words, where there are several teams.
  void use(published_word* words) { words_ = words; }

  std::int64_t blocks() const { return teams_; }
  static std::int64_t blocks_per_team() { return 1; }

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
    return share_of_stretch<Policy, int>(policy_, lane, group_.threads(), position, position_step)
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
  any_group group_;
};

}  // namespace prumo::detail
