// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_places.hpp"

#include "window_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::nets {
namespace {

/// The places of a layer's filters and of their copies, which step_layer::forward_copy and backward_copy describe.
void add_filters(const step_layer& it, int layer, bool takes_windows, step_places& places) {
  const int taps = it.filter_size();
  const int channels = it.kind == step_kind::convolution ? it.in_channels : 1;
  for (int i = 0; i < it.weight_count(); ++i) {
    const int row = i % taps / it.filter_width, column = i % it.filter_width;
    const int channel = i / taps % channels, map = i / taps / channels;
    filter_parameter& to = places.filter_parameters[static_cast<std::size_t>(it.gradient + i)];
    to = {it.weights + i, it.forward_copy + i, -1, layer, false};
    if (it.kind != step_kind::convolution) continue;
    if (takes_windows) {
      to.copy = it.forward_copy + map * window_map_copies + i % taps;
      continue;
    }
    to.copy = it.forward_copy + channel * it.forward_apart + (column * it.filter_height + row) * it.padded_out + map;
    if (it.backward_copy < 0) continue;
    const int turned = (it.filter_width - 1 - column) * it.filter_height + it.filter_height - 1 - row;
    to.turned = it.backward_copy + map * it.backward_apart + turned * it.padded_in + channel;
  }
  for (int i = 0; i < it.bias_count(); ++i) {
    const int copy = takes_windows ? it.forward_copy + i * window_map_copies + taps : it.bias_copy + i;
    places.filter_parameters[static_cast<std::size_t>(it.gradient + it.weight_count() + i)] = {it.bias + i, copy, -1,
                                                                                               layer, true};
  }
}

}  // namespace

std::vector<update_tile> make_update_tiles(const step_table& table) {
  std::vector<update_tile> tiles;
  // The longest first, so that teams end together.
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (it.kind != step_kind::dense) continue;
    const int columns = it.in_size() + (it.bias >= 0 ? 1 : 0);
    const int outputs_at_once = has_large_tiles(table.shape) ? wide_outputs : tile_outputs;
    const int columns_at_once = has_large_tiles(table.shape) ? wide_columns : tile_columns;
    for (int output = 0; output < it.out_channels; output += outputs_at_once) {
      for (int column = 0; column < columns; column += columns_at_once) tiles.push_back({which, output, column});
    }
  }
  for (int first = 0; first < table.gradients; first += tile_columns) tiles.push_back({update_tile::filters, 0, first});
  tiles.push_back({update_tile::losses, 0, 0});
  return tiles;
}

int choose_update_slices(int tiles, std::int64_t batch) {
  // Estimates for the GPUs at hand: 132 teams of 16 stretches, which wait some 500 cycles for eight images that they
  // load together, and 1500 for what comes before and after the images.
  constexpr std::int64_t stretches = 132 * 16, images_together = 8, cycles_of_images = 500, cycles_of_tile = 1500;
  const auto cycles = [&](std::int64_t slices) {
    const std::int64_t rounds = (tiles * slices - 1) / stretches + 1;
    const std::int64_t loads = ((batch - 1) / slices) / images_together + 1;
    return rounds * (loads * cycles_of_images + cycles_of_tile);
  };
  int best = 1;
  for (int slices = 2; slices <= most_update_slices; slices *= 2) {
    if (cycles(slices) < cycles(best)) best = slices;
  }
  return best;
}

step_places make_step_places(const step_table& table, const net_share* share) {
  step_places result;
  result.copy_sources.assign(static_cast<std::size_t>(table.copies), -1);
  result.filter_parameters.resize(static_cast<std::size_t>(table.gradients));
  const auto copy = [&](int to, int from) { result.copy_sources[static_cast<std::size_t>(to)] = from; };
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (it.has_filter()) {
      add_filters(it, which, table.shape == step_shape::windows, result);
    } else if (it.forward_copy >= 0) {
      const int inputs = it.in_size();
      const int apart = share == nullptr ? inputs : share->layer[which].weights_apart;
      const int copies_apart = share == nullptr ? inputs : share->layer[which].copies_apart;
      for (int output = 0; output < it.out_channels; ++output) {
        for (int i = 0; i < inputs; ++i) {
          copy(it.forward_copy + output * copies_apart + i, it.weights + output * apart + i);
        }
      }
      for (int i = 0; i < it.bias_count(); ++i) copy(it.bias_copy + i, it.bias + i);
    }
  }
  for (const filter_parameter& each : result.filter_parameters) {
    copy(each.copy, each.parameter);
    if (each.turned >= 0) copy(each.turned, each.parameter);
  }
  result.update_tiles = make_update_tiles(table);
  return result;
}

}  // namespace prumo::nets
