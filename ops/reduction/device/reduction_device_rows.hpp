// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for rows of which there are enough for all its threads.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"

#include <cstdint>

namespace prumo::detail {

/// results[r] = the reduction of row r, which a group of threads takes.
template <class Policy, class Group>
class row_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;
  using share = share_of_stretch<Policy, decltype(Group().threads())>;
  using pack = device_pack<stored>;
  static constexpr int pack_elements = device_pack_elements<stored>;

 public:
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using team::most_threads;

  row_reduction_device_kernel(const Policy& policy, const problem_type& problem, Group group)
      : policy_(policy),
        problem_(problem),
        group_(group),
        has_packs_(problem.column_stride == 1 && can_load_packs(problem.source, problem.row_stride) &&
                   problem.columns % pack_elements == 0) {}

  std::int64_t blocks() const { return problem_.rows; }
  std::int64_t blocks_per_team() const { return group_.of_team(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const int lane = group_.lane_of(member.team_rank());
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * group_.of_team();
    // All threads of a team go round equally often: they meet at barriers.
    PRUMO_KEEP_LOOP
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * group_.of_team(); begin < problem_.rows;
         begin += step) {
      const std::int64_t row = begin + group_.number_of(member.team_rank());
      const bool is_there = row < problem_.rows;
      const accumulator own = is_there ? share_of(row, lane) : policy_.identity();
      const accumulator total = join_group(member, scratch, group_.threads(), own, combine_on_device<Policy>{policy_});
      if (is_there && lane == 0) {
        problem_.results[row * problem_.result_stride] = policy_.finish(total, problem_.columns);
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of(std::int64_t row, int lane) const {
    const stored* const first = problem_.source + row * problem_.row_stride;
    share own(policy_, lane, group_.threads(), 0, 1);
    if (!has_packs_) return own.reduce(first, problem_.columns, problem_.column_stride);
    return own.reduce_packs(reinterpret_cast<const pack*>(first), problem_.columns / pack_elements, 0);
  }

  Policy policy_;
  problem_type problem_;
  Group group_;
  bool has_packs_;
};

}  // namespace prumo::detail
