// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a launch, as each of its teams takes them. One function serves all ways, so that the layers are
/// compiled once for a type: one image a step by one team, with the next image under way meanwhile; groups of images by
/// several teams that meet twice a step; and each half of a step alone.

#include "images_ahead.hpp"
#include "share_steps.hpp"
#include "stage_rounds.hpp"
#include "step_loop_parts.hpp"
#include "step_update.hpp"
#include "training_step.hpp"
#include "window_steps.hpp"

namespace prumo::nets {

/// Teams that are alone, or do not need each other.
struct no_meeting {
  PRUMO_STEP_FUNCTION void operator()() const {}
  PRUMO_STEP_FUNCTION void arrive(bool, int) const {}
  PRUMO_STEP_FUNCTION void wait() const {}
};

/// The rule of the step that is `later` steps after the latest one that the counters know.
template <class C>
PRUMO_STEP_FUNCTION step_rule<C> rule_after(const step_table& table, const step_data<C>& data, double rate,
                                            double latest, std::int64_t later) {
  return step_rule<C>(table.which_optimizer, rate, data.momentum, latest + static_cast<double>(later));
}

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <bool AtOnce, class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void run_images_apart(const step_data<C>& data, int count, std::int64_t images_of_step,
                                                       C* factors, const step_rule<C>& rule,
                                                       images_ahead<Team, C>& ahead) {
  const Team team;
  const step_body<Team, C> body(team, data, step_scratch<C>(Team::memory()));
  body.template run_images<AtOnce>(count, images_of_step, factors, rule, ahead);
}

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void update_apart(const step_data<C>& data, const step_rule<C>& rule,
                                                   std::int64_t images, step_league league) {
  const Team team;
  const step_body<Team, C> body(team, data, step_scratch<C>(Team::memory()));
  step_update<Team, C>(body, rule, images).run(league);
}

/// What follows the images of a step.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C, class Meet>
PRUMO_STEP_FUNCTION void change_weights(const step_body<Team, C>& body, step_part part, step_league league,
                                        const step_rule<C>& rule, std::int64_t images, Meet& meet) {
  if (part == step_part::all) meet();
  if (part != step_part::images) {
    if constexpr (has_parts_apart<Team>) {
      update_apart<Team>(body.data(), rule, images, league);
    } else {
      step_update<Team, C>(body, rule, images).run(league);
    }
  }
  if (part == step_part::all) meet();
}

/// The rule of adam.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FUNCTION PRUMO_STEP_APART step_rule<C> rule_apart(double rate, double momentum, double step) {
  return step_rule<C>(optimizer::adam, rate, momentum, step);
}

/// The steps of a launch, between its begin and its end.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <bool AtOnce, class Team, class C, class Meet>
PRUMO_STEP_FUNCTION void run_step_loop(const step_body<Team, C>& body, step_part part, step_league league, double rate,
                                       double latest, Meet& meet) {
  const Team& team = body.team();
  const step_data<C>& data = body.data();
  const step_table& table = body.table();
  images_ahead<Team, C> ahead(league);
  if (part != step_part::update) ahead.begin(body);
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    const step_rule<C> rule = rule_after(table, data, rate, latest, part == step_part::update ? step : step + 1);
    if (part != step_part::update) {
      if constexpr (!AtOnce) body.copy_parameters();
      PRUMO_KEEP_LOOP
      for (int group = league.rank; group < table.groups; group += league.size) {
        const std::int64_t begin = table.group_begin(group, images), end = table.group_begin(group + 1, images);
        if constexpr (!AtOnce) body.begin_group();
        PRUMO_KEEP_LOOP
        for (std::int64_t first = begin; first < end; first += table.images_at_once) {
          const std::int64_t left = end - first;
          const int count = left < table.images_at_once ? static_cast<int>(left) : table.images_at_once;
          team.barrier();
          C* const factors = data.factors + first * table.factors;
          if constexpr (has_parts_apart<Team>) {
            run_images_apart<AtOnce, Team>(data, count, images, factors, rule, ahead);
          } else {
            body.template run_images<AtOnce>(count, images, factors, rule, ahead);
          }
        }
        if constexpr (!AtOnce) body.end_group(group);
      }
      if constexpr (AtOnce) change_filters(team, data, body.scratch(), rule);
    }
    // Alone, the team goes on to the barrier before the layers.
    if constexpr (!AtOnce) change_weights(body, part, league, rule, images, meet);
  }
}

/// The same where teams take images in stages.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <staged_step_team Team, class C, class Meet>
PRUMO_STEP_FUNCTION void run_stage_loop(const step_body<Team, C>& body, step_part part, step_league league, double rate,
                                        double latest, Meet& meet) {
  const step_data<C>& data = body.data();
  const step_table& table = body.table();
  const image_chunks<Team, C> stages(table, data, league);
  image_chunk now = part == step_part::update ? image_chunk{} : stages.from(0, league.rank);
  int parity = 0;
  if (part != step_part::update) {
    const step_stages<Team, C> first(body, now, now, parity);
    first.begin_numbers(now, parity);
    prumo::detail::wait_for_copy_groups<0>();
    body.team().barrier();
    first.put_first();
  }
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    const step_rule<C> rule = rule_after(table, data, rate, latest, part == step_part::update ? step : step + 1);
    if (part != step_part::update) {
      body.copy_parameters();
      PRUMO_KEEP_LOOP
      for (int group = league.rank; group < table.groups; group += league.size) {
        body.begin_group();
        PRUMO_KEEP_LOOP
        while (now.count > 0 && now.step == step && now.group == group) {
          const image_chunk next = stages.after(now);
          run_stage(body, now, next, parity, images);
          now = next;
          parity ^= 1;
        }
        body.end_group(group);
      }
    }
    change_weights(body, part, league, rule, images, meet);
  }
}

