// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution on a device, without copies of the image for each place of the filter.
///
/// A team keeps filters in its scratch memory and takes one item after the other: images, or bands of them, that it
/// copies there too. A thread computes a tile of neighbouring output channels and rows, for one column. It loads each
/// element of the column of the image once for all rows and channels of the tile, and each weight once for all rows.
/// Neighbouring threads take neighbouring columns, then tiles of rows, of channels, and images, so that no thread of a
/// warp is idle, however narrow an image is.
///
/// Elements are converted when they are copied, so the arithmetic is compiled for the compute types alone.

#include "direct_device_inputs.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"
#include <prumo/math.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The pointers of `problem` are to elements of `type`, whose compute type is C. FilterRows is that of the filters if
/// their row stride is 1, or 0 for any filter and stride.
template <class C, int TileChannels, int TileRows, int FilterRows>
class direct_device_kernel : direct_device_inputs<C, TileChannels> {
  using inputs = direct_device_inputs<C, TileChannels>;
  using inputs::channels_of;
  using inputs::copy_bias;
  using inputs::copy_inputs;
  using inputs::layout_;
  using inputs::pack_elements;
  using inputs::place_of;
  using inputs::problem_;
  using inputs::scratch_of;
  using inputs::type_;
  using inputs::weights_of;
  using typename inputs::item_place;
  using typename inputs::pack;
  using typename inputs::scratch;
  using typename inputs::step;

 public:
  static constexpr convolution_tile tile{TileChannels, TileRows};
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 2;

