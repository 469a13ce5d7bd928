// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the images of a step: gradients from the partial sums and factors of all groups, and new weights. The
/// work lies in tiles that any team can take. A tile sums in slices whose number is fixed, so results do not depend on
/// the number of teams and threads.

#include "step_body.hpp"
#include "update_tiles.hpp"

namespace prumo::nets {

/// The slices of a sum: a thread alone takes all of it in order.
template <class Team, int Slices>
inline constexpr int slices_of = Team::lanes == 1 ? 1 : Slices;

/// Changes one parameter of a filter; `which` is its place among the gradients of filters.
template <class C>
PRUMO_STEP_FUNCTION void change_filter(const step_table& table, const step_data<C>& data, const step_rule<C>& rule,
                                       int which, C gradient) {
  const filter_parameter to = data.filter_parameters[which];
  const step_layer& it = table.layer[to.layer];
  gradient *= static_cast<C>(to.is_bias ? it.bias_scale : it.weight_scale);
  C& weight = data.weights[to.parameter];
  weight = rule(weight, gradient, data.first_moments, data.second_moments, to.parameter);
}

/// The partial sums of a tile of a dense layer, over the images of a step: [slices][outputs][inputs].
template <class Tiles, class Team, class C>
PRUMO_STEP_FUNCTION void sum_dense_factors(const Team& team, const step_layer& from_table, const C* all, int elements,
                                           std::int64_t images, int first_output, int first_input, C* sums) {
  const step_layer it = from_table;
  const int inputs = it.in_size();
  constexpr int slices = slices_of<Team, Tiles::slices>;
  constexpr int at_once = Tiles::outputs < 4 ? Tiles::outputs : 4, parts = Tiles::outputs / at_once;
  for (int task = team.stretch(); task < slices * parts; task += team.stretches()) {
    const int slice = task / parts, begin = task % parts * at_once;
    for (int i = team.lane(); i < tile_columns; i += Team::lanes) {
      const int input = first_input + i;
      const C* const x = all + it.x_factor + (input < inputs ? input : 0);
      const C* const dy = all + it.dy_factor;
      int output[at_once];
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        output[k] = first_output + begin + k < it.out_channels ? first_output + begin + k : first_output;
      }
      C sum[at_once] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (std::int64_t image = slice; image < images; image += slices) {
        const C value = input < inputs ? x[image * elements] : C(1);
        PRUMO_UNROLL
        for (int k = 0; k < at_once; ++k) sum[k] = prumo::fma(dy[image * elements + output[k]], value, sum[k]);
      }
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) sums[(slice * Tiles::outputs + begin + k) * tile_columns + i] = sum[k];
    }
  }
}

template <class Team, class C>
class step_update {
 public:
  PRUMO_STEP_FUNCTION step_update(const step_body<Team, C>& body, const step_rule<C>& rule, std::int64_t images)
      : team_(body.team()), data_(body.data()), scratch_(body.scratch()), rule_(rule), images_(images) {}

  /// Ends with a barrier, except for the first tile.
  PRUMO_STEP_FUNCTION void run(int tile) const {
    const step_table& table = *scratch_.table;
    if (tile == 0) {
      add_losses();
      return;
    }
    --tile;
    const int filters = (table.gradients + tile_filters - 1) / tile_filters;
    if (tile < filters) {
      run_filters(tile * tile_filters);
      return;
    }
    tile -= filters;
    for (int which = 0; which < table.layers; ++which) {
      const step_layer& it = table.layer[which];
      if (it.kind != step_kind::dense) continue;
      const dense_tiles tiles(it);
      if (tile < tiles.count()) {
        const int row = tile / tiles.across, first_input = (tile - row * tiles.across) * tile_columns;
        if (tiles.is_narrow) {
          run_dense<narrow_tiles>(it, row * narrow_tiles::outputs, first_input);
        } else {
          run_dense<wide_tiles>(it, row * wide_tiles::outputs, first_input);
        }
        return;
      }
      tile -= tiles.count();
    }
  }

 private:
  /// Adds the losses and correct answers of all groups to the counters.
  PRUMO_STEP_FUNCTION void add_losses() const {
    if (team_.stretch() != 0) return;
    double sums[2] = {0, 0};
    for (int group = team_.lane(); group < scratch_.table->groups; group += Team::lanes) {
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

  /// The sum over the slices of a tile with `sums` sums.
  template <int Slices>
  PRUMO_STEP_FUNCTION C total_of(int which, int sums) const {
    C total = scratch_.sums_of_slices[which];
    PRUMO_UNROLL
    for (int slice = 1; slice < slices_of<Team, Slices>; ++slice)
      total += scratch_.sums_of_slices[slice * sums + which];
    return total;
  }

  PRUMO_STEP_FUNCTION void run_filters(int first) const {
    const step_table& table = *scratch_.table;
    const int gradients = table.gradients, groups = table.groups;
    constexpr int lanes = Team::lanes < tile_filters ? Team::lanes : tile_filters;
    constexpr int blocks = tile_filters / lanes;
    for (int task = team_.stretch(); task < slices_of<Team, filter_slices> * blocks; task += team_.stretches()) {
      const int slice = task / blocks, i = task % blocks * lanes + team_.lane();
      C sum = 0;
      if (first + i < gradients) {
        const C* const partials = data_.partials + first + i;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
        for (int group = slice; group < groups; group += slices_of<Team, filter_slices>) {
          sum += partials[static_cast<std::int64_t>(group) * gradients];
        }
      }
      scratch_.sums_of_slices[slice * tile_filters + i] = sum;
    }
    team_.barrier();
    for (int i = team_.rank(); i < tile_filters; i += team_.size()) {
      if (first + i >= gradients) continue;
      change_filter(table, data_, rule_, first + i, total_of<filter_slices>(i, tile_filters));
    }
    team_.barrier();
  }

  template <class Tiles>
  PRUMO_STEP_FUNCTION void run_dense(const step_layer& it, int first_output, int first_input) const {
    const int inputs = it.in_size();
    constexpr int sums = Tiles::outputs * tile_columns;
    sum_dense_factors<Tiles>(team_, it, data_.factors, scratch_.table->factors, images_, first_output, first_input,
                             scratch_.sums_of_slices);
    team_.barrier();
    for (int i = team_.rank(); i < sums; i += team_.size()) {
      const int output = first_output + i / tile_columns, input = first_input + i % tile_columns;
      if (output >= it.out_channels || input > inputs || (input == inputs && it.bias < 0)) continue;
      const bool is_bias = input == inputs;
      const std::int64_t at =
          is_bias ? std::int64_t{it.bias} + output : it.weights + static_cast<std::int64_t>(output) * inputs + input;
      const C gradient = total_of<Tiles::slices>(i, sums) * static_cast<C>(is_bias ? it.bias_scale : it.weight_scale);
      data_.weights[at] = rule_(data_.weights[at], gradient, data_.first_moments, data_.second_moments, at);
    }
    team_.barrier();
  }

  const Team& team_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  step_rule<C> rule_;
  std::int64_t images_;
};

}  // namespace prumo::nets
