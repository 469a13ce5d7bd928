// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of teams that take training steps on devices.

#include "single_image_steps.hpp"

#include <algorithm>

namespace prumo::nets {

/// The threads of a team.
inline constexpr int step_threads = 512;

template <class C, class Member>
KOKKOS_FORCEINLINE_FUNCTION step_scratch<C> step_scratch_of(const Member& member, const step_data<C>& data,
                                                            std::size_t bytes) {
  constexpr std::size_t alignment = prumo::detail::most_scratch_alignment;
  auto* const memory = static_cast<unsigned char*>(member.team_scratch(0).get_shmem_aligned(bytes, alignment));
  return step_scratch_in<C>(memory, *data.table);
}

/// What the kernels share.
template <class C>
struct step_kernel {
  static constexpr int most_threads = step_threads;
  static constexpr int resident_teams = 1;

  step_data<C> data;
  std::int64_t teams;
  std::size_t bytes;

  std::int64_t blocks() const { return teams; }
  static std::int64_t blocks_per_team() { return 1; }
  int team_threads() const { return step_threads; }
  std::size_t scratch_bytes() const { return bytes; }
};

/// The images of one step, a team for each group.
template <class C>
struct image_groups_kernel : step_kernel<C> {
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const device_step_team<Member> team(member, step_threads);
    const step_body<device_step_team<Member>, C> body(team, this->data, step_scratch_of(member, this->data, this->bytes));
    if (member.league_rank() == 0 && team.rank() == 0) begin_step(*this->data.counters, this->data.steps_per_epoch);
    body.begin();
    body.copy_parameters();
    body.run_group(member.league_rank(), this->data.first_step,
                   this->data.images_of_step(this->data.first_step, body.table().batch));
  }
};

/// The weights after one step, a team for each tile.
template <class C>
struct update_kernel : step_kernel<C> {
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const device_step_team<Member> team(member, step_threads);
    const step_body<device_step_team<Member>, C> body(team, this->data, step_scratch_of(member, this->data, this->bytes));
    body.copy_table();
    const training_counters& counters = *this->data.counters;
    const step_rule<C> rule(body.table().which_optimizer, counters.rate, this->data.momentum, counters.optimizer_step);
    step_update<device_step_team<Member>, C>(body, rule,
                                             this->data.images_of_step(this->data.first_step, body.table().batch))
        .run(member.league_rank());
    if (member.league_rank() == 0 && team.rank() == 0) end_step(*this->data.counters);
  }
};

/// Many steps of one image each, one team.
template <class C>
struct single_image_kernel : step_kernel<C> {
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const device_step_team<Member> team(member, step_threads);
    run_single_image_steps(step_body<device_step_team<Member>, C>(team, this->data,
                                                                  step_scratch_of(member, this->data, this->bytes)));
  }
};

/// Which images the steps of a launch take.
struct step_order_kernel {
  image_choice choice;
  const training_counters* counters;
  std::int64_t steps_per_epoch;
  std::int64_t first_step;
  std::int64_t count;
  std::int32_t* order;

  std::int64_t blocks() const { return count; }
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const std::int64_t epoch = counters->epoch + (counters->step == steps_per_epoch ? 1 : 0);
    order[place] = static_cast<std::int32_t>(choice(epoch, first_step, place));
  }
};

}  // namespace prumo::nets
