// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which layout the gradient of filters takes on a device. It follows from the extents and from the memory of a
/// multiprocessor, and not from the number of multiprocessors, so that the bits are the same on a part of a device.

#include "device_weights_inputs.hpp"
#include "device_weights_tile.hpp"
#include "row_copies.hpp"
#include "team_resources.hpp"
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class device_weights_choice {
  static constexpr std::int64_t segment = prumo::detail::device_pack_elements<C>;
  /// Two for each multiprocessor of an H100. More teams would have more partial sums.
  static constexpr std::int64_t most_teams = 264;
  /// Indices in a team's memory have 32 bits.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 26;

 public:
  /// \param element_bytes those of the arrays
  device_weights_choice(const weights_inputs<C>& inputs, std::int64_t element_bytes, weights_tile tile,
                        const team_resources& resources)
      : inputs_(inputs), element_bytes_(element_bytes), tile_(tile), resources_(resources) {}

  /// No threads if it does not fit.
  direct_weights_layout best() const {
    const split_of_weights split = best_split();
    if (split.channel_tiles == 0 || is_too_large()) return {};
    const std::int64_t half = resources_.bytes_of_multiprocessor / 2 - team_resources::reserved_bytes;
    for (const int buffers : {2, 1}) {
      const std::int64_t bytes = buffers == 2 ? std::min(half, resources_.bytes_of_team) : resources_.bytes_of_team;
      const direct_weights_layout layout = with_fewest_turns(split, buffers, bytes);
      if (layout.threads > 0) return with_enough_items(split, layout);
    }
    return {};
  }

  /// How the weights are cut: tiles of output channels and input channels of a part.
  struct split_of_weights {
    std::int64_t channel_tiles;
    std::int64_t in_channels;
  };

  /// The layout with these cuts; no threads if indices would be too large.
  direct_weights_layout of(const split_of_weights& split, std::int64_t bands, int buffers) const {
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    using prumo::detail::divide_up;
    const auto aligned = [](std::int64_t value) { return prumo::detail::round_up(value, segment); };
    direct_weights_layout layout;
    const std::int64_t band_rows = divide_up(inputs_.rows, std::min(bands, inputs_.rows));
    const std::int64_t segments = divide_up(inputs_.columns, segment);
    const std::int64_t reach = (segments * segment - 1) * inputs_.column_stride + inputs_.filter_columns;
    const std::int64_t x_rows = (band_rows - 1) * inputs_.row_stride + inputs_.filter_rows;
    std::int64_t pitch = aligned(std::max(inputs_.column_padding + inputs_.width, reach));
    if (pitch / segment % 2 == 0) pitch += segment;  // so that rows begin in other banks
    const std::int64_t dy_plane = band_rows * segments * segment, channels = split.channel_tiles * tile_.channels;
    if (x_rows > most_elements / pitch || dy_plane > most_elements || channels > most_elements ||
        split.in_channels * x_rows * pitch + channels * dy_plane > most_elements) {
      return layout;
    }
    const std::int64_t all_tiles = divide_up(inputs_.out_channels, tile_.channels);
    layout.channel_parts = narrow(divide_up(all_tiles, split.channel_tiles));
    layout.input_parts = narrow(split.in_channels == 0 ? 1 : divide_up(inputs_.in_channels, split.in_channels));
    layout.channel_tiles = narrow(split.channel_tiles);
    layout.in_channels = narrow(split.in_channels);
    layout.lines = narrow(lines());
    layout.tiles = narrow(tiles(split));
    layout.slices = std::max(1, resources_.threads_of_team / layout.tiles);
    layout.threads = narrow(prumo::detail::round_up(std::int64_t{layout.tiles} * layout.slices, 32));
    layout.band_rows = narrow(band_rows);
    layout.bands = narrow(divide_up(inputs_.rows, band_rows));
    layout.segments = narrow(segments);
    layout.x_rows = narrow(x_rows);
    layout.x_pitch = narrow(pitch);
    layout.x_plane = narrow(x_rows * pitch);
    layout.dy_pitch = narrow(segments * segment);
    layout.dy_plane = narrow(dy_plane);
    layout.x_pack = most_row_pack<C>(inputs_.x, element_bytes_, inputs_.images, inputs_.in_channels, inputs_.height,
                                     inputs_.width, inputs_.column_padding);
    layout.dy_pack = most_row_pack<C>(inputs_.dy, element_bytes_, inputs_.images, inputs_.out_channels, inputs_.rows,
                                      inputs_.columns, 0);
    layout.buffers = buffers;
    layout.buffer_elements = narrow(split.in_channels * x_rows * pitch + channels * dy_plane);
    layout.ones = inputs_.has_bias ? narrow(aligned(reach)) : 0;
    layout.sums_elements = tile_.sums() * layout.slices * layout.tiles;
    const std::int64_t items = inputs_.images * layout.bands;
    layout.groups = narrow(std::min(items, std::max<std::int64_t>(1, most_teams / layout.parts())));
    return layout;
  }

  bool fits(const direct_weights_layout& layout, std::int64_t bytes) const {
    constexpr std::int64_t for_alignment = 64;
    return layout.scratch_elements() * static_cast<std::int64_t>(sizeof(C)) + for_alignment <= bytes;
  }

  /// As few parts as possible, whose tiles all have a thread. No tiles if a line of filters has too many.
  split_of_weights best_split() const {
    const std::int64_t threads = resources_.threads_of_team, bias = inputs_.has_bias ? 1 : 0;
    const std::int64_t all_tiles = (inputs_.out_channels + tile_.channels - 1) / tile_.channels;
    if (lines() > threads) return {0, 0};  // so that no product below is too large
    split_of_weights best{0, 0};
    std::int64_t fewest = 0;
    for (std::int64_t channel_tiles = std::min<std::int64_t>(all_tiles, 8); channel_tiles > 0; --channel_tiles) {
      if (inputs_.in_channels == 0) return {channel_tiles, 0};
      const std::int64_t most = (threads / channel_tiles - bias) / lines();
      if (most < 1) continue;
      const std::int64_t input_parts = (inputs_.in_channels + most - 1) / most;
      const std::int64_t parts = input_parts * ((all_tiles + channel_tiles - 1) / channel_tiles);
      if (fewest > 0 && parts >= fewest) continue;
      fewest = parts;
      best = {channel_tiles, (inputs_.in_channels + input_parts - 1) / input_parts};
    }
    return best;
  }

  /// Roundings upon each other: of a thread, of the slices, of the groups.
  static std::int64_t longest_chain(const weights_inputs<C>& inputs, const direct_weights_layout& layout) {
    if (layout.groups == 0) return 0;
    const std::int64_t items = (inputs.images * layout.bands + layout.groups - 1) / layout.groups;
    const std::int64_t segments = std::int64_t{layout.band_rows} * layout.segments;
    return items * ((segments + layout.slices - 1) / layout.slices) * segment + layout.slices + layout.groups;
  }

 private:
  std::int64_t lines() const {
    return tile_.filter_columns == 0 ? inputs_.filter_rows * inputs_.filter_columns : inputs_.filter_rows;
  }
  std::int64_t tiles(const split_of_weights& split) const {
    return split.channel_tiles * (split.in_channels * lines() + (inputs_.has_bias ? 1 : 0));
  }

  bool is_too_large() const {
    const std::int64_t extents[] = {inputs_.height,     inputs_.width,        inputs_.rows,
                                    inputs_.columns,    inputs_.in_channels,  inputs_.out_channels,
                                    inputs_.row_stride, inputs_.column_stride};
    for (const std::int64_t each : extents) {
      if (each > most_elements) return true;
    }
    return inputs_.images > (std::int64_t{1} << 40);
  }

  /// Few bands, or some more if their places are shared out better. No threads if a row does not fit.
  direct_weights_layout with_fewest_turns(const split_of_weights& split, int buffers, std::int64_t bytes) const {
    const auto fitting = [&](std::int64_t bands) {
      direct_weights_layout layout = of(split, bands, buffers);
      if (layout.threads > 0 && !fits(layout, bytes)) layout.threads = 0;
      return layout;
    };
    std::int64_t fewest = 1;
    while (fitting(fewest).threads == 0) {
      if (fewest >= inputs_.rows) return {};
      fewest *= 2;
    }
    direct_weights_layout best = fitting(fewest);
    // Elements that are copied one by one come from lines that the cache keeps, and that has what scratch memory
    // leaves.
    if (best.x_pack == 1 || best.dy_pack == 1) return best;
    for (std::int64_t below = fewest / 2; fewest - below > 1;) {
      const std::int64_t middle = (below + fewest) / 2;
      (fitting(middle).threads > 0 ? fewest : below) = middle;
    }
    best = fitting(fewest);
    constexpr int tries = 8;
    for (int more = 1; more < tries && fewest + more <= inputs_.rows && best.bands > 1; ++more) {
      const direct_weights_layout layout = fitting(fewest + more);
      if (layout.threads > 0 && turns(layout) < turns(best)) best = layout;
    }
    return best;
  }

  /// What a thread does, in segments: those of its bands, and what each band takes beside.
  double turns(const direct_weights_layout& layout) const {
    constexpr std::int64_t of_band = 2;
    const auto of_rows = [&](std::int64_t rows) {
      return (rows * layout.segments + layout.slices - 1) / layout.slices + of_band;
    };
    const std::int64_t whole = layout.bands - 1, items = inputs_.images * layout.bands;
    const std::int64_t of_image = whole * of_rows(layout.band_rows) + of_rows(inputs_.rows - whole * layout.band_rows);
    const std::int64_t items_of_team = (items + layout.groups - 1) / std::max(1, layout.groups);
    return static_cast<double>(items_of_team * of_image) / layout.bands;
  }

  /// Few images are cut into more bands, as long as each thread has places of its own.
  direct_weights_layout with_enough_items(const split_of_weights& split, direct_weights_layout layout) const {
    const std::int64_t wanted = std::max<std::int64_t>(1, most_teams / layout.parts());
    for (std::int64_t bands = layout.bands + 1; bands <= inputs_.rows; ++bands) {
      if (inputs_.images * layout.bands >= wanted) break;
      const std::int64_t band_rows = (inputs_.rows + bands - 1) / bands;
      if (band_rows * layout.segments < 2 * std::int64_t{layout.slices}) break;
      layout = of(split, bands, layout.buffers);
    }
    return layout;
  }

  weights_inputs<C> inputs_;
  std::int64_t element_bytes_;
  weights_tile tile_;
  team_resources resources_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