/// The same for nets that take windows.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <bool AtOnce, window_step_team Team, class C, class Meet>
PRUMO_STEP_FUNCTION void run_window_loop(const step_body<Team, C>& body, step_part part, step_league league,
                                         double rate, double latest, Meet& meet) {
  const Team& team = body.team();
  const step_data<C>& data = body.data();
  const step_table& table = body.table();
  if (part == step_part::update) {
    step_update<Team, C>(body, rule_after(table, data, rate, latest, 0),
                         data.images_of_step(data.first_step, table.batch))
        .run_windows(league, meet, false);
    return;
  }
  window_steps<AtOnce, Team, C> steps(body, league);
  team.barrier();
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    // The powers of adam are long, so they have a function of their own.
    const step_rule<C> rule = table.which_optimizer == optimizer::adam
                                  ? rule_apart<C>(rate, data.momentum, latest + static_cast<double>(step + 1))
                                  : step_rule<C>(table.which_optimizer, rate, data.momentum);
    if constexpr (AtOnce) {
      steps.run_single_image(1, rule);
    } else {
      const C scale = table.mean_of_batch ? C(1) / static_cast<C>(images) : C(1);
      if (league.rank < table.groups) steps.copy_parameters();
      team.barrier();
      PRUMO_KEEP_LOOP
      for (int group = league.rank; group < table.groups; group += league.size) {
        const std::int64_t count = table.group_begin(group + 1, images) - table.group_begin(group, images);
        steps.begin_group();
        steps.run_images(static_cast<int>(count), scale, rule);
        steps.end_group(group);
      }
      if (part == step_part::all) {
        step_update<Team, C>(body, rule, images).run_windows(league, meet, true);
      } else {
        team.barrier();
      }
    }
  }
  if constexpr (AtOnce) {
    steps.store_parameters();
    team.barrier();
  }
}

/// The same where the teams of a cluster share the net.
/// \param meet all teams of the cluster wait for each other
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <sharing_step_team Team, class C, class Meet>
PRUMO_STEP_FUNCTION void run_share_loop(const step_body<Team, C>& body, double rate, double latest, Meet& meet) {
  const step_data<C>& data = body.data();
  const step_table& table = body.table();
  share_steps<Team, C> steps(body);
  // No team sends to one that has not begun.
  meet();
  PRUMO_KEEP_LOOP
  for (int step = 0; step < data.steps; ++step) {
    steps.run(step, table.which_optimizer == optimizer::adam
                        ? rule_apart<C>(rate, data.momentum, latest + static_cast<double>(step + 1))
                        : step_rule<C>(table.which_optimizer, rate, data.momentum));
  }
  steps.store_parameters();
  meet();
}

/// What one team does in a launch.
/// \tparam AtOnce whether the team takes whole steps alone, with one image each, so that weights change at once
/// \param meet all teams of the launch wait for each other, and see what the others wrote; it contains a barrier of the
///        team. Teams that take windows call meet.arrive() and meet.wait() instead: each contains one, arrive() where
///        the team does arrive. Only launches of whole steps use it, so other launches need no place to meet.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <bool AtOnce, class Team, class C, class Meet>
PRUMO_STEP_FUNCTION void run_steps(const step_body<Team, C>& body, step_part part, step_league league, Meet&& meet) {
  const Team& team = body.team();
  const step_data<C>& data = body.data();
  const step_scratch<C>& scratch = body.scratch();
  const double rate = data.counters->rate;
  // While teams that do not meet take images, the counters change.
  const double latest = part == step_part::images ? 0 : data.counters->optimizer_step;
  if (part == step_part::update) {
    body.copy_table();
  } else {
    body.begin();
  }
  const bool is_first_thread = league.rank == 0 && team.rank() == 0;
  // The counters of the launches before; the last thing of this one is to change them.
  const bool begins_epoch = part == step_part::all && data.counters->step == data.steps_per_epoch;
  if constexpr (AtOnce) {
    body.copy_parameters();
    body.begin_group();
    if (team.rank() == 0 && !begins_epoch) {
      scratch.sums()[0] = data.counters->sums[0];
      scratch.sums()[1] = data.counters->sums[1];
    }
  } else if (part == step_part::all && is_first_thread && begins_epoch) {
    data.counters->sums[0] = data.counters->sums[1] = 0;
  }
  if constexpr (sharing_step_team<Team>) {
    run_share_loop(body, rate, latest, meet);
  } else if constexpr (window_step_team<Team>) {
    run_window_loop<AtOnce>(body, part, league, rate, latest, meet);
  } else if constexpr (staged_step_team<Team>) {
    run_stage_loop(body, part, league, rate, latest, meet);
  } else {
    run_step_loop<AtOnce>(body, part, league, rate, latest, meet);
  }
  if (!is_first_thread) return;
  training_counters& counters = *data.counters;
  if (part == step_part::images) {
    begin_step(counters, data.steps_per_epoch);
  } else if (part == step_part::update) {
    end_step(counters);
  } else {
    if (begins_epoch) {
      ++counters.epoch;
      counters.step = 0;
    }
    counters.step += data.steps;
    counters.optimizer_step += static_cast<double>(data.steps);
    if constexpr (AtOnce && !sharing_step_team<Team>) {
      counters.sums[0] = scratch.sums()[0];
      counters.sums[1] = scratch.sums()[1];
    }
  }
}

}  // namespace prumo::nets
