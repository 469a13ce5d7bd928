// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the images of a step: gradients from the partial sums and factors of all groups, and new weights. The
/// work lies in tiles that any team can take. The number of slices in which a tile is summed is fixed, so results do
/// not depend on the number of teams and threads.

#include "step_body.hpp"

namespace prumo::nets {

/// The sums of a tile of a dense layer over a slice of the images of a step: [outputs][inputs].
template <class Team, class C>
PRUMO_STEP_FUNCTION void sum_dense_factors(const Team& team, const step_layer& from_table, const C* all, int elements,
                                           std::int64_t images, const update_tile& tile, int slice, int slices,
                                           C* sums) {
  // Each image's factors of a layer begin at a multiple of 4 elements and end with one, so those of outputs that do not
  // exist can be read.
  using pack = prumo::detail::device_pack<C>;
  constexpr int pack_outputs = prumo::detail::device_pack_elements<C>;
  const step_layer it = from_table;
  const int inputs = it.in_size();
  const C* const dy = all + it.dy_factor + tile.first_output;
  for (int i = team.lane(); i < tile_columns; i += Team::lanes) {
    const int input = tile.first_column + i;
    const C* const x = all + it.x_factor + (input < inputs ? input : 0);
    C sum[tile_outputs] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
    for (std::int64_t image = slice; image < images; image += slices) {
      const C value = input < inputs ? x[image * elements] : C(1);
      PRUMO_UNROLL
      for (int k = 0; k < tile_outputs; k += pack_outputs) {
        const pack slopes = *reinterpret_cast<const pack*>(dy + image * elements + k);
        PRUMO_UNROLL
        for (int e = 0; e < pack_outputs; ++e) sum[k + e] = prumo::fma(slopes.values[e], value, sum[k + e]);
      }
    }
    PRUMO_UNROLL
    for (int k = 0; k < tile_outputs; ++k) sums[k * tile_columns + i] = sum[k];
  }
}

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
    const int tiles = scratch_.table->update_tiles;
    int slices = Team::lanes == 1 ? 1 : scratch_.table->update_slices;
    while (slices > team_.stretches()) slices /= 2;
    const int at_once = team_.stretches() / slices;
    const int slot = team_.stretch() / slices, slice = team_.stretch() - slot * slices;
    C* const of_slot = scratch_.sums_of_slices + slot * slices * tile_sums;
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

 private:
  PRUMO_STEP_FUNCTION void sum_slice(const update_tile& tile, int slice, int slices, C* sums) const {
    if (tile.layer == update_tile::filters) {
      sum_filters(tile.first_column, slice, slices, sums);
    } else if (tile.layer >= 0) {
      sum_dense_factors(team_, scratch_.table->layer[tile.layer], data_.factors, scratch_.table->factors, images_, tile,
                        slice, slices, sums);
    } else if (slice == 0) {
      add_losses();
    }
  }

  /// Adds the losses and correct answers of all groups to the counters.
  PRUMO_STEP_FUNCTION void add_losses() const {
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

  /// The sums over a slice of the groups.
  PRUMO_STEP_FUNCTION void sum_filters(int first, int slice, int slices, C* sums) const {
    const int gradients = scratch_.table->gradients, groups = scratch_.table->groups;
    for (int i = team_.lane(); i < tile_columns; i += Team::lanes) {
      C sum = 0;
      if (first + i < gradients) {
        const C* const partials = data_.partials + first + i;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
        for (int group = slice; group < groups; group += slices) {
          sum += partials[static_cast<std::int64_t>(group) * gradients];
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
                       : of_dense(scratch_.table->layer[tile.layer], tile.first_output + k, column);
      if (pending[i].parameter >= 0) pending[i].weight = data_.weights[pending[i].parameter];
    }
  }

  PRUMO_STEP_FUNCTION pending_change<C> of_filter(int which) const {
    if (which >= scratch_.table->gradients) return {};
    const filter_parameter to = data_.filter_parameters[which];
    const step_layer& it = scratch_.table->layer[to.layer];
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
