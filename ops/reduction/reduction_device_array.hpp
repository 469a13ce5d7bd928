// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for one long stretch of neighbouring elements, the shape that reductions are called with
/// most. While the array is in a cache, what a call takes is what its threads do before their first and after their
/// last load: here that is little.

#include "reduction_device_kernel.hpp"

namespace prumo::detail {

/// *result = the reduction of an array of several segments whose first element is aligned to a pack. A team takes a
/// segment, and that of the last one combines what all find.
template <class Policy>
class array_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;
  using pack = device_pack<stored>;
  static constexpr int pack_elements = device_pack_elements<stored>;

 public:
  using team::most_threads;

  static bool can_reduce(const row_reduction_problem<stored, typename Policy::result>& problem) {
    return problem.rows == 1 && problem.column_stride == 1 && can_load_packs(problem.source, 0);
  }

  /// `segments`: more than one, as row_reduction_device_kernel::segments_of() says. `words`: the context's.
  array_reduction_device_kernel(const Policy& policy,
                                const row_reduction_problem<stored, typename Policy::result>& problem,
                                std::int64_t segments, published_word* words)
      : policy_(policy),
        source_(reinterpret_cast<const pack*>(problem.source)),
        count_(problem.columns),
        segment_packs_(device_segment(problem.columns, sizeof(stored)) / pack_elements),
        segments_(static_cast<int>(segments)),
        words_(words),
        result_(problem.results) {}

  std::int64_t blocks() const { return segments_; }
  static std::int64_t blocks_per_team() { return 1; }
  static std::size_t scratch_bytes() { return team::scratch_bytes_for_joins(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int segment = member.league_rank();
    const bool is_last = segment == segments_ - 1;
    const std::int64_t begin = segment * segment_packs_;
    const std::int64_t packs = is_last ? count_ / pack_elements - begin : segment_packs_;
    const int rest = is_last ? static_cast<int>(count_ % pack_elements) : 0;
    const accumulator own =
        share_of_stretch<Policy, whole_team>(policy_, member.team_rank(), whole_team(), begin * pack_elements, 1)
            .reduce_packs(source_ + begin, packs, rest);
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const combine_on_device<Policy> combine{policy_};
    accumulator total = join_group(member, scratch, most_threads, own, combine);
    if (!is_last) {
      if (member.team_rank() == 0) publish(words_ + segment * words_of_published<accumulator>, total);
      return;
    }
    total = join_published<most_threads>(member, scratch, words_, segments_, policy_.identity(), total, combine);
    if (member.team_rank() == 0) *result_ = policy_.finish(total, count_);
  }

 private:
  Policy policy_;
  const pack* source_;
  std::int64_t count_;
  std::int64_t segment_packs_;
  int segments_;
  published_word* words_;
  typename Policy::result* result_;
};

}  // namespace prumo::detail
