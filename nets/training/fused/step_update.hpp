// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the images of a step: gradients from the partial sums and factors of all groups, and new weights. The
/// work lies in tiles that any team can take. The number of slices in which a tile is summed is fixed, so results do
/// not depend on the number of teams and threads.

#include "dense_factors.hpp"
#include "step_body.hpp"

namespace prumo::nets {

/// A parameter that a thread is going to change, and the factor of its gradient.
template <class C>
struct pending_change {
  int parameter = -1;  ///< -1: none
  C weight = 0, scale = 0;
};

template <class Team, class C>
class step_update {
 public:
  PRUMO_STEP_FUNCTION step_update(const step_body<Team, C>& body, const step_rule<C>& rule, std::int64_t images)
      : team_(body.team()), data_(body.data()), scratch_(body.scratch()), rule_(rule), images_(images) {}

  /// All tiles that a team of the league has.
  PRUMO_STEP_FUNCTION void run(step_league league) const {
    if constexpr (has_many_images<Team>) {
      run_wide(league);
    } else {
      run_narrow(league);
    }
  }

 private:
  PRUMO_STEP_FUNCTION void run_narrow(step_league league) const {
    const int tiles = scratch_.table().update_tiles;
    int slices = Team::lanes == 1 ? 1 : scratch_.table().update_slices;
    while (slices > team_.stretches()) slices /= 2;
    const int at_once = team_.stretches() / slices;
    const int slot = team_.stretch() / slices, slice = team_.stretch() - slot * slices;
    C* const of_slot = scratch_.sums_of_slices() + slot * slices * tile_sums;
    for (int first = league.rank * at_once; first < tiles; first += league.size * at_once) {
      const bool has_tile = slot < at_once && first + slot < tiles;
      const update_tile tile = has_tile ? data_.update_tiles[first + slot] : update_tile{update_tile::losses, 0, 0};
      constexpr int columns = (tile_columns + Team::lanes - 1) / Team::lanes;
      pending_change<C> pending[tile_outputs * columns];
      prepare(tile, slice, slices, pending);
      if (has_tile) sum_slice(tile, slice, slices, of_slot + slice * tile_sums);
      team_.barrier();
      PRUMO_UNROLL
      for (int i = 0; i < tile_outputs * columns; ++i) {
        if (pending[i].parameter < 0) continue;
        const int k = slice + i / columns * slices, column = team_.lane() + i % columns * Team::lanes;
        change(pending[i], of_slot + k * tile_columns + column, slices);
      }
      team_.barrier();
    }
  }

