// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradient of a convolution's filters on a device.
///
/// A team copies bands of images and of dy into its scratch memory, one while it computes with another. A thread holds
/// sums of neighbouring output channels and of a row of weights in registers over all bands of its team. It loads each
/// element of a row of x once for all these weights, and each element of dy once for a row of weights. In the end the
/// sums of threads that have taken other places are joined in order, and become one of the partial sums of each weight.
///
/// Elements are converted when they are copied, so the arithmetic is compiled for the compute types alone.

#include "device_weights_inputs.hpp"
#include "device_weights_tile.hpp"
#include "row_copies.hpp"

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The pointers of `inputs` are to elements of `type`, whose compute type is C.
template <class C, weights_tile Tile>
class device_weights_kernel {
  using pack = prumo::detail::device_pack<C>;
  using sums_type = weights_sums<C, Tile>;
  static constexpr int segment = sums_type::segment;

 public:
  static constexpr weights_tile tile = Tile;
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 2;

  /// \param partial_sums those of each group: [group][output]
  device_weights_kernel(const weights_inputs<C>& inputs, dtype type, const direct_weights_layout& layout,
                        C* partial_sums)
      : inputs_(inputs), layout_(layout), partial_sums_(partial_sums), type_(type) {}

  std::int64_t blocks() const { return std::int64_t{layout_.groups} * layout_.parts(); }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const memory = static_cast<C*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C), sizeof(pack)));
    const part_of_weights part = part_of(member.league_rank());
    const int thread = member.team_rank();
    // Teams of a group follow each other, so that the images that they share are in the cache.
    const int group = member.league_rank() / (layout_.channel_parts * layout_.input_parts);
    const std::int64_t items = inputs_.images * layout_.bands;
    const std::int64_t begin = share_begin(items, group), end = share_begin(items, group + 1);

    prepare_memory(memory, thread);
    member.team_barrier();
    const thread_tile own = tile_of(thread, part);
    sums_type sums;
    sums.clear();
    const copying_lanes lanes{row_lanes(static_cast<int>(inputs_.width), layout_.x_pack, thread, layout_.threads),
                              row_lanes(static_cast<int>(inputs_.columns), layout_.dy_pack, thread, layout_.threads)};
    const place_steps steps = steps_of(own);
    int buffer = 0;
    bool is_copied = false;
    item_place now{begin / layout_.bands, static_cast<int>(begin % layout_.bands)};
    PRUMO_KEEP_LOOP
    for (std::int64_t left = end - begin; left > 0; --left) {
      C* const memory_now = memory + buffer * layout_.buffer_elements;
      if (!is_copied) copy(now, part, memory_now, lanes);
      wait_for_copies();
      member.team_barrier();  // after it, nobody needs what was used before
      const item_place next =
          now.band + 1 < layout_.bands ? item_place{now.image, now.band + 1} : item_place{now.image + 1, 0};
      is_copied = layout_.buffers == 2 && left > 1;
      if (is_copied) {
        buffer = 1 - buffer;
        copy(next, part, memory + buffer * layout_.buffer_elements, lanes);
      }
      add(memory_now, memory + layout_.buffers * layout_.buffer_elements, own, steps, rows_of(now), sums);
      if (layout_.buffers == 1) member.team_barrier();
      now = next;
    }
    member.team_barrier();
    join(member, memory, part, group, own, sums);
  }

 private:
  struct part_of_weights {
    int first_channel;  ///< of y
    int channels;
    int first_input;
    int inputs;
    int tiles;  ///< those of the bias included
  };

  /// What a thread computes.
  struct thread_tile {
    bool is_there;
    int slice;
    int x;           ///< where its elements begin; those of the bias in the row of ones
    int row_stride;  ///< from an element to that of the next row of dy
    int dy;
    bool is_bias;
  };

  KOKKOS_FORCEINLINE_FUNCTION part_of_weights part_of(int team) const {
    const int which = team % (layout_.channel_parts * layout_.input_parts);
    const int channel_part = which / layout_.input_parts, input_part = which - channel_part * layout_.input_parts;
    part_of_weights part{};
    part.first_channel = channel_part * layout_.channel_tiles * Tile.channels;
    part.channels =
        at_most(static_cast<int>(inputs_.out_channels) - part.first_channel, layout_.channel_tiles * Tile.channels);
    part.first_input = input_part * layout_.in_channels;
    part.inputs = at_most(static_cast<int>(inputs_.in_channels) - part.first_input, layout_.in_channels);
    const bool has_bias = inputs_.has_bias && input_part == 0;
    part.tiles = layout_.channel_tiles * (part.inputs * layout_.lines + (has_bias ? 1 : 0));
    return part;
  }

  KOKKOS_FORCEINLINE_FUNCTION static int at_most(int value, int most) { return value < most ? value : most; }

  /// Items are shared out so that shares differ by one at most.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t share_begin(std::int64_t items, int group) const {
    const std::int64_t rest = items % layout_.groups;
    return items / layout_.groups * group + (group < rest ? group : rest);
  }

  struct item_place {
    std::int64_t image;
    int band;
  };

  KOKKOS_FORCEINLINE_FUNCTION int rows_of(const item_place& item) const {
    return at_most(static_cast<int>(inputs_.rows) - item.band * layout_.band_rows, layout_.band_rows);
  }

  /// What no copy writes is zero: what lies beside images and behind rows, and channels that a tile has too many. The
  /// row of ones follows.
  KOKKOS_FORCEINLINE_FUNCTION void prepare_memory(C* memory, int thread) const {
    const int zeros = layout_.buffers * layout_.buffer_elements;
    for (int at = thread; at < zeros + layout_.ones; at += layout_.threads) memory[at] = at < zeros ? C(0) : C(1);
  }

  /// Which packs of rows of x and dy a thread copies.
  struct copying_lanes {
    row_lanes x, dy;
  };

  KOKKOS_FORCEINLINE_FUNCTION void copy(const item_place& item, const part_of_weights& part, C* to,
                                        const copying_lanes& lanes) const {
    const std::int64_t image = item.image;
    const int first = item.band * layout_.band_rows;
    const auto& [x, dy] = arrays();
    // If an item is a whole image, rows outside of it are zero from the beginning.
    const copied_rows rows_of_x{0,
                                x.channel_stride,
                                x.row_stride,
                                x.column_stride,
                                1,
                                part.inputs,
                                layout_.x_rows,
                                first * static_cast<int>(inputs_.row_stride) - static_cast<int>(inputs_.row_padding),
                                static_cast<int>(inputs_.height),
                                0,
                                layout_.x_plane,
                                layout_.x_pitch,
                                layout_.bands > 1};
    copy_rows_of(type_, x.data, image * x.image_stride + part.first_input * x.channel_stride, layout_.x_pack, rows_of_x,
                 to + inputs_.column_padding, lanes.x);
    const copied_rows rows_of_dy{0,
                                 dy.channel_stride,
                                 dy.row_stride,
                                 dy.column_stride,
                                 1,
                                 part.channels,
                                 rows_of(item),
                                 first,
                                 static_cast<int>(inputs_.rows),
                                 0,
                                 layout_.dy_plane,
                                 layout_.dy_pitch,
                                 false};
    copy_rows_of(type_, dy.data, image * dy.image_stride + part.first_channel * dy.channel_stride, layout_.dy_pack,
                 rows_of_dy, to + layout_.in_channels * layout_.x_plane, lanes.dy);
  }

  struct arrays_of_inputs {
    const image_array<const C>& x;
    const image_array<const C>& dy;
  };
  KOKKOS_FORCEINLINE_FUNCTION arrays_of_inputs arrays() const { return {inputs_.x, inputs_.dy}; }

  KOKKOS_FORCEINLINE_FUNCTION thread_tile tile_of(int thread, const part_of_weights& part) const {
    thread_tile own{};
    own.slice = thread / part.tiles;
    const int which = thread - own.slice * part.tiles;
    own.is_there = own.slice < layout_.slices;
    const int of_channels = part.inputs * layout_.lines, weights_tiles = layout_.channel_tiles * of_channels;
    own.is_bias = which >= weights_tiles;
    const int channel_tile = own.is_bias ? which - weights_tiles : which / of_channels;
    own.dy = layout_.in_channels * layout_.x_plane + channel_tile * Tile.channels * layout_.dy_plane;
    if (own.is_bias) return own;
    const int rest = which - channel_tile * of_channels, input = rest / layout_.lines;
    const int line = rest - input * layout_.lines;
    const int columns = Tile.filter_columns == 0 ? static_cast<int>(inputs_.filter_columns) : 1;
    const int p = line / columns, q = line - p * columns;
    own.x = input * layout_.x_plane + p * layout_.x_pitch + q;
    own.row_stride = static_cast<int>(inputs_.row_stride) * layout_.x_pitch;
    return own;
  }

  /// From a place that a thread takes to the next one. The places of a band follow each other in dy. In x there is a
  /// gap behind each row.
  struct place_steps {
    int element;  ///< that of the first place of x
    int segment;  ///< of its row
    int x;
    int segments;  ///< beside those of whole rows
    int gap;
  };

  KOKKOS_FORCEINLINE_FUNCTION place_steps steps_of(const thread_tile& own) const {
    const int segments = layout_.segments, of_segment = segment * static_cast<int>(inputs_.column_stride);
    const int row_step = layout_.slices / segments, segment_step = layout_.slices - row_step * segments;
    const int first_row = own.slice / segments, first_segment = own.slice - first_row * segments;
    return {own.x + first_row * own.row_stride + first_segment * of_segment, first_segment,
            row_step * own.row_stride + segment_step * of_segment, segment_step,
            own.row_stride - segments * of_segment};
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(const C* buffer, const C* ones, const thread_tile& own, const place_steps& steps,
                                       int rows, sums_type& sums) const {
    if (!own.is_there) return;
    const int segments = layout_.segments, column_stride = static_cast<int>(inputs_.column_stride);
    int at = steps.segment;
    const C* element = (own.is_bias ? ones : buffer) + steps.element;
    const C* gradient = buffer + own.dy + own.slice * segment;
    const C* const end = buffer + own.dy + rows * segments * segment;
    PRUMO_KEEP_LOOP
    while (gradient < end) {
      sums.add(element, column_stride, gradient, layout_.dy_plane);
      gradient += layout_.slices * segment;
      element += steps.x;
      at += steps.segments;
      if (at >= segments) {
        at -= segments;
        element += steps.gap;
      }
    }
  }

  /// Adds up the sums of the slices in order, and stores them as the group's partial sums.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void join(const Member& member, C* memory, const part_of_weights& part, int group,
                                        const thread_tile& own, const sums_type& sums) const {
    const int thread = member.team_rank(), of_slice = thread - own.slice * part.tiles;
    if (own.is_there) {
      sums.for_each(
          [&](int which, C sum) { memory[(which * layout_.slices + own.slice) * part.tiles + of_slice] = sum; });
    }
    member.team_barrier();
    const std::int64_t taps = inputs_.taps(), weights = inputs_.out_channels * taps;
    C* const target = partial_sums_ + group * (weights + (inputs_.has_bias ? inputs_.out_channels : 0));
    const int lines = part.inputs * layout_.lines, weights_tiles = layout_.channel_tiles * lines;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < part.tiles * Tile.sums(); at += layout_.threads) {
      const int which = at / part.tiles, in_part = at - which * part.tiles;
      const int m = which / Tile.columns(), q = which - m * Tile.columns();
      const bool is_bias = in_part >= weights_tiles;
      const int channel_tile = is_bias ? in_part - weights_tiles : in_part / lines;
      const int channel = channel_tile * Tile.channels + m;
      if (channel >= part.channels || (is_bias && q > 0)) continue;
      const C* const from = memory + which * layout_.slices * part.tiles + in_part;
      C total = from[0];
      for (int slice = 1; slice < layout_.slices; ++slice) total = total + from[slice * part.tiles];
      const std::int64_t m_of_all = part.first_channel + channel;
      if (is_bias) {
        target[weights + m_of_all] = total;
      } else {
        // Lines of a part follow each other as in the filters.
        const int line = in_part - channel_tile * lines;
        target[m_of_all * taps + (std::int64_t{part.first_input} * layout_.lines + line) * Tile.columns() + q] = total;
      }
    }
  }

  weights_inputs<C> inputs_;
  direct_weights_layout layout_;
  C* partial_sums_;
  dtype type_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
