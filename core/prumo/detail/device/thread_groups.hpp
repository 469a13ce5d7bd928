// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Groups of neighbouring threads of a team, each of which takes a work item. Their sizes are powers of two, so that
/// threads come to their first loads after few instructions.

#include <prumo/detail/compiler.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>

namespace prumo::detail {

/// Groups of a size that is known when a kernel is launched.
class any_group {
 public:
  any_group(int threads, int team_threads) : team_threads_(team_threads) {
    while ((1 << shift_) < threads) ++shift_;
  }
  KOKKOS_FORCEINLINE_FUNCTION int threads() const { return 1 << shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int of_team() const { return team_threads_ >> shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int number_of(int thread) const { return thread >> shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int lane_of(int thread) const { return thread & (threads() - 1); }

 private:
  int team_threads_;
  int shift_ = 0;
};

/// Groups of a size that the compiler knows, which spares threads half of their instructions before the first load.
template <int Threads, int TeamThreads>
class group_of {
 public:
  /// A type of its own: what std::integral_constant converts itself with is no function of a device.
  struct size {
    // NOLINTNEXTLINE(google-explicit-constructor)
    KOKKOS_FORCEINLINE_FUNCTION constexpr operator int() const { return Threads; }
  };
  KOKKOS_FORCEINLINE_FUNCTION static size threads() { return {}; }
  KOKKOS_FORCEINLINE_FUNCTION static int of_team() { return TeamThreads / Threads; }
  KOKKOS_FORCEINLINE_FUNCTION static int number_of(int thread) {
    return static_cast<int>(static_cast<unsigned>(thread) / Threads);
  }
  KOKKOS_FORCEINLINE_FUNCTION static int lane_of(int thread) {
    return static_cast<int>(static_cast<unsigned>(thread) % Threads);
  }
};

/// Calls visit(item, lane) for the items that the calling thread's group takes; lane is the thread's number in it.
///
/// All threads of a team go round equally often, so that they can meet at barriers: in the last round some groups are
/// given an `item` that is no less than `items`.
template <class Member, class Group, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void for_items_of_groups(const Member& member, const Group& group, std::int64_t items,
                                                     const Visit& visit) {
  const int number = group.number_of(member.team_rank());
  const int lane = group.lane_of(member.team_rank());
  const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * group.of_team();
  PRUMO_KEEP_LOOP
  for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * group.of_team(); begin < items;
       begin += step) {
    visit(begin + number, lane);
  }
}

}  // namespace prumo::detail