  direct_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout,
                       std::int64_t teams)
      : inputs(problem, type, layout), teams_(teams), items_(layout.item_count(problem.images)) {}

  std::int64_t blocks() const { return teams_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const scratch memory = scratch_of(member);
    const int thread = member.team_rank();
    const int part = member.league_rank() % layout_.parts;
    const int team_of_part = member.league_rank() / layout_.parts;
    const int teams_of_part = member.league_size() / layout_.parts;
    const bool is_prefetched = layout_.buffers == 2;

    copy_bias(memory.bias, part, thread);
    step next{team_of_part, 0}, before{items_, 0};
    int buffer = 0;
    C sums[TileChannels][TileRows] = {};
    while (true) {
      const bool has_next = next.item < items_;
      if (has_next) copy_inputs(memory, next, part, buffer, next.item == team_of_part, thread);
      const step now = is_prefetched ? before : next;
      if (now.item < items_) {
        wait_for_copies(is_prefetched && has_next ? 1 : 0);
        member.team_barrier();
        compute(member, memory, now, part, is_prefetched ? 1 - buffer : 0, sums);
        member.team_barrier();
      }
      if (!has_next) break;
      before = next;
      if (++next.chunk == layout_.chunks) next = {next.item + teams_of_part, 0};
      if (is_prefetched) buffer = 1 - buffer;
    }
  }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Member& member, const scratch& memory, const step& now, int part,
                                           int buffer, C (&sums)[TileChannels][TileRows]) const {
    const item_place place = place_of(now.item);
    const int columns = static_cast<int>(problem_.columns);
    const int tasks = place.images * layout_.channel_tiles * layout_.row_tiles * columns;
    const int channels = channels_of(now.chunk);
    const C* const planes = memory.planes + buffer * layout_.planes_elements;
    const C* const weights = weights_of(memory, buffer);
    const int filter = static_cast<int>(problem_.filter_rows * problem_.filter_columns);
    for (int task = member.team_rank(); task < tasks; task += layout_.threads) {
      int rest = task / columns;
      const int column = task - rest * columns;
      int next = rest / layout_.row_tiles;
      const int row = (rest - next * layout_.row_tiles) * TileRows;
      rest = next;
      const int image = rest / layout_.channel_tiles;
      const int tile_of_part = rest - image * layout_.channel_tiles;
      if (now.chunk == 0) {
        PRUMO_UNROLL
        for (int m = 0; m < TileChannels; ++m) {
          PRUMO_UNROLL
          for (int r = 0; r < TileRows; ++r) sums[m][r] = C(0);
        }
      }
      add_products(planes + image * layout_.image_elements +
                       row * static_cast<int>(problem_.row_stride) * layout_.pitch +
                       column * static_cast<int>(problem_.column_stride),
                   weights + tile_of_part * layout_.chunk_channels * filter * TileChannels, channels, sums);
      if (now.chunk + 1 == layout_.chunks) {
        add_bias_and_relu(memory.bias + tile_of_part * TileChannels, sums);
        if (goes_through_scratch(problem_)) {
          keep(place, image, tile_of_part, row, column, sums, memory.results);
        } else {
          store(place, image, part * layout_.channel_tiles + tile_of_part, row, column, sums);
        }
      }
    }
    if (now.chunk + 1 == layout_.chunks && goes_through_scratch(problem_)) finish(member, memory.results, place, part);
  }

  /// sums += weights * elements, for the input channels of a chunk.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(const C* plane, const C* weights, int channels,
                                                C (&sums)[TileChannels][TileRows]) const {
    const int filter_columns = static_cast<int>(problem_.filter_columns);
    const int pitch = layout_.pitch;
    PRUMO_KEEP_LOOP
    for (int c = 0; c < channels; ++c) {
      PRUMO_KEEP_LOOP
      for (int q = 0; q < filter_columns; ++q) {
        if constexpr (FilterRows > 0) {
          C elements[TileRows + FilterRows - 1];
          PRUMO_UNROLL
          for (int i = 0; i < TileRows + FilterRows - 1; ++i) elements[i] = plane[q + i * pitch];
          PRUMO_UNROLL
          for (int p = 0; p < FilterRows; ++p) add_row(elements + p, weights + p * TileChannels, sums);
          weights += FilterRows * TileChannels;
        } else {
          const int filter_rows = static_cast<int>(problem_.filter_rows);
          const int step_rows = static_cast<int>(problem_.row_stride) * pitch;
          const C* row = plane + q;
          PRUMO_KEEP_LOOP
          for (int p = 0; p < filter_rows; ++p) {
            C elements[TileRows];
            PRUMO_UNROLL
            for (int r = 0; r < TileRows; ++r) elements[r] = row[r * step_rows];
            add_row(elements, weights, sums);
            weights += TileChannels;
            row += pitch;
          }
        }
      }
      plane += layout_.plane_elements;
    }
  }

  /// Neighbouring weights that one load brings.
  static constexpr int weights_at_once = TileChannels % pack_elements == 0 ? pack_elements
                                         : TileChannels % 2 == 0           ? 2
                                                                           : 1;

  KOKKOS_FORCEINLINE_FUNCTION static void add_row(const C* elements, const C* weights,
                                                  C (&sums)[TileChannels][TileRows]) {
    using weight_pack = prumo::detail::device_pack<C, weights_at_once>;
    PRUMO_UNROLL
    for (int first = 0; first < TileChannels; first += weights_at_once) {
      const weight_pack loaded = *reinterpret_cast<const weight_pack*>(weights + first);
      PRUMO_UNROLL
      for (int m = 0; m < weights_at_once; ++m) {
        PRUMO_UNROLL
        for (int r = 0; r < TileRows; ++r) {
          sums[first + m][r] = prumo::fma(loaded.values[m], elements[r], sums[first + m][r]);
        }
      }
    }
  }

  /// The longer activations follow in finish().
  KOKKOS_FORCEINLINE_FUNCTION void add_bias_and_relu(const C* bias, C (&sums)[TileChannels][TileRows]) const {
    if (problem_.bias != nullptr) {
      PRUMO_UNROLL
      for (int m = 0; m < TileChannels; ++m) {
        PRUMO_UNROLL
        for (int r = 0; r < TileRows; ++r) sums[m][r] = sums[m][r] + bias[m];
      }
    }
    if (problem_.activation == activation_function::relu) {
      PRUMO_UNROLL
      for (int m = 0; m < TileChannels; ++m) {
        PRUMO_UNROLL
        for (int r = 0; r < TileRows; ++r) sums[m][r] = prumo::maximum(sums[m][r], C(0));
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(const item_place& place, int image, int tile_of_y, int row, int column,
                                         const C (&sums)[TileChannels][TileRows]) const {
    const std::int64_t first_row = place.rows.first + row;
    const int rows = static_cast<int>(place.rows.last - first_row);
    const std::int64_t first_channel = std::int64_t{tile_of_y} * TileChannels;
    const int channels = static_cast<int>(problem_.out_channels - first_channel);
    const std::int64_t row_stride = problem_.y.row_stride;
    const std::int64_t at = (place.first_image + image) * problem_.y.image_stride +
                            first_channel * problem_.y.channel_stride + first_row * row_stride +
                            column * problem_.y.column_stride;
    with_words(at, [&](auto* to, const auto& word_of) {
      PRUMO_UNROLL
      for (int m = 0; m < TileChannels; ++m) {
        if (m >= channels) break;
        auto* of_row = to;
        PRUMO_UNROLL
        for (int r = 0; r < TileRows; ++r) {
          if (r < rows) *of_row = word_of(sums[m][r]);
          of_row += row_stride;
        }
        to += problem_.y.channel_stride;
      }
    });
  }

  /// Calls visit(pointer to an element of y as a word, function that rounds a result to a word).
  template <class Visitor>
  KOKKOS_FORCEINLINE_FUNCTION void with_words(std::int64_t index, const Visitor& visit) const {
    if constexpr (std::is_same_v<C, float>) {
      if (type_ != dtype::f32) {
        const bool is_bf16 = type_ == dtype::bf16;
        visit(reinterpret_cast<std::uint16_t*>(problem_.y.data) + index,
              [=](float value) { return is_bf16 ? bf16(value).bits : f16(value).bits; });
        return;
      }
    }
    visit(problem_.y.data + index, [](C value) { return value; });
  }

  /// Keeps the results in the scratch memory: [image][channel of the part][row of the band][column].
  KOKKOS_FORCEINLINE_FUNCTION void keep(const item_place& place, int image, int tile_of_part, int row, int column,
                                        const C (&sums)[TileChannels][TileRows], C* results) const {
    const int columns = static_cast<int>(problem_.columns);
    const int rows = static_cast<int>(place.rows.convolved_last - place.rows.convolved_first) - row;
    C* const to =
        results +
        ((image * layout_.channel_tiles + tile_of_part) * TileChannels * layout_.convolved_rows + row) * columns +
        column;
    PRUMO_UNROLL
    for (int m = 0; m < TileChannels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < TileRows; ++r) {
        if (r < rows) to[(m * layout_.convolved_rows + r) * columns] = sums[m][r];
      }
    }
  }

  /// Activates the results of an item where that was not done yet, pools them, and stores them in y.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Member& member, C* results, const item_place& place, int part) const {
    const int channels = layout_.channel_tiles * TileChannels;
    member.team_barrier();
    if (problem_.activation != activation_function::none && problem_.activation != activation_function::relu) {
      const int count = place.images * channels * layout_.convolved_rows * static_cast<int>(problem_.columns);
      PRUMO_KEEP_LOOP
      for (int at = member.team_rank(); at < count; at += layout_.threads) {
        results[at] = activated(problem_.activation, results[at]);
      }
      member.team_barrier();
    }
    const int rows = static_cast<int>(place.rows.last - place.rows.first);
    const int columns = static_cast<int>(problem_.y_columns);
    const int first_channel = part * channels;
    const int count = place.images * channels * rows * columns;
    PRUMO_KEEP_LOOP
    for (int at = member.team_rank(); at < count; at += layout_.threads) {
      const int rest = at / columns;
      const int column = at - rest * columns;
      const int plane = rest / rows, row = rest - plane * rows;
      const int image = plane / channels, channel = first_channel + plane - image * channels;
      if (channel >= problem_.out_channels) continue;
      const C result =
          result_at(results + plane * layout_.convolved_rows * static_cast<int>(problem_.columns), place, row, column);
      with_words((place.first_image + image) * problem_.y.image_stride + channel * problem_.y.channel_stride +
                     (place.rows.first + row) * problem_.y.row_stride + column * problem_.y.column_stride,
                 [&](auto* to, const auto& word_of) { *to = word_of(result); });
    }
  }

  /// The result, or the pooled window, of a channel at a place of the band.
  KOKKOS_FORCEINLINE_FUNCTION C result_at(const C* plane, const item_place& place, int row, int column) const {
    using prumo::detail::pooled_window;
    using prumo::detail::pooling_kind;
    const int width = static_cast<int>(problem_.columns);
    if (!problem_.is_pooled()) return plane[row * width + column];
    const pooling_window& window = problem_.window;
    window_range rows(place.rows.first + row, window.row_stride, window.row_padding, window.height, problem_.rows);
    const window_range columns(column, window.column_stride, window.column_padding, window.width, problem_.columns);
    rows.begin -= place.rows.convolved_first;
    rows.end -= place.rows.convolved_first;
    return problem_.pooling == convolution_pooling::maximum
               ? pooled_window<pooling_kind::maximum, C>(plane, width, 1, rows, columns)
               : pooled_window<pooling_kind::mean, C>(plane, width, 1, rows, columns);
  }

  std::int64_t teams_;
  std::int64_t items_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
