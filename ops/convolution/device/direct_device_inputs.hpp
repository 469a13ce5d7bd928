// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the direct convolution on a device copies into its scratch memory: filters, bias, and the parts of
/// images that its items need. Elements are converted to the compute type on the way.

#include "direct_device_choice.hpp"
#include "row_copies.hpp"
#include "tile/convolution_sums.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The pointers of `problem` are to elements of `type`, whose compute type is C. The weights of the output channels of
/// a tile lie side by side.
template <class C, convolution_tile Tile>
class direct_device_inputs {
 protected:
  static constexpr int pack_elements = prumo::detail::device_pack_elements<C>;
  using pack = prumo::detail::device_pack<C>;

  direct_device_inputs(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : problem_(problem), layout_(layout), type_(type) {}

  /// What a team computes between two barriers.
  struct step {
    std::int64_t image;  ///< the first one; of a stream: that of the first tile; a band, if images have several
    int images;          ///< of an item
    int chunk;
    int first_tile;  ///< of its image, in a stream
    int buffer;      ///< in a stream: the place of the first image
  };

  struct scratch {
    C* weights;
    C* bias;
    C* planes;
    C* results;
  };

  struct item_place {
    std::int64_t first_image;
    int images;
    convolution_rows rows;
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION scratch scratch_of(const Member& member) const {
    C* const memory = static_cast<C*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C), sizeof(pack)));
    C* const planes = memory + (layout_.weights_come_in_chunks() ? layout_.buffers : 1) * layout_.weights_elements;
    C* const bias = planes + layout_.buffers * layout_.planes_elements;
    return {memory, bias, planes, bias + layout_.bias_elements};
  }

  /// Those of a step's chunk of input channels.
  KOKKOS_FORCEINLINE_FUNCTION C* weights_of(const scratch& memory, const step& which) const {
    return memory.weights + (layout_.weights_come_in_chunks()
                                 ? which.buffer * layout_.weights_elements
                                 : which.chunk * layout_.chunk_channels * layout_.filter_elements());
  }

  KOKKOS_FORCEINLINE_FUNCTION item_place place_of(const step& which) const {
    std::int64_t first_image = which.image;
    int band = 0;
    if (layout_.bands > 1) {  // then there are fewer than 2^31 bands, and each is an item
      const int of_all = static_cast<int>(which.image), whole = of_all / layout_.bands;
      band = of_all - whole * layout_.bands;
      first_image = whole;
    }
    const std::int64_t first_row = std::int64_t{band} * layout_.band_rows, end_row = first_row + layout_.band_rows;
    return {first_image, which.images,
            convolution_rows(problem_, first_row, end_row < problem_.y_rows ? end_row : problem_.y_rows)};
  }

  /// Calls visit(pointer), where the pointer has the elements' type.
  template <class Visitor>
  KOKKOS_FORCEINLINE_FUNCTION void with_elements(const C* data, const Visitor& visit) const {
    with_elements_of(type_, data, visit);
  }

  KOKKOS_FORCEINLINE_FUNCTION C element_at(const C* data, std::int64_t index) const {
    C value(0);
    with_elements(data, [&](const auto* elements) { value = static_cast<C>(elements[index]); });
    return value;
  }

  KOKKOS_FORCEINLINE_FUNCTION void copy_bias(C* to, int part, int thread) const {
    const int channels = layout_.channel_tiles * Tile.channels;
    const int first = part * channels;
    for (int channel = thread; channel < channels; channel += layout_.threads) {
      const bool is_there = problem_.bias != nullptr && first + channel < problem_.out_channels;
      to[channel] = is_there ? element_at(problem_.bias, (first + channel) * problem_.bias_stride) : C(0);
    }
  }

  /// Copies the filters of some input channels, so that the weights of a tile's channels are neighbours:
  /// [tile of channels][input channel][row][column][channel of the tile]. A stretch of 32 threads takes a filter.
  KOKKOS_FORCEINLINE_FUNCTION void copy_weights(C* to, int part, int first, int channels, int thread) const {
    constexpr int lanes = prumo::detail::exchange_threads;
    const int filter_columns = static_cast<int>(problem_.filter_columns);
    const int taps = static_cast<int>(problem_.filter_rows) * filter_columns;
    // Most filters have no gaps between their rows, and need no division for each weight.
    const bool has_gaps = problem_.w.row_stride != filter_columns * problem_.w.column_stride ||
                          layout_.weight_row != filter_columns * Tile.channels;
    if (channels == 0) return;
    // The filter that a stretch copies next follows by additions.
    const int stretches = layout_.threads / lanes, channels_on = stretches / channels;
    const int inputs_on = stretches - channels_on * channels, own = thread / lanes;
    with_elements(problem_.w.data, [&](const auto* w) {
      int of_part = own / channels, c = own - of_part * channels;
      PRUMO_KEEP_LOOP
      while (of_part < layout_.channel_tiles * Tile.channels) {
        const int tile_of_part = of_part / Tile.channels, m = of_part - tile_of_part * Tile.channels;
        const std::int64_t channel = std::int64_t{part} * layout_.channel_tiles * Tile.channels + of_part;
        const bool is_there = channel < problem_.out_channels;
        const auto* const from =
            w + (is_there ? channel * problem_.w.image_stride + (first + c) * problem_.w.channel_stride : 0);
        C* const filter = to + (tile_of_part * layout_.weight_channels + c) * layout_.filter_elements() + m;
        PRUMO_KEEP_LOOP
        for (int tap = thread % lanes; tap < taps; tap += lanes) {
          const int p = has_gaps ? tap / filter_columns : 0, q = tap - p * filter_columns;
          copy_element_to_scratch<C>(from + p * problem_.w.row_stride + q * problem_.w.column_stride, is_there,
                                     filter + p * layout_.weight_row + q * Tile.channels);
        }
        of_part += channels_on;
        c += inputs_on;
        if (c >= channels) {
          c -= channels;
          ++of_part;
        }
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION int channels_of(int chunk) const {
    const int left = static_cast<int>(problem_.in_channels) - chunk * layout_.chunk_channels;
    return left < layout_.chunk_channels ? left : layout_.chunk_channels;
  }

  /// Copies all filters of a part, if they do not come in chunks.
  KOKKOS_FORCEINLINE_FUNCTION void copy_weights_of(const scratch& memory, int part, int thread) const {
    if (layout_.weights_come_in_chunks()) return;
    copy_weights(memory.weights, part, 0, static_cast<int>(problem_.in_channels), thread);
  }

  /// Begins to copy what a step needs of some images.
  KOKKOS_FORCEINLINE_FUNCTION void copy_inputs(const scratch& memory, const step& which, const item_place& place,
                                               int part, int thread) const {
    if (layout_.weights_come_in_chunks()) {
      copy_weights(weights_of(memory, which), part, which.chunk * layout_.chunk_channels, channels_of(which.chunk),
                   thread);
    }
    C* const planes =
        memory.planes + which.buffer * (layout_.is_stream ? layout_.image_elements : layout_.planes_elements);
    switch (layout_.staging) {
      case staging_kind::elements: copy_elements(place, which.chunk, planes, thread); break;
      case staging_kind::rows: copy_separate_rows(place, which.chunk, planes, thread); break;
      default:
        with_elements(problem_.x.data, [&](const auto* x) { copy_packs(x, place, which.chunk, planes, thread); });
    }
  }

  /// Copies stretches of packs: whole images, or rows of planes.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void copy_packs(const T* x, const item_place& place, int chunk, C* planes,
                                              int thread) const {
    const int first_row = static_cast<int>(place.rows.convolved_first * problem_.row_stride);
    const int rows_left = static_cast<int>(problem_.height) - first_row;
    const int rows = rows_left < layout_.plane_rows ? rows_left : layout_.plane_rows;
    const bool is_whole_image = layout_.staging == staging_kind::images;
    const int channels = is_whole_image ? 1 : channels_of(chunk);
    int packs = (is_whole_image ? channels_of(chunk) * layout_.plane_elements : rows * layout_.pitch) / pack_elements;
    if (packs == 0 || channels == 0) return;
    int images = place.images;
    if (is_whole_image && packs * pack_elements == layout_.image_elements &&
        problem_.x.image_stride == layout_.image_elements) {
      packs *= images;
      images = 1;
    }
    // What a thread copies next follows by additions: with multiplications, a copy took three times as many
    // instructions.
    const T* stretch = x + place.first_image * problem_.x.image_stride +
                       std::int64_t{chunk} * layout_.chunk_channels * problem_.x.channel_stride +
                       first_row * problem_.x.row_stride;
    const std::int64_t to_next_image = problem_.x.image_stride - (channels - 1) * problem_.x.channel_stride;
    const int target_to_next_image = layout_.image_elements - (channels - 1) * layout_.plane_elements;
    int at = thread, image = 0, channel = 0;
    PRUMO_KEEP_LOOP
    while (true) {
      while (at >= packs) {
        at -= packs;
        if (++channel == channels) {
          channel = 0;
          if (++image >= images) return;
          stretch += to_next_image;
          planes += target_to_next_image;
        } else {
          stretch += problem_.x.channel_stride;
          planes += layout_.plane_elements;
        }
      }
      const T* const from = stretch + at * pack_elements;
      C* const to = planes + at * pack_elements;
      if constexpr (!std::is_same_v<T, C>) {
        // Tiles of many sums leave no registers for more.
        constexpr int at_once = Tile.sums() > 48 ? 1 : 4;
        if (at + (at_once - 1) * layout_.threads < packs) {
          copy_packs_to_scratch<C, pack_elements, at_once>(from, to, layout_.threads * pack_elements);
          at += at_once * layout_.threads;
          continue;
        }
      }
      copy_pack_to_scratch<C, pack_elements>(from, to);
      at += layout_.threads;
    }
  }

  /// Sets zeros where copies of rows leave gaps: what lies beside images.
  KOKKOS_FORCEINLINE_FUNCTION void clear_planes(C* planes, int thread) const {
    const int packs = layout_.buffers * layout_.planes_elements / pack_elements;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < packs; at += layout_.threads) reinterpret_cast<pack*>(planes)[at] = pack{};
  }

  /// Copies rows one by one, to rows of another length. Those above and below an image are zero. If an item is a whole
  /// image, they are zero already.
  KOKKOS_FORCEINLINE_FUNCTION void copy_separate_rows(const item_place& place, int chunk, C* planes, int thread) const {
    const auto& x = problem_.x;
    const copied_rows rows{x.image_stride,
                           x.channel_stride,
                           x.row_stride,
                           x.column_stride,
                           place.images,
                           channels_of(chunk),
                           layout_.plane_rows,
                           static_cast<int>(place.rows.convolved_first * problem_.row_stride) - row_padding(),
                           static_cast<int>(problem_.height),
                           layout_.image_elements,
                           layout_.plane_elements,
                           layout_.pitch,
                           layout_.bands > 1 && problem_.is_padded()};
    copy_rows_of(type_, x.data,
                 place.first_image * x.image_stride + std::int64_t{chunk} * layout_.chunk_channels * x.channel_stride,
                 layout_.row_pack, rows, planes + column_padding(),
                 row_lanes(static_cast<int>(problem_.width), layout_.row_pack, thread, layout_.threads));
  }

  /// What lies beside an image in the scratch memory.
  KOKKOS_FORCEINLINE_FUNCTION int row_padding() const {
    return Tile.spreads ? 0 : static_cast<int>(problem_.row_padding);
  }
  KOKKOS_FORCEINLINE_FUNCTION int column_padding() const {
    return Tile.spreads ? 0 : static_cast<int>(problem_.column_padding);
  }

  /// Copies elements one after the other. A stretch of 32 threads takes a row of a plane.
  KOKKOS_FORCEINLINE_FUNCTION void copy_elements(const item_place& place, int chunk, C* planes, int thread) const {
    constexpr int lanes = prumo::detail::exchange_threads;
    const int channels = channels_of(chunk);
    const int rows = place.images * channels * layout_.plane_rows;
    const int first_row = static_cast<int>(place.rows.convolved_first * problem_.row_stride) - row_padding();
    const int height = static_cast<int>(problem_.height), width = static_cast<int>(problem_.width);
    const int padding = column_padding();
    PRUMO_KEEP_LOOP
    for (int which = thread / lanes; which < rows; which += layout_.threads / lanes) {
      const int plane = which / layout_.plane_rows, row_of_plane = which - plane * layout_.plane_rows;
      const int image = plane / channels, channel = plane - image * channels;
      const int row = first_row + row_of_plane;
      const bool has_row = row >= 0 && row < height;
      const std::int64_t from = (place.first_image + image) * problem_.x.image_stride +
                                (chunk * layout_.chunk_channels + channel) * problem_.x.channel_stride +
                                (has_row ? row * problem_.x.row_stride : 0);
      C* const to =
          planes + image * layout_.image_elements + channel * layout_.plane_elements + row_of_plane * layout_.pitch;
      PRUMO_KEEP_LOOP
      for (int at = thread % lanes; at < layout_.pitch; at += lanes) {
        const int column = at - padding;
        const bool is_there = has_row && column >= 0 && column < width;
        const std::int64_t index = is_there ? from + column * problem_.x.column_stride : from;
        with_elements(problem_.x.data,
                      [&](const auto* x) { copy_element_to_scratch<C>(x + index, is_there, to + at); });
      }
    }
  }

  convolution_problem<C> problem_;
  direct_device_layout layout_;
  dtype type_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
