// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches kernels whose teams wait for teams of lower rank (published_values.hpp). The ranks must follow the order in
/// which teams start. Otherwise a team could wait for ever for one that has not started, because it holds the place
/// that the other one needs.

#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/zeroed_words.hpp>

#include <cstdint>
#include <string>

namespace prumo::detail {

/// Whether Exec's devices start teams in the order of their league ranks.
///
/// No vendor promises it. On NVIDIA's devices blocks start in the order of blockIdx, and CUB's scans rely on it
/// (cub/agent/agent_scan.cuh: "Blocks are launched in increasing order"), although CUDA's programming guide leaves the
/// order open. prumo relies on it, too, if it launches kernels itself, because a ticket would cost a team an atomic
/// operation and a barrier before its first load. Everywhere else teams take tickets, as those of rocPRIM do
/// (ordered_block_id).
template <class Exec>
inline constexpr bool teams_start_in_order = launches_by_cuda_runtime<Exec>;

struct team_tickets {
  using word = unsigned;
  static constexpr std::int64_t count = 1;
  static constexpr const char* label = "prumo::team_tickets";
};

/// A team whose rank is a ticket, with the functions of a team member that kernels of teams use.
template <class Member>
class ticketed_member {
 public:
  KOKKOS_FORCEINLINE_FUNCTION ticketed_member(const Member& member, int ticket) : member_(member), ticket_(ticket) {}

  KOKKOS_FORCEINLINE_FUNCTION int league_rank() const { return ticket_; }
  KOKKOS_FORCEINLINE_FUNCTION int league_size() const { return member_.league_size(); }
  KOKKOS_FORCEINLINE_FUNCTION int team_rank() const { return member_.team_rank(); }
  KOKKOS_FORCEINLINE_FUNCTION void team_barrier() const { member_.team_barrier(); }
  KOKKOS_FORCEINLINE_FUNCTION const auto& team_scratch(int level) const { return member_.team_scratch(level); }

 private:
  const Member& member_;
  int ticket_;
};

/// A kernel of teams. Each team takes the next number of a counter as its rank, so ranks have the order in which teams
/// start.
template <light_kernel Kernel>
class ticketed_kernel {
 public:
  static constexpr int most_threads = Kernel::most_threads;
  static constexpr int resident_teams = Kernel::resident_teams;

  /// `counter` is 0 when the kernel starts. The team that takes the last ticket sets it to 0 again for the next kernel,
  /// which runs after this one.
  ticketed_kernel(const Kernel& kernel, unsigned* counter) : kernel_(kernel), counter_(counter) {}

  std::int64_t blocks() const { return kernel_.blocks(); }
  std::int64_t blocks_per_team() const { return kernel_.blocks_per_team(); }
  int team_threads() const { return kernel_.team_threads(); }
  std::size_t scratch_bytes() const { return ticket_bytes + kernel_.scratch_bytes(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    int* const ticket = team_scratch_array<int>(member, 1);
    if (member.team_rank() == 0) {
      // Relaxed, because the values that a team waits for carry their own mark.
      const unsigned taken =
          desul::atomic_fetch_add(counter_, 1u, desul::MemoryOrderRelaxed(), desul::MemoryScopeDevice());
      // A plain store will do, because no other team of this kernel reads the counter any more. desul's atomic store is
      // a loop of comparing and swapping.
      if (taken + 1 == static_cast<unsigned>(member.league_size())) *counter_ = 0;
      *ticket = static_cast<int>(taken);
    }
    member.team_barrier();
    kernel_(ticketed_member<Member>(member, *ticket));
  }

 private:
  /// The kernel's own scratch begins after these bytes, and its alignment must not change.
  static constexpr std::size_t ticket_bytes = most_scratch_alignment;

  Kernel kernel_;
  unsigned* counter_;
};

/// Enqueues a kernel of teams that wait for teams of lower rank.
template <class Exec, light_kernel Kernel>
void launch_ordered_teams(context<Exec>& ctx, const std::string& label, const Kernel& kernel) {
  if constexpr (teams_start_in_order<Exec>) {
    launch_teams(ctx.instance(), label, kernel);
  } else {
    launch_teams(ctx.instance(), label, ticketed_kernel<Kernel>(kernel, zeroed_words<Exec, team_tickets>::of(ctx)));
  }
}

}  // namespace prumo::detail
