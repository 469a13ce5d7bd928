// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of teams that take training steps on devices.

#include "step_loop.hpp"

namespace prumo::nets {

/// The steps of a launch whose teams do not meet.
template <class C, bool AtOnce, step_shape Shape>
struct step_kernel {
  static constexpr int most_threads = step_threads;
  static constexpr int resident_teams = 1;

  step_data<C> data;
  step_part part;
  std::int64_t teams;
  std::size_t bytes;

  std::int64_t blocks() const { return teams; }
  static std::int64_t blocks_per_team() { return 1; }
  int team_threads() const { return step_threads; }
  std::size_t scratch_bytes() const { return bytes; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    using team_type = device_step_team<Member, Shape>;
    constexpr std::size_t alignment = prumo::detail::most_scratch_alignment;
    auto* const memory = static_cast<unsigned char*>(member.team_scratch(0).get_shmem_aligned(bytes, alignment));
    const team_type team(member, step_threads);
    const step_body<team_type, C> body(team, data, step_scratch<C>(memory));
    run_steps<AtOnce>(body, part, {member.league_rank(), member.league_size()}, no_meeting{});
  }
};

}  // namespace prumo::nets