  PRUMO_STEP_FUNCTION void run_wide(step_league league) const {
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
      C sum[units][wide_outputs][2];
      if (has_tile && tile.layer >= 0) {
        if constexpr (remakable_step_team<Team>) {
          sum_wide_tile_apart<units, Team>(data_, images_, tile, slice, slices, sum);
        } else {
          sum_wide_tile<units>(team_, scratch_.table().layer[tile.layer], data_.factors, scratch_.table().factors,
                               images_, tile, slice, slices, sum);
        }
      } else if (has_tile) {
        sum_slice(tile, slice, slices, of_slot + slice * tile_sums);
      }
      PRUMO_UNROLL
      for (int part = 0; part < wide_outputs; part += wide_part_outputs) {
        const bool has_part = has_tile && (tile.layer >= 0 || (part == 0 && tile.layer == update_tile::filters));
        if (has_part && tile.layer >= 0) store_part(sum, part, of_slot + slice * tile_sums);
        team_.barrier();
        const int count = !has_part ? 0 : tile.layer >= 0 ? tile_sums : tile_columns;
        for (int i = slice * Team::lanes + team_.lane(); i < count; i += slices * Team::lanes) {
          pending_change<C> it = of_part(tile, part, i);
          if (it.parameter < 0) continue;
          it.weight = data_.weights[it.parameter];
          change(it, of_slot + i, slices);
        }
        team_.barrier();
      }
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

  /// The parameter of a sum that store_part() or sum_slice() has laid there.
  PRUMO_STEP_FUNCTION pending_change<C> of_part(const update_tile& tile, int part, int which) const {
    if (tile.layer < 0) return of_filter(tile.first_column + which);
    const int k = which / wide_columns;
    return of_dense(scratch_.table().layer[tile.layer], tile.first_output + part + k,
                    tile.first_column + which - k * wide_columns);
  }

  PRUMO_STEP_FUNCTION void sum_slice(const update_tile& tile, int slice, int slices, C* sums) const {
    if (tile.layer == update_tile::filters) {
      sum_filters(tile.first_column, slice, slices, sums);
    } else if (tile.layer >= 0) {
      sum_dense_factors(team_, scratch_.table().layer[tile.layer], data_.factors, scratch_.table().factors, images_,
                        tile, slice, slices, sums);
    } else if (slice == 0) {
      add_losses();
    }
  }

  /// Adds the losses and correct answers of all groups to the counters.
  PRUMO_STEP_FUNCTION void add_losses() const {
    double sums[2] = {0, 0};
    for (int group = team_.lane(); group < scratch_.table().groups; group += Team::lanes) {
      sums[0] += data_.sums[2 * group];
      sums[1] += data_.sums[2 * group + 1];
    }
    sums[0] = sum_of_lanes(team_, sums[0]);
    sums[1] = sum_of_lanes(team_, sums[1]);
    if (team_.lane() == 0) {
      data_.counters->sums[0] += sums[0];
      data_.counters->sums[1] += sums[1];
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

  /// Loads the parameters that this thread changes: the slices of a tile share its outputs.
  template <int Count>
  PRUMO_STEP_FUNCTION void prepare(const update_tile& tile, int part, int parts,
                                   pending_change<C> (&pending)[Count]) const {
    constexpr int columns = Count / tile_outputs;
    if (tile.layer == update_tile::losses) return;
    const int outputs = tile.layer == update_tile::filters ? 1 : tile_outputs;
    PRUMO_UNROLL
    for (int i = 0; i < Count; ++i) {
      const int k = part + i / columns * parts, column = tile.first_column + team_.lane() + i % columns * Team::lanes;
      if (k >= outputs) continue;
      pending[i] = tile.layer == update_tile::filters
                       ? of_filter(column)
                       : of_dense(scratch_.table().layer[tile.layer], tile.first_output + k, column);
      if (pending[i].parameter >= 0) pending[i].weight = data_.weights[pending[i].parameter];
    }
  }

  PRUMO_STEP_FUNCTION pending_change<C> of_filter(int which) const {
    if (which >= scratch_.table().gradients) return {};
    const filter_parameter to = data_.filter_parameters[which];
    const step_layer& it = scratch_.table().layer[to.layer];
    return {to.parameter, C(0), static_cast<C>(to.is_bias ? it.bias_scale : it.weight_scale)};
  }

  PRUMO_STEP_FUNCTION static pending_change<C> of_dense(const step_layer& it, int output, int input) {
    const int inputs = it.in_size();
    if (output >= it.out_channels || input > inputs || (input == inputs && it.bias < 0)) return {};
    if (input == inputs) return {it.bias + output, C(0), static_cast<C>(it.bias_scale)};
    return {it.weights + output * inputs + input, C(0), static_cast<C>(it.weight_scale)};
  }

  PRUMO_STEP_FUNCTION void change(const pending_change<C>& it, const C* sums, int slices) const {
    C gradient = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int slice = 0; slice < slices; ++slice) gradient += sums[slice * tile_sums];
    data_.weights[it.parameter] =
        rule_(it.weight, gradient * it.scale, data_.first_moments, data_.second_moments, it.parameter);
  }

  const Team& team_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  step_rule<C> rule_;
  std::int64_t images_;
};

}  // namespace prumo::nets
