// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// New parameters on a thread of a host with vectors: the tiles of step_update.hpp, whose sums stay in the nearest
/// cache.

#include "fused/step_loop.hpp"
#include "host_layers.hpp"

#include <algorithm>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// New weights by gradients factor * x[i]. A loop for each rule is a loop of vectors.
template <optimizer Which, class C>
[[gnu::always_inline]] inline void change_row_by(step_rule<C> rule, C* weights, const C* x, C factor, C* first,
                                                 C* second, int count) {
  rule.which = Which;
  PRUMO_INDEPENDENT_ITERATIONS
  for (int i = 0; i < count; ++i) weights[i] = rule(weights[i], factor * x[i], first, second, i);
}
template <class C>
void change_row(const step_rule<C>& rule, C* weights, const C* x, C factor, C* first, C* second, int count) {
  switch (rule.which) {
    case optimizer::sgd: change_row_by<optimizer::sgd>(rule, weights, x, factor, first, second, count); break;
    case optimizer::momentum: change_row_by<optimizer::momentum>(rule, weights, x, factor, first, second, count); break;
    case optimizer::adam: change_row_by<optimizer::adam>(rule, weights, x, factor, first, second, count); break;
  }
}

/// New weights of neighbouring parameters, by gradients scale * from[i].
template <class C>
void change_parameters(const step_data<C>& data, const step_rule<C>& rule, std::int64_t parameter, const C* from,
                       C scale, int count) {
  change_row(rule, data.weights + parameter, from, scale,
             rule.which == optimizer::sgd ? nullptr : data.first_moments + parameter,
             rule.which == optimizer::adam ? data.second_moments + parameter : nullptr, count);
}

/// Changes the parameters of filters whose gradients are begin ... end - 1 of all: `from` has those. The parameters of
/// a layer lie in the order of their gradients.
template <class C>
void change_filters_of(const step_data<C>& data, const step_table& table, const step_rule<C>& rule, const C* from,
                       int begin, int end) {
  const auto change = [&](int parameter, int gradient, double scale, int count) {
    const int first = std::max(begin, gradient), last = std::min(end, gradient + count);
    if (first >= last) return;
    change_parameters(data, rule, parameter + first - gradient, from + first - begin, static_cast<C>(scale),
                      last - first);
  };
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (!it.has_filter()) continue;
    change(it.weights, it.gradient, it.weight_scale, it.weight_count());
    if (it.bias >= 0) change(it.bias, it.gradient + it.weight_count(), it.bias_scale, it.bias_count());
  }
}

/// Changes the parameters of all filters, and sets their gradients back to 0.
template <class C>
void change_filters(const host_step_team&, const step_data<C>& data, const step_scratch<C>& scratch,
                    const step_rule<C>& rule) {
  const step_table& table = scratch.table();
  C *const gradients = scratch.gradients(), *const copies = scratch.copies();
  change_filters_of(data, table, rule, gradients, 0, table.gradients);
  std::fill_n(gradients, table.gradients, C(0));
  for (int i = 0; i < table.gradients; ++i) {
    const filter_parameter& to = data.filter_parameters[i];
    copies[to.copy] = data.weights[to.parameter];
    if (to.turned >= 0) copies[to.turned] = data.weights[to.parameter];
  }
}

/// The sums of a tile of a dense layer over all images of a step.
template <class C>
void sum_dense_tile(const step_layer& it, const C* factors, int elements, std::int64_t images, const update_tile& tile,
                    C* sums) {
  using vector = simd<C>;
  const int inputs = it.in_size();
  const int count = std::min(tile_columns, inputs - tile.first_column);
  const int outputs = std::min(tile_outputs, it.out_channels - tile.first_output);
  for (int begin = 0; begin < count; begin += 2 * vector::lanes) {
    vector sum[tile_outputs][2];
    for (auto& row : sum) row[0] = row[1] = vector(C(0));
    for (std::int64_t image = 0; image < images; ++image) {
      const C* const x = factors + image * elements + it.x_factor + tile.first_column + begin;
      const C* const dy = factors + image * elements + it.dy_factor + tile.first_output;
      // What is read behind the inputs belongs to no sum that counts.
      const vector low = vector::load(x), high = vector::load(x + vector::lanes);
      PRUMO_UNROLL
      for (int k = 0; k < tile_outputs; ++k) {
        const vector slope(dy[k < outputs ? k : 0]);
        sum[k][0] = prumo::fma(low, slope, sum[k][0]);
        sum[k][1] = prumo::fma(high, slope, sum[k][1]);
      }
    }
    for (int k = 0; k < tile_outputs; ++k) {
      sum[k][0].store(sums + k * tile_columns + begin);
      sum[k][1].store(sums + k * tile_columns + begin + vector::lanes);
    }
  }
  if (tile.first_column + tile_columns <= inputs || it.bias < 0) return;
  // Outputs side by side, so that their sums do not wait for each other.
  C of_bias[tile_outputs] = {};
  for (std::int64_t image = 0; image < images; ++image) {
    const C* const dy = factors + image * elements + it.dy_factor + tile.first_output;
    PRUMO_UNROLL
    for (int k = 0; k < tile_outputs; ++k) of_bias[k] += dy[k < outputs ? k : 0];
  }
  for (int k = 0; k < outputs; ++k) sums[k * tile_columns + inputs - tile.first_column] = of_bias[k];
}

