// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of dense layers: sums of products of the factors that the images of a step have left in memory.

#include "layers/step_team.hpp"
#include "plan/step_scratch.hpp"
#include "plan/update_tiles.hpp"

namespace prumo::nets {

/// The sums of a tile of a dense layer over a slice of the images of a step: [outputs][inputs].
template <class Team, class C>
PRUMO_STEP_FUNCTION void sum_dense_factors(const Team& team, const step_layer& from_table, const C* all, int elements,
                                           std::int64_t images, const update_tile& tile, int slice, int slices,
                                           C* sums) {
  // Each image's factors of a layer begin at a multiple of 4 elements and end with one, so those of outputs that do not
  // exist can be read.
  using pack = prumo::detail::device_pack<C>;
  constexpr int pack_outputs = prumo::detail::device_pack_elements<C>, packs = tile_outputs / pack_outputs;
  constexpr int images_together = Team::lanes == 1 ? 1 : 8;
  const step_layer it = from_table;
  const int inputs = it.in_size();
  const C* const dy = all + it.dy_factor + tile.first_output;
  for (int i = team.lane(); i < tile_columns; i += Team::lanes) {
    const int input = tile.first_column + i;
    const C* const x = all + it.x_factor + (input < inputs ? input : 0);
    C sum[tile_outputs] = {};
    const int apart = images_together * slices;
    PRUMO_KEEP_LOOP
    for (std::int64_t begin = slice; begin < images; begin += apart) {
      // What is loaded together comes first. Images behind the last one are that one again, with inputs that are zero.
      C values[images_together];
      pack slopes[images_together][packs];
      PRUMO_UNROLL
      for (int k = 0; k < images_together; ++k) {
        const int behind = k * slices;
        const std::int64_t image = begin + behind;
        const C* const from = dy + (image < images ? image : begin) * elements;
        values[k] = x[(image < images ? image : begin) * elements];
        values[k] = image < images ? (input < inputs ? values[k] : C(1)) : C(0);
        PRUMO_UNROLL
        for (int p = 0; p < packs; ++p) slopes[k][p] = *reinterpret_cast<const pack*>(from + p * pack_outputs);
      }
      PRUMO_UNROLL
      for (int k = 0; k < images_together; ++k) {
        PRUMO_UNROLL
        for (int output = 0; output < tile_outputs; ++output) {
          sum[output] =
              prumo::fma(slopes[k][output / pack_outputs].values[output % pack_outputs], values[k], sum[output]);
        }
      }
    }
    PRUMO_UNROLL
    for (int k = 0; k < tile_outputs; ++k) sums[k * tile_columns + i] = sum[k];
  }
}

/// Adds the products of some images' factors to the sums of two inputs, [outputs][inputs]. All factors are loaded
/// before the first is used.
/// \param apart from an image to the next
/// \param there how many of the two inputs are outputs of the layer below; the one behind them is 1, for the bias
template <int Images, class C>
PRUMO_STEP_FUNCTION void add_wide_factors(const C* x, const C* dy, std::int64_t apart, int there,
                                          C (&sum)[wide_outputs][2]) {
  using pair = prumo::detail::device_pack<C, 2>;
  using pack = prumo::detail::device_pack<C>;
  constexpr int pack_outputs = prumo::detail::device_pack_elements<C>, packs = wide_outputs / pack_outputs;
  pair values[Images];
  pack slopes[Images][packs];
  PRUMO_UNROLL
  for (int i = 0; i < Images; ++i) {
    values[i] = *reinterpret_cast<const pair*>(x + i * apart);
    PRUMO_UNROLL
    for (int p = 0; p < packs; ++p) slopes[i][p] = *reinterpret_cast<const pack*>(dy + i * apart + p * pack_outputs);
  }
  PRUMO_UNROLL
  for (int i = 0; i < Images; ++i) {
    const C first = there > 0 ? values[i].values[0] : C(1), second = there > 1 ? values[i].values[1] : C(1);
    PRUMO_UNROLL
    for (int k = 0; k < wide_outputs; ++k) {
      const C slope = slopes[i][k / pack_outputs].values[k % pack_outputs];
      sum[k][0] = prumo::fma(slope, first, sum[k][0]);
      sum[k][1] = prumo::fma(slope, second, sum[k][1]);
    }
  }
}

/// The sums of a wide tile over a slice of the images: [outputs][two inputs]. A thread has 2 * Units inputs: pairs of
/// neighbours.
template <int Units, class Team, class C>
PRUMO_STEP_FUNCTION void sum_wide_tile(const Team& team, const step_layer& it, const C* all, int elements,
                                       std::int64_t images, const update_tile& tile, int slice, int slices,
                                       C (&sum)[Units][wide_outputs][2]) {
  constexpr int at_once = 8;  // images whose factors are loaded together
  const int inputs = it.in_size();
  const std::int64_t apart = static_cast<std::int64_t>(slices) * elements;
  const int count = static_cast<int>((images - slice + slices - 1) / slices);
  PRUMO_UNROLL
  for (int unit = 0; unit < Units; ++unit) {
    const int input = tile.first_column + 2 * (unit * Team::lanes + team.lane());
    const C* const first = all + static_cast<std::int64_t>(slice) * elements;
    const C* x = first + it.x_factor + (input < inputs ? input : 0);
    const C* dy = first + it.dy_factor + tile.first_output;
    C total[wide_outputs][2] = {};
    // The last images come one by one. Loads that depend on how many are left would wait for each other.
    int left = count;
    PRUMO_KEEP_LOOP
    for (; left >= at_once; left -= at_once, x += at_once * apart, dy += at_once * apart) {
      add_wide_factors<at_once>(x, dy, apart, inputs - input, total);
    }
    PRUMO_KEEP_LOOP
    for (; left > 0; --left, x += apart, dy += apart) add_wide_factors<1>(x, dy, apart, inputs - input, total);
    PRUMO_UNROLL
    for (int k = 0; k < wide_outputs; ++k) {
      sum[unit][k][0] = total[k][0];
      sum[unit][k][1] = total[k][1];
    }
  }
}

/// The same with registers of its own: all sums stay there.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <int Units, class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART void sum_wide_tile_apart(const step_data<C>& data, std::int64_t images,
                                                          const update_tile& tile, int slice, int slices,
                                                          C (&sum)[Units][wide_outputs][2]) {
  const Team team;
  const step_scratch<C> scratch(Team::memory());
  sum_wide_tile<Units>(team, scratch.table().layer[tile.layer], data.factors, scratch.table().factors, images, tile,
                       slice, slices, sum);
}

}  // namespace prumo::nets
