// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Counters by which the last team of a device's kernel finishes what all teams have begun, so that one launch is
/// enough. They are used if a team has more values than published_values.hpp has words for.

#include <prumo/detail/teams/zeroed_words.hpp>

namespace prumo::detail {

/// The number of counters of a context. It limits how many rows, or tiles of rows, are shared out among teams.
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

/// Whether this team is the last of `teams` that arrive at a counter; the same for all its threads. The threads of the
/// last team then see everything that the first threads of all teams wrote before they arrived.
///
/// The first thread's increment releases its own writes to the device, and acquires what earlier increments released:
/// acquire and release are cumulative, and the increments of one counter are one sequence. The barrier after it passes
/// this on to the team. The last team sets the counter back to 0 for the next kernel, which runs after this one. If
/// other threads have written as well, the team must meet at a barrier before. Between two arrivals of a team there
/// must be a barrier in any case.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION bool arrive_last(const Member& member, int* flag, unsigned* counter, std::int64_t teams) {
  if (member.team_rank() == 0) {
    const unsigned before =
        desul::atomic_fetch_add(counter, 1u, desul::MemoryOrderAcqRel(), desul::MemoryScopeDevice());
    const bool last = static_cast<std::int64_t>(before) + 1 == teams;
    // A plain store will do, because no other team of this kernel reads the counter any more. desul's atomic store is a
    // loop of comparing and swapping.
    if (last) *counter = 0;
    *flag = last ? 1 : 0;
  }
  member.team_barrier();
  return *flag != 0;
}

}  // namespace prumo::detail
