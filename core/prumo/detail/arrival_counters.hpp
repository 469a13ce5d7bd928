// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the last team of a device's kernel to arrive finishes what all its teams have begun, so that one launch is
/// enough: where a team finds more values than published_values.hpp has words for.

#include <prumo/detail/zeroed_words.hpp>

namespace prumo::detail {

/// How many counters a context has: the most rows, or tiles of rows, that can be shared out among teams.
inline constexpr std::int64_t arrival_counters_of_a_context = 4096;

struct arrival_counters {
  using word = unsigned;
  static constexpr std::int64_t count = arrival_counters_of_a_context;
  static constexpr const char* label = "prumo::arrival_counters";
};

/// The counters of a context by which teams know that they are the last to arrive; the last team clears them.
template <class Exec>
unsigned* arrival_counters_of(context<Exec>& ctx) {
  return zeroed_words<Exec, arrival_counters>::of(ctx);
}

/// Whether this team is the last of `teams` that arrive at a counter; the same for all its threads. What the first
/// threads of all teams wrote before is visible to the threads of the last one after.
///
/// The first thread's increment releases its writes to the device and acquires what the increments before it released
/// (acquire and release are cumulative, and increments of one counter are one sequence); the barrier after it hands
/// that on to the team. The last team leaves the counter at 0 for the next kernel, which the order of the instance puts
/// after this one. Where other threads have written, too, the team meets at a barrier before; between two arrivals of a
/// team there has to be one in any case.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION bool arrive_last(const Member& member, int* flag, unsigned* counter, std::int64_t teams) {
  if (member.team_rank() == 0) {
    const unsigned before =
        desul::atomic_fetch_add(counter, 1u, desul::MemoryOrderAcqRel(), desul::MemoryScopeDevice());
    const bool last = static_cast<std::int64_t>(before) + 1 == teams;
    // No other team of this kernel looks at it any more. desul's atomic store is a loop of comparing and swapping.
    if (last) *counter = 0;
    *flag = last ? 1 : 0;
  }
  member.team_barrier();
  return *flag != 0;
}

}  // namespace prumo::detail
