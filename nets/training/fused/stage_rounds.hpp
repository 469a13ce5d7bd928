// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The rounds of a stage, one behind the other.

#include "step_stages.hpp"

namespace prumo::nets {

/// The rounds of a stage and what lies between them, each with registers of its own.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void stage_forward_apart(const step_data<C>& data, const image_chunk& now,
                                                          const image_chunk& next, int parity, int first, C* kept,
                                                          C* factors) {
  const Team team;
  const step_body<Team, C> body(team, data, step_scratch<C>(Team::memory()));
  step_stages<Team, C>(body, now, next, parity).run_forward(first, kept, factors);
}
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void stage_dense_apart(const step_data<C>& data, const image_chunk& now,
                                                        const image_chunk& next, int parity,
                                                        std::int64_t images_of_step, C* kept, C* factors) {
  const Team team;
  const step_body<Team, C> body(team, data, step_scratch<C>(Team::memory()));
  step_stages<Team, C>(body, now, next, parity).run_dense(images_of_step, kept, factors);
}
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void stage_backward_apart(const step_data<C>& data, const image_chunk& now,
                                                           const image_chunk& next, int parity, int first,
                                                           const C* kept) {
  const Team team;
  const step_body<Team, C> body(team, data, step_scratch<C>(Team::memory()));
  step_stages<Team, C>(body, now, next, parity).run_backward(first, kept);
}

/// The images of a stage, forward and backward.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
PRUMO_STEP_FUNCTION void run_stage(const step_body<Team, C>& body, const image_chunk& now, const image_chunk& next,
                                   int parity, std::int64_t images_of_step) {
  const step_data<C>& data = body.data();
  const step_table& table = body.table();
  const step_stages<Team, C> stages(body, now, next, parity);
  C* const factors = data.factors + std::int64_t{now.first} * table.factors;
  C* const kept = data.kept + std::int64_t{now.group} * table.images_of_a_stage * table.kept;
  PRUMO_KEEP_LOOP
  for (int first = 0; first < now.count; first += table.images_at_once) {
    if constexpr (remakable_step_team<Team>) {
      stage_forward_apart<Team>(data, now, next, parity, first, kept, factors);
    } else {
      stages.run_forward(first, kept, factors);
    }
  }
  if constexpr (remakable_step_team<Team>) {
    stage_dense_apart<Team>(data, now, next, parity, images_of_step, kept, factors);
  } else {
    stages.run_dense(images_of_step, kept, factors);
  }
  if (!stages.goes_back()) return;
  PRUMO_KEEP_LOOP
  for (int first = 0; first < now.count; first += table.images_at_once) {
    if constexpr (remakable_step_team<Team>) {
      stage_backward_apart<Team>(data, now, next, parity, first, static_cast<const C*>(kept));
    } else {
      stages.run_backward(first, kept);
    }
  }
}

}  // namespace prumo::nets
