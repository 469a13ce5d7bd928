// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a launch, as each of its teams takes them. One function serves all ways, so that the layers are
/// compiled once for a type: one image a step by one team, with the next image under way meanwhile; groups of images by
/// several teams that meet twice a step; and each half of a step alone.

#include "step_loop_parts.hpp"
#include "step_update.hpp"
#include "training_step.hpp"

namespace prumo::nets {

/// Teams that are alone, or do not need each other.
struct no_meeting {
  PRUMO_STEP_FUNCTION void operator()() const {}
};

/// Bytes of the next image that a thread holds in registers; larger images are loaded when they are needed.
inline constexpr int held_pixels = 8;

/// The next image of a team that takes one image a step. It is loaded while the team computes.
template <class Team, class C>
class image_ahead {
 public:
  PRUMO_STEP_FUNCTION image_ahead(const step_body<Team, C>& body)
      : body_(body), holds_(body.table().pixels <= held_pixels * body.team().size()) {
    if (body.data().steps > 1) next_ = body.data().order[1];
  }

  /// Begins to load the image of the step after `step`.
  PRUMO_STEP_FUNCTION void load(std::int64_t step) {
    const step_data<C>& data = body_.data();
    has_next_ = step + 1 < data.steps;
    if (!has_next_) return;
    from_ = data.pixels + std::int64_t{next_} * body_.table().pixels;
    label_ = data.labels[next_];
    if (step + 2 < data.steps) next_ = data.order[step + 2];
    if (!holds_) return;
    PRUMO_UNROLL
    for (int i = 0; i < held_pixels; ++i) {
      const int pixel = i * body_.team().size() + body_.team().rank();
      if (pixel < body_.table().pixels) held_[i] = from_[pixel];
    }
  }

  /// Puts it into scratch memory.
  PRUMO_STEP_FUNCTION void put() const {
    if (!has_next_) return;
    const step_layer& first = body_.table().layer[0];
    if (holds_) {
      const int pixels = body_.table().pixels;
      C* const image = body_.scratch().memory;
      PRUMO_UNROLL
      for (int i = 0; i < held_pixels; ++i) {
        const int pixel = i * body_.team().size() + body_.team().rank();
        if (pixel >= pixels) break;
        put_pixel(first, image, item_place(pixel, first.x_items), static_cast<std::uint8_t>(held_[i]));
      }
    } else {
      put_image(body_.team(), first, body_.scratch().memory, from_);
    }
    if (body_.team().rank() == 0) body_.scratch().labels[0] = label_;
  }

 private:
  const step_body<Team, C>& body_;
  bool holds_;
  bool has_next_ = false;
  std::int32_t next_ = 0;
  const std::uint8_t* from_ = nullptr;
  std::uint8_t label_ = 0;
  unsigned held_[held_pixels] = {};  ///< bytes, in registers of their own
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
    body.gather(0, 1);
    if (team.rank() == 0 && !begins_epoch) {
      scratch.sums[0] = data.counters->sums[0];
      scratch.sums[1] = data.counters->sums[1];
    }
  } else if (part == step_part::all && is_first_thread && begins_epoch) {
    data.counters->sums[0] = data.counters->sums[1] = 0;
  }
  image_ahead<Team, C> ahead(body);
  bool has_first_images = false;  // of a step by several teams
  PRUMO_STEP_MARK(-1);
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    const step_rule<C> rule = rule_after(table, data, rate, latest, part == step_part::update ? step : step + 1);
    if (part != step_part::update) {
      if (at_once) {
        ahead.load(step);
      } else {
        body.copy_parameters();
      }
      PRUMO_STEP_MARK(40);
      PRUMO_KEEP_LOOP
      for (int group = league.rank; group < table.groups; group += league.size) {
        const std::int64_t begin = table.group_begin(group, images), end = table.group_begin(group + 1, images);
        if (!at_once) body.begin_group();
        PRUMO_KEEP_LOOP
        for (std::int64_t first = begin; first < end; first += table.images_at_once) {
          const std::int64_t left = end - first;
          const int count = left < table.images_at_once ? static_cast<int>(left) : table.images_at_once;
          if (!at_once && !has_first_images) body.gather(step * table.batch + first, count);
          has_first_images = false;
          team.barrier();
          PRUMO_STEP_MARK(41);
          body.run_images(count, images, data.factors + first * table.factors, at_once ? &rule : nullptr);
        }
        if (!at_once) body.end_group(group);
      }
      if (at_once) {
        change_filters(team, data, scratch, rule);
        ahead.put();
      } else if (part == step_part::all && step + 1 < data.steps && league.rank < table.groups) {
        // The first images of the next step come while teams wait for each other.
        const std::int64_t next_images = data.images_of_step(data.first_step + step + 1, table.batch);
        const std::int64_t begin = table.group_begin(league.rank, next_images);
        const std::int64_t left = table.group_begin(league.rank + 1, next_images) - begin;
        const int count = left < table.images_at_once ? static_cast<int>(left) : table.images_at_once;
        body.gather((step + 1) * table.batch + begin, count);
        has_first_images = count > 0;
      }
    }
    if (at_once) {
      PRUMO_STEP_MARK(43);
      continue;  // the barrier before the layers follows
    }
    if (part == step_part::all) meet();
    PRUMO_STEP_MARK(44);
    if (part != step_part::images) {
      const step_update<Team, C> update(body, rule, images);
      const int tiles = update_tiles(table);
      for (int tile = league.rank; tile < tiles; tile += league.size) update.run(tile);
    }
    PRUMO_STEP_MARK(43);
    if (part == step_part::all) meet();
    PRUMO_STEP_MARK(45);
  }
  PRUMO_STEP_MARK(-2);
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
