// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of a device for reductions over any set of axes, where the dimensions that stay and those that are
/// reduced do not merge into the rows or columns of a matrix.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace prumo::detail {

/// How such a reduction is shared out. It follows from the shape alone, as results do.
struct axes_shares {
  int threads = 1;   ///< that share the elements of a result
  int segments = 1;  ///< of the elements of a result; each is shared by other threads
  int length = 0;    ///< of a segment

  /// Where results lie closer together in x than what is reduced, a thread takes a result's elements, so that
  /// neighbouring threads read neighbours.
  static axes_shares of(std::int64_t results, std::int64_t count, bool results_are_neighbours) {
    constexpr std::int64_t wanted_threads = 1024 * reduction_tuning::team_threads;
    constexpr std::int64_t fewest_elements = 32, most_segments = 128;  // sum_depth() knows these
    axes_shares result;
    result.threads = results_are_neighbours ? 1 : group_threads((count + 7) / 8, reduction_tuning::team_threads);
    const std::int64_t threads = result.threads;
    const std::int64_t wanted = std::min(wanted_threads / (results * threads), count / (threads * fewest_elements));
    const std::int64_t even = std::clamp<std::int64_t>(wanted, 1, most_segments);
    result.length = static_cast<int>(std::max<std::int64_t>(1, (count + even - 1) / even));
    result.segments = static_cast<int>(std::max<std::int64_t>(1, (count + result.length - 1) / result.length));
    return result;
  }
};

/// partial[s * results + r] = what segment s of result r amounts to; the results themselves where there is one segment.
template <class Policy>
class axes_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;
  static constexpr int arrays = Policy::indexed ? 2 : 1;
  /// Both nests have a dimension or more.
  static constexpr int most_dimensions = max_rank - 1;

 public:
  using problem_type = axes_reduction_problem<Policy>;
  using team::most_threads;

  axes_reduction_device_kernel(const Policy& policy, const problem_type& problem, const axes_shares& shares,
                               accumulator* partial)
      : policy_(policy),
        source_(problem.source),
        results_(problem.results),
        partial_(partial),
        kept_(problem.kept),
        reduced_(problem.reduced),
        result_count_(static_cast<int>(problem.kept.size())),
        count_(static_cast<int>(problem.reduced.size())),
        length_(shares.length),
        items_(result_count_ * shares.segments),
        by_results_(result_count_),
        group_(any_group::of(shares.threads)) {}

  std::int64_t blocks() const { return items_; }
  std::int64_t blocks_per_team() const { return group_.of_team(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const int lane = group_.lane_of(member.team_rank());
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * group_.of_team();
    // All threads of a team go round equally often: they meet at barriers.
    PRUMO_KEEP_LOOP
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * group_.of_team(); begin < items_;
         begin += step) {
      const std::int64_t item = begin + group_.number_of(member.team_rank());
      const bool is_there = item < items_;
      const int segment = is_there ? by_results_.quotient(static_cast<int>(item)) : 0;
      const int which = is_there ? static_cast<int>(item) - segment * result_count_ : 0;
      std::int64_t place[2];
      kept_.find(which, place);
      const accumulator own = is_there ? share_of(source_ + place[0], segment, lane) : policy_.identity();
      const accumulator total = join_group(member, scratch, group_.threads(), own, combine_on_device<Policy>{policy_});
      if (!is_there || lane != 0) continue;
      if (partial_ != nullptr) {
        partial_[item] = total;
      } else {
        results_[place[1]] = policy_.finish(total, count_);
      }
    }
  }

 private:
  /// Elements that a thread joins before they are combined with the others, which keeps the depth low.
  static constexpr int elements_at_once = 256;
  static constexpr int loads = 4;

  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of(const stored* source, int segment, int lane) const {
    const int threads = group_.threads();
    const int first = segment * length_;
    const int end = count_ - first < length_ ? count_ : first + length_;
    accumulator total = policy_.identity();
    int at = first + lane;
    while (at < end) {
      const int stop = (end - at) / threads < elements_at_once ? end : at + elements_at_once * threads;
      accumulator found = policy_.identity();
      PRUMO_KEEP_LOOP
      for (; stop - at > (loads - 1) * threads; at += loads * threads) {
        stored loaded[loads];
        std::int64_t offsets[loads][arrays];
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load) {
          reduced_.find(at + load * threads, offsets[load]);
          loaded[load] = source[offsets[load][0]];
        }
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load) {
          found = join_at(policy_, found, policy_.lift(loaded[load]), offsets[load][arrays - 1]);
        }
      }
      PRUMO_KEEP_LOOP
      for (; at < stop; at += threads) {
        std::int64_t offsets[arrays];
        reduced_.find(at, offsets);
        found = join_at(policy_, found, policy_.lift(source[offsets[0]]), offsets[arrays - 1]);
      }
      total = policy_.combine(total, found);
    }
    return total;
  }

  Policy policy_;
  const stored* source_;
  typename Policy::result* results_;
  accumulator* partial_;
  device_nest<2, most_dimensions> kept_;
  device_nest<arrays, most_dimensions> reduced_;
  int result_count_;
  int count_;
  int length_;
  int items_;
  index_divider by_results_;
  any_group group_;
};

/// The results from partial[s * results + r], over all segments s.
template <class Policy>
struct axes_partial_device_kernel {
  Policy policy;
  axes_reduction_problem<Policy> problem;
  const typename Policy::accumulator* partial;
  std::int64_t results;
  int segments;

  std::int64_t blocks() const { return results; }

  KOKKOS_FUNCTION void operator()(std::int64_t which) const {
    typename Policy::accumulator found = policy.identity();
    for (int segment = 0; segment < segments; ++segment) {
      found = policy.combine(found, partial[segment * results + which]);
    }
    problem.results[problem.place_of(which).result] = policy.finish(found, problem.reduced.size());
  }
};

}  // namespace prumo::detail