/// The sums of a tile of filters over all groups of a step. The last vector may read beyond the gradients. Its lanes
/// there are not used.
template <class C>
void sum_filter_tile(const C* partials, int groups, int gradients, C* sums) {
  using vector = simd<C>;
  constexpr int vectors = std::min(8, tile_columns / vector::lanes);
  for (int begin = 0; begin < tile_columns; begin += vectors * vector::lanes) {
    vector sum[vectors];
    for (vector& each : sum) each = vector(C(0));
    const C* from = partials + begin;
    for (int group = 0; group < groups; ++group, from += gradients) {
      PRUMO_UNROLL
      for (int v = 0; v < vectors; ++v) sum[v] += vector::load(from + v * vector::lanes);
    }
    for (int v = 0; v < vectors; ++v) sum[v].store(sums + begin + v * vector::lanes);
  }
}

/// New parameters of a tile of a dense layer.
template <class C>
void change_dense_tile(const step_data<C>& data, const step_table& table, const step_rule<C>& rule, std::int64_t images,
                       const update_tile& tile, C* sums) {
  const step_layer& it = table.layer[tile.layer];
  const int inputs = it.in_size(), count = std::min(tile_columns, inputs - tile.first_column);
  const int outputs = std::min(tile_outputs, it.out_channels - tile.first_output);
  const bool has_bias = tile.first_column + tile_columns > inputs && it.bias >= 0;
  sum_dense_tile(it, data.factors, table.factors, images, tile, sums);
  for (int k = 0; k < outputs; ++k) {
    const C* const of_output = sums + k * tile_columns;
    const int output = tile.first_output + k;
    change_parameters(data, rule, it.weights + std::int64_t{output} * inputs + tile.first_column, of_output,
                      static_cast<C>(it.weight_scale), count);
    if (has_bias) {
      change_parameters(data, rule, it.bias + output, of_output + count, static_cast<C>(it.bias_scale), 1);
    }
  }
}

/// All tiles that a thread has. Factors lie in the caches of the threads that made them. So a thread takes the tiles of
/// all outputs for some inputs, which read the same x, if there are more than two such columns of tiles for each
/// thread.
template <class C>
void change_tiles(const host_step_team& team, const step_data<C>& data, const step_scratch<C>& scratch,
                  const step_rule<C>& rule, std::int64_t images, step_league league) {
  const step_table& table = scratch.table();
  C* const sums = scratch.sums_of_slices();
  int share = 0;
  const auto is_own = [&] { return share++ % league.size == league.rank; };
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (it.kind != step_kind::dense) continue;
    const int columns = it.in_size() + (it.bias >= 0 ? 1 : 0);
    const bool together = columns > 2 * tile_columns * league.size;
    for (int column = 0; column < columns; column += tile_columns) {
      bool takes = together && is_own();
      for (int output = 0; output < it.out_channels; output += tile_outputs) {
        if (!together) takes = is_own();
        if (takes) change_dense_tile(data, table, rule, images, {which, output, column}, sums);
      }
    }
  }
  for (int first = 0; first < table.gradients; first += tile_columns) {
    if (!is_own()) continue;
    sum_filter_tile(data.partials + first, table.groups, table.gradients, sums);
    change_filters_of(data, table, rule, sums, first, std::min(first + tile_columns, table.gradients));
  }
  if (is_own()) add_losses_of_groups(team, data, table.groups);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
