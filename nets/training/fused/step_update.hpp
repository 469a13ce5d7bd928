// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the images of a step: gradients from the partial sums and factors of all groups, and new weights. The
/// work lies in tiles that any team can take. The number of slices in which a tile is summed is fixed, so results do
/// not depend on the number of teams and threads.

#include "dense_factors.hpp"
#include "losses_of_groups.hpp"
#include "step_body.hpp"

namespace prumo::nets {

/// A parameter that a thread is going to change, and the factor of its gradient.
template <class C>
struct pending_change {
  int parameter = -1;                              ///< -1: none
  C scale = 0, weight = 0, first = 0, second = 0;  ///< weight and moments have been loaded
};

template <class Team, class C>
class step_update {
 public:
  PRUMO_STEP_FUNCTION step_update(const step_body<Team, C>& body, const step_rule<C>& rule, std::int64_t images)
      : team_(body.team()), data_(body.data()), scratch_(body.scratch()), rule_(rule), images_(images) {}

  /// All tiles that a team of the league has.
  PRUMO_STEP_FUNCTION void run(step_league league) const {
    if constexpr (Team::takes_vectors) {
      change_tiles(team_, data_, scratch_, rule_, images_, league);
    } else if constexpr (has_many_images<Team>) {
      run_in_parts(league);
    } else {
      run_tiles<Team::shape == step_shape::many_weights>(league);
    }
  }

  /// The same where all gradients have been summed by groups: of teams that take windows, with the meetings before and
  /// behind. What needs no other team is loaded while teams wait for each other. Teams without a tile wait only once.
  /// \param meets whether the teams meet: those of a launch that only changes weights have nothing to wait for
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class Meet>
  PRUMO_STEP_FUNCTION void run_windows(step_league league, Meet& meet, bool meets) const {
    if (meets) meet.arrive(true, league.size);
    const int tiles = scratch_.table().update_tiles;
    int slices = scratch_.table().update_slices;
    while (slices > team_.stretches()) slices /= 2;
    const int at_once = team_.stretches() / slices;
    const int slot = team_.stretch() / slices, slice = team_.stretch() - slot * slices;
    const int threads = slices * Team::lanes, thread = slice * Team::lanes + team_.lane();
    C* const of_slot = scratch_.sums_of_slices() + slot * slices * tile_columns;
    const int begin = league.rank * at_once;
    PRUMO_KEEP_LOOP
    for (int first = begin; first < tiles; first += league.size * at_once) {
      const bool has_tile = slot < at_once && first + slot < tiles;
      const update_tile tile = has_tile ? data_.update_tiles[first + slot] : update_tile{update_tile::losses, 0, 0};
      const int count = tile.layer == update_tile::filters ? tile_columns : 0;
      pending_change<C> pending[1];
      prepare<false>(tile, thread, threads, count, pending);
      if (first == begin && meets) {
        meet.wait();
      } else {
        team_.barrier();
      }
      if (count > 0) {
        sum_filters(tile.first_column, slice, slices, of_slot + slice * tile_columns);
      } else if (has_tile && slice == 0) {
        add_losses_of_groups(team_, data_, scratch_.table().groups);
      }
      team_.barrier();
      PRUMO_KEEP_LOOP
      for (int which = thread; which < count; which += threads) {
        // Teams of fewer threads have more to change.
        if (which > thread) prepare<false>(tile, which, threads, count, pending);
        if (pending[0].parameter >= 0) change(pending[0], of_slot + which, slices, tile_columns);
      }
    }
    if (!meets) return;
    const int teams = (tiles + at_once - 1) / at_once;
    meet.arrive(begin < tiles, teams < league.size ? teams : league.size);
    meet.wait();
  }

 private:
  /// Sums of all slices of a tile lie in scratch memory at once. The weights that a thread is going to change, and
  /// their moments, come while it sums.
  template <bool Wide>
  PRUMO_STEP_FUNCTION void run_tiles(step_league league) const {
    constexpr int sums = Wide ? wide_sums : tile_sums;
    constexpr int most_pending = tile_outputs * ((tile_columns + Team::lanes - 1) / Team::lanes);
    const int tiles = scratch_.table().update_tiles;
    int slices = Team::lanes == 1 ? 1 : scratch_.table().update_slices;
    while (slices > team_.stretches()) slices /= 2;
    const int at_once = team_.stretches() / slices;
    const int slot = team_.stretch() / slices, slice = team_.stretch() - slot * slices;
    const int threads = slices * Team::lanes, thread = slice * Team::lanes + team_.lane();
    C* const of_slot = scratch_.sums_of_slices() + slot * slices * sums;
    for (int first = league.rank * at_once; first < tiles; first += league.size * at_once) {
      const bool has_tile = slot < at_once && first + slot < tiles;
      const update_tile tile = has_tile ? data_.update_tiles[first + slot] : update_tile{update_tile::losses, 0, 0};
      const int count = tile.layer >= 0 ? sums : tile.layer == update_tile::filters ? tile_columns : 0;
      pending_change<C> pending[most_pending];
      prepare<Wide>(tile, thread, threads, count, pending);
      if (has_tile) put_slice<Wide>(tile, slice, slices, of_slot + slice * sums);
      team_.barrier();
      PRUMO_KEEP_LOOP
      for (int begin = thread; begin < count; begin += most_pending * threads) {
        // Teams of fewer threads have more to change.
        if (begin > thread) prepare<Wide>(tile, begin, threads, count, pending);
        PRUMO_UNROLL
        for (int i = 0; i < most_pending; ++i) {
          if (pending[i].parameter >= 0) change(pending[i], of_slot + begin + i * threads, slices, sums);
        }
      }
      team_.barrier();
    }
  }

