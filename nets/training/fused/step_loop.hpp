// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a launch, as each of its teams takes them. One function serves all ways, so that the layers are
/// compiled once for a type: one image a step by one team, with the next image under way meanwhile; groups of images by
/// several teams that meet twice a step; and each half of a step alone.

#include "images_ahead.hpp"
#include "step_loop_parts.hpp"
#include "step_update.hpp"
#include "training_step.hpp"

namespace prumo::nets {

/// Teams that are alone, or do not need each other.
struct no_meeting {
  PRUMO_STEP_FUNCTION void operator()() const {}
};

/// The rule of the step that is `later` steps after the latest one that the counters know.
template <class C>
PRUMO_STEP_FUNCTION step_rule<C> rule_after(const step_table& table, const step_data<C>& data, double rate,
                                            double latest, std::int64_t later) {
  return step_rule<C>(table.which_optimizer, rate, data.momentum, latest + static_cast<double>(later));
}

/// What one team does in a launch.
/// \param meet all teams of the launch wait for each other, and see what the others wrote; it contains a barrier of the
///        team
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C, class Meet>
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
  const step_table& table = body.table();
  const bool is_first_thread = league.rank == 0 && team.rank() == 0;
  const bool at_once = part == step_part::all && table.batch == 1;
  // The counters of the launches before; the last thing of this one is to change them.
  const bool begins_epoch = part == step_part::all && data.counters->step == data.steps_per_epoch;
  if (at_once) {
    body.copy_parameters();
    body.begin_group();
    if (team.rank() == 0 && !begins_epoch) {
      scratch.sums[0] = data.counters->sums[0];
      scratch.sums[1] = data.counters->sums[1];
    }
  } else if (part == step_part::all && is_first_thread && begins_epoch) {
    data.counters->sums[0] = data.counters->sums[1] = 0;
  }
  images_ahead<Team, C> ahead(body, league);
  if (part != step_part::update) ahead.begin();
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    const step_rule<C> rule = rule_after(table, data, rate, latest, part == step_part::update ? step : step + 1);
    if (part != step_part::update) {
      if (!at_once) body.copy_parameters();
      PRUMO_KEEP_LOOP
      for (int group = league.rank; group < table.groups; group += league.size) {
        const std::int64_t begin = table.group_begin(group, images), end = table.group_begin(group + 1, images);
        if (!at_once) body.begin_group();
        PRUMO_KEEP_LOOP
        for (std::int64_t first = begin; first < end; first += table.images_at_once) {
          const std::int64_t left = end - first;
          const int count = left < table.images_at_once ? static_cast<int>(left) : table.images_at_once;
          team.barrier();
          body.run_images(count, images, data.factors + first * table.factors, at_once ? &rule : nullptr, ahead);
        }
        if (!at_once) body.end_group(group);
      }
      if (at_once) change_filters(team, data, scratch, rule);
    }
    if (at_once) {
      continue;  // the barrier before the layers follows
    }
    if (part == step_part::all) meet();
    if (part != step_part::images) {
      step_update<Team, C>(body, rule, images).run(league);
    }
    if (part == step_part::all) meet();
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
    if (at_once) {
      counters.sums[0] = scratch.sums[0];
      counters.sums[1] = scratch.sums[1];
    }
  }
}

}  // namespace prumo::nets
