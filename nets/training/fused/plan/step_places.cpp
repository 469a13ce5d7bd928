// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_places.hpp"

#include "window_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::nets {
namespace {

/// Maps whose copies neighbouring threads make together.
constexpr int copied_maps = 4;

/// The copies that step_layer::forward_copy and backward_copy describe. Neighbouring threads load from few lines of
/// memory, and store to many banks: a few maps of neighbouring taps, and then all channels of neighbouring taps.
void add_convolution_copies(const step_layer& it, std::vector<parameter_copy>& copies) {
  const int taps = it.filter_size();
  const auto parameter = [&](int map, int channel, int tap) {
    return it.weights + (map * it.in_channels + channel) * taps + tap;
  };
  for (int channel = 0; channel < it.in_channels; ++channel) {
    for (int first = 0; first < it.out_channels; first += copied_maps) {
      for (int tap = 0; tap < taps; ++tap) {
        const int row = tap / it.filter_width, column = tap % it.filter_width;
        for (int map = first; map < std::min(first + copied_maps, it.out_channels); ++map) {
          const int place = channel * it.forward_apart + (column * it.filter_height + row) * it.padded_out + map;
          copies.push_back({parameter(map, channel, tap), it.forward_copy + place});
        }
      }
    }
  }
  if (it.backward_copy < 0) return;
  for (int map = 0; map < it.out_channels; ++map) {
    for (int tap = 0; tap < taps; ++tap) {
      const int row = tap / it.filter_width, column = tap % it.filter_width;
      const int turned = (it.filter_width - 1 - column) * it.filter_height + it.filter_height - 1 - row;
      for (int channel = 0; channel < it.in_channels; ++channel) {
        const int place = map * it.backward_apart + turned * it.padded_in + channel;
        copies.push_back({parameter(map, channel, tap), it.backward_copy + place});
      }
    }
  }
}

/// The places of a layer's parameters and of their copies, which step_layer::forward_copy and backward_copy describe.
void add_parameters(const step_layer& it, int layer, bool takes_windows, step_places& places) {
  const int taps = it.filter_size();
  const int channels = it.kind == step_kind::convolution ? it.in_channels : 1;
  for (int i = 0; i < it.weight_count(); ++i) {
    const int row = i % taps / it.filter_width, column = i % it.filter_width;
    const int channel = i / taps % channels, map = i / taps / channels;
    const int place = it.gradient + i;
    filter_parameter& to = places.filter_parameters[static_cast<std::size_t>(place)];
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
    const int of_filter = it.forward_copy + i * window_map_copies + taps;
    const int copy = takes_windows && it.has_filter() ? of_filter : it.bias_copy + i;
    const int place = it.gradient + it.weight_count() + i;
    places.filter_parameters[static_cast<std::size_t>(place)] = {it.bias + i, copy, -1, layer, true};
  }
}

}  // namespace

std::vector<update_tile> make_update_tiles(const step_table& table) {
  std::vector<update_tile> tiles;
  // The longest first, so that teams end together.
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    // Teams that take windows sum these gradients, too.
    if (it.kind != step_kind::dense || table.shape == step_shape::windows) continue;
    const int columns = it.in_size() + (it.bias >= 0 ? 1 : 0);
    const int outputs_at_once = table.has_wide_tiles ? wide_outputs : tile_outputs;
    const int columns_at_once = table.has_wide_tiles ? wide_columns : tile_columns;
    for (int output = 0; output < it.out_channels; output += outputs_at_once) {
      for (int column = 0; column < columns; column += columns_at_once) tiles.push_back({which, output, column});
    }
  }
  for (int first = 0; first < table.gradients; first += tile_columns) tiles.push_back({update_tile::filters, 0, first});
  tiles.push_back({update_tile::losses, 0, 0});
  return tiles;
}

int choose_update_slices(int tiles, std::int64_t summed) {
  // Estimates for the GPUs at hand: 132 teams of 16 stretches, which wait some 500 cycles for eight images that they
  // load together, and 1500 for what comes before and after the images.
  constexpr std::int64_t teams = 132, stretches = teams * 16, images_together = 8, cycles_of_images = 500,
                         cycles_of_tile = 1500;
  const auto cycles = [&](std::int64_t slices) {
    const std::int64_t rounds = (tiles * slices - 1) / stretches + 1;
    const std::int64_t loads = ((summed - 1) / slices) / images_together + 1;
    return rounds * (loads * cycles_of_images + cycles_of_tile);
  };
  int best = 1;
  for (int slices = 2; slices <= most_update_slices; slices *= 2) {
    if (cycles(slices) < cycles(best)) best = slices;
  }
  return best;
}

namespace {

/// All copies of a net, and its gaps.
std::vector<parameter_copy> make_copies(const step_table& table, const net_share* share,
                                        const std::vector<filter_parameter>& filters) {
  std::vector<parameter_copy> copies;
  if (table.shape != step_shape::windows) {
    for (int which = 0; which < table.layers; ++which) {
      const step_layer& it = table.layer[which];
      if (it.kind == step_kind::convolution) add_convolution_copies(it, copies);
    }
  }
  const auto is_of_convolution = [&](const filter_parameter& each) {
    return table.shape != step_shape::windows && !each.is_bias &&
           table.layer[each.layer].kind == step_kind::convolution;
  };
  for (const filter_parameter& each : filters) {
    if (!is_of_convolution(each)) copies.push_back({each.parameter, each.copy});
  }
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (it.has_filter() || it.forward_copy < 0 || table.shape == step_shape::windows) continue;
    const int inputs = it.in_size();
    const int apart = share == nullptr ? inputs : share->layer[which].weights_apart;
    const int copies_apart = share == nullptr ? inputs : share->layer[which].copies_apart;
    for (int output = 0; output < it.out_channels; ++output) {
      for (int i = 0; i < inputs; ++i) {
        copies.push_back({it.weights + output * apart + i, it.forward_copy + output * copies_apart + i});
      }
    }
    for (int i = 0; i < it.bias_count(); ++i) copies.push_back({it.bias + i, it.bias_copy + i});
  }
  std::vector<bool> is_taken(static_cast<std::size_t>(table.copies), false);
  for (const parameter_copy& each : copies) is_taken[static_cast<std::size_t>(each.place)] = true;
  for (int i = 0; i < table.copies; ++i) {
    if (!is_taken[static_cast<std::size_t>(i)]) copies.push_back({-1, i});
  }
  if (table.shape == step_shape::windows) std::ranges::sort(copies, {}, &parameter_copy::place);
  return copies;
}

}  // namespace

step_places make_step_places(const step_table& table, const net_share* share) {
  step_places result;
  result.filter_parameters.resize(static_cast<std::size_t>(table.gradients));
  for (int which = 0; which < table.layers; ++which) {
    const step_layer& it = table.layer[which];
    if (it.has_filter() || table.shape == step_shape::windows)
      add_parameters(it, which, table.shape == step_shape::windows, result);
  }
  result.copies = make_copies(table, share, result.filter_parameters);
  result.update_tiles = make_update_tiles(table);
  return result;
}

}  // namespace prumo::nets