  /// Sums of a slice of a tile, in scratch memory: [outputs][columns].
  template <bool Wide>
  PRUMO_STEP_FUNCTION void put_slice(const update_tile& tile, int slice, int slices, C* to) const {
    if constexpr (Wide) {
      if (tile.layer >= 0) {
        constexpr int units = tile_columns / Team::lanes;
        C sum[units][wide_outputs][2];
        sum_wide(tile, slice, slices, sum);
        PRUMO_UNROLL
        for (int part = 0; part < wide_outputs; part += wide_part_outputs) {
          store_part(sum, part, to + part * wide_columns);
        }
        return;
      }
    }
    sum_slice(tile, slice, slices, to);
  }

  template <int Units>
  PRUMO_STEP_FUNCTION void sum_wide(const update_tile& tile, int slice, int slices,
                                    C (&sum)[Units][wide_outputs][2]) const {
    if constexpr (remakable_step_team<Team>) {
      sum_wide_tile_apart<Units, Team>(data_, images_, tile, slice, slices, sum);
    } else {
      sum_wide_tile<Units>(team_, scratch_.table().layer[tile.layer], data_.factors, scratch_.table().factors, images_,
                           tile, slice, slices, sum);
    }
  }

  /// Wide tiles, whose sums lie in scratch memory in parts, one after the other.
  PRUMO_STEP_FUNCTION void run_in_parts(step_league league) const {
    const int tiles = scratch_.table().update_tiles;
    int slices = scratch_.table().update_slices;
    while (slices > team_.stretches()) slices /= 2;
    const int at_once = team_.stretches() / slices;
    const int slot = team_.stretch() / slices, slice = team_.stretch() - slot * slices;
    C* const of_slot = scratch_.sums_of_slices() + slot * slices * tile_sums;
    PRUMO_KEEP_LOOP
    for (int first = league.rank * at_once; first < tiles; first += league.size * at_once) {
      const bool has_tile = slot < at_once && first + slot < tiles;
      const update_tile tile = has_tile ? data_.update_tiles[first + slot] : update_tile{update_tile::losses, 0, 0};
      constexpr int units = tile_columns / Team::lanes;
      const bool is_dense = has_tile && tile.layer >= 0;
      C sum[units][wide_outputs][2];
      if (is_dense) {
        sum_wide(tile, slice, slices, sum);
      } else {
        set_zero(sum);
        if (has_tile) sum_slice(tile, slice, slices, of_slot + slice * tile_sums);
      }
      PRUMO_UNROLL
      for (int part = 0; part < wide_outputs; part += wide_part_outputs) {
        const bool is_of_filters = has_tile && part == 0 && tile.layer == update_tile::filters;
        if (is_dense) store_part(sum, part, of_slot + slice * tile_sums);
        team_.barrier();
        const int count = is_dense ? tile_sums : is_of_filters ? tile_columns : 0;
        for (int i = slice * Team::lanes + team_.lane(); i < count; i += slices * Team::lanes) {
          pending_change<C> it = of_sum<true>(tile, part * wide_columns + i);
          if (it.parameter < 0) continue;
          load(it);
          change(it, of_slot + i, slices, tile_sums);
        }
        team_.barrier();
      }
    }
  }

  /// The sums of a wide tile where there is none.
  template <int Units>
  PRUMO_STEP_FUNCTION static void set_zero(C (&sum)[Units][wide_outputs][2]) {
    PRUMO_UNROLL
    for (int unit = 0; unit < Units; ++unit) {
      PRUMO_UNROLL
      for (int k = 0; k < wide_outputs; ++k) sum[unit][k][0] = sum[unit][k][1] = 0;
    }
  }

  /// Lays the sums of some outputs of a wide tile into scratch memory: [outputs][inputs].
  template <int Units>
  PRUMO_STEP_FUNCTION void store_part(const C (&sum)[Units][wide_outputs][2], int part, C* to) const {
    PRUMO_UNROLL
    for (int unit = 0; unit < Units; ++unit) {
      PRUMO_UNROLL
      for (int k = 0; k < wide_part_outputs; ++k) {
        C* const pair = to + k * wide_columns + 2 * (unit * Team::lanes + team_.lane());
        pair[0] = sum[unit][part + k][0];
        pair[1] = sum[unit][part + k][1];
      }
    }
  }

  /// The parameter of a sum of a tile.
  template <bool Wide>
  PRUMO_STEP_FUNCTION pending_change<C> of_sum(const update_tile& tile, int which) const {
    constexpr int columns = Wide ? wide_columns : tile_columns;
    if (tile.layer < 0) return of_filter(tile.first_column + which);
    const int output = which / columns;
    return of_dense(scratch_.table().layer[tile.layer], tile.first_output + output,
                    tile.first_column + which - output * columns);
  }

  PRUMO_STEP_FUNCTION void sum_slice(const update_tile& tile, int slice, int slices, C* sums) const {
    if (tile.layer == update_tile::filters) {
      sum_filters(tile.first_column, slice, slices, sums);
    } else if (tile.layer >= 0) {
      sum_dense_factors(team_, scratch_.table().layer[tile.layer], data_.factors, scratch_.table().factors, images_,
                        tile, slice, slices, sums);
    } else if (slice == 0) {
      add_losses_of_groups(team_, data_, scratch_.table().groups);
    }
  }

  /// The sums over a slice of the groups.
  PRUMO_STEP_FUNCTION void sum_filters(int first, int slice, int slices, C* sums) const {
    const int gradients = scratch_.table().gradients, groups = scratch_.table().groups;
    for (int i = team_.lane(); i < tile_columns; i += Team::lanes) {
      C sum = 0;
      if (first + i < gradients) {
        const C* const partials = data_.partials + first + i;
        constexpr int groups_together = Team::lanes == 1 ? 1 : 8;
        PRUMO_KEEP_LOOP
        for (int begin = slice; begin < groups; begin += groups_together * slices) {
          C values[groups_together];
          PRUMO_UNROLL
          for (int k = 0; k < groups_together; ++k) {
            const int group = begin + k * slices;
            values[k] = group < groups ? partials[static_cast<std::int64_t>(group) * gradients] : C(0);
          }
          PRUMO_UNROLL
          for (int k = 0; k < groups_together; ++k) sum += values[k];
        }
      }
      sums[i] = sum;
    }
  }

  /// Loads the parameters that this thread changes, of every `threads`th sum from `begin` on.
  template <bool Wide, int Count>
  PRUMO_STEP_FUNCTION void prepare(const update_tile& tile, int begin, int threads, int count,
                                   pending_change<C> (&pending)[Count]) const {
    PRUMO_UNROLL
    for (int i = 0; i < Count; ++i) {
      const int which = begin + i * threads;
      pending[i] = which < count ? of_sum<Wide>(tile, which) : pending_change<C>{};
      if (pending[i].parameter >= 0) load(pending[i]);
    }
  }

  PRUMO_STEP_FUNCTION void load(pending_change<C>& it) const {
    it.weight = data_.weights[it.parameter];
    if (rule_.which != optimizer::sgd) it.first = data_.first_moments[it.parameter];
    if (rule_.which == optimizer::adam) it.second = data_.second_moments[it.parameter];
  }

  PRUMO_STEP_FUNCTION pending_change<C> of_filter(int which) const {
    if (which >= scratch_.table().gradients) return {};
    const filter_parameter to = data_.filter_parameters[which];
    const step_layer& it = scratch_.table().layer[to.layer];
    return {to.parameter, static_cast<C>(to.is_bias ? it.bias_scale : it.weight_scale)};
  }

  PRUMO_STEP_FUNCTION static pending_change<C> of_dense(const step_layer& it, int output, int input) {
    const int inputs = it.in_size();
    if (output >= it.out_channels || input > inputs || (input == inputs && it.bias < 0)) return {};
    if (input == inputs) return {it.bias + output, static_cast<C>(it.bias_scale)};
    return {it.weights + output * inputs + input, static_cast<C>(it.weight_scale)};
  }

  /// \param apart from the sum of a slice to that of the next one
  PRUMO_STEP_FUNCTION void change(const pending_change<C>& it, const C* sums, int slices, int apart) const {
    C gradient = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int slice = 0; slice < slices; ++slice) {
      const int place = slice * apart;
      gradient += sums[place];
    }
    gradient *= it.scale;
    data_.weights[it.parameter] = rule_.with_moments(it.weight, gradient, it.first, it.second, data_.first_moments,
                                                     data_.second_moments, it.parameter);
  }

  const Team& team_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  step_rule<C> rule_;
  std::int64_t images_;
};

}  // namespace prumo::nets
