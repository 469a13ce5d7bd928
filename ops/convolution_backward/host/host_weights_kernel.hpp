// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradient of a convolution's filters on host cores.
///
/// For one weight it is the scalar product of the rows of dy, one behind the other, with those of x, from the weight's
/// place in the filter on. So a register holds neighbouring places, and a tile of sums for several output channels and
/// several weights stays in registers over all places of a chunk of images. Only then are the lanes of a register added
/// up. The bias' gradient is that of a weight which meets ones.

#include "host/direct_convolution_layout.hpp"
#include "host/image_rows.hpp"
#include "host_weights_layout.hpp"
#include <prumo/detail/host/register_tile.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block is a thread, with memory of its own. If there are fewer groups than threads, several threads take a group,
/// each with a part of the output channels.
template <class T>
class host_weights_kernel {
  using C = compute_t<T>;
  using vector = simd<C>;
  using tiles = convolution_tiles;

 public:
  host_weights_kernel(const backward_weights_problem<T>& problem, const host_weights_layout<C>& layout,
                      std::int64_t threads, std::int64_t parts, const std::int64_t* offsets, C* partial_sums, C* memory)
      : problem_(problem),
        layout_(layout),
        threads_(threads),
        parts_(parts),
        offsets_(offsets),
        partial_sums_(partial_sums),
        memory_(memory) {}

  std::int64_t blocks() const { return threads_; }

  void operator()(std::int64_t thread) const {
    C* const x = memory_ + thread * layout_.elements();
    C* const dy = x + layout_.chunk * layout_.x_item;
    if (problem_.has_bias) {
      for (std::int64_t item = 0; item < layout_.chunk; ++item) {
        C* const end = x + (item + 1) * layout_.x_item;
        std::fill(end - layout_.dy_plane, end, C(1));
      }
    }
    const std::int64_t shares = layout_.groups * parts_;
    for (std::int64_t share = shares * thread / threads_; share < shares * (thread + 1) / threads_; ++share) {
      const std::int64_t group = share / parts_, end = layout_.begin_of(group + 1);
      C* const sums = partial_sums_ + group * problem_.outputs();
      bool is_first = true;
      for (std::int64_t item = layout_.begin_of(group); item < end; item += layout_.chunk) {
        add_chunk(item, std::min(end, item + layout_.chunk), share % parts_, x, dy, sums, is_first);
        is_first = false;
      }
    }
  }

  /// Where in the planes of an item each weight of a filter begins; behind them the ones of the bias.
  static void write_offsets(const backward_weights_problem<T>& problem, const host_weights_layout<C>& layout,
                            std::int64_t* offsets) {
    for (std::int64_t c = 0; c < problem.in_channels; ++c) {
      for (std::int64_t p = 0; p < problem.filter_rows; ++p) {
        for (std::int64_t q = 0; q < problem.filter_columns; ++q) {
          const std::int64_t row_phase = p % problem.row_stride, column_phase = q % problem.column_stride;
          const std::int64_t plane = (c * layout.row_phases + row_phase) * layout.column_phases + column_phase;
          *offsets++ = plane * layout.x_plane + p / problem.row_stride * layout.pitch + q / problem.column_stride;
        }
      }
    }
    if (problem.has_bias) *offsets = layout.x_item - layout.dy_plane;
  }

 private:
  void add_chunk(std::int64_t begin, std::int64_t end, std::int64_t part, C* x, C* dy, C* sums, bool is_first) const {
    for (std::int64_t item = begin; item < end; ++item) {
      copy_item(item, x + (item - begin) * layout_.x_item, dy + (item - begin) * layout_.dy_item);
    }
    std::int64_t channel = 0;
    for (std::int64_t tile = 0; channel < problem_.out_channels; ++tile) {
      const std::int64_t channels = tiles::channels_of_next(problem_.out_channels - channel);
      if (tile % parts_ == part) {
        tiles::with_channels(channels, [&]<int Channels>(std::integral_constant<int, Channels>) {
          add_channels<Channels>(begin, end, channel, x, dy, sums, is_first);
        });
      }
      channel += channels;
    }
  }

  std::int64_t rows_of(std::int64_t item) const {
    const std::int64_t first = item % layout_.bands * layout_.band_rows;
    return std::min(layout_.band_rows, problem_.rows - first);
  }

  void copy_item(std::int64_t item, C* x, C* dy) const {
    constexpr std::int64_t lanes = vector::lanes;
    const std::int64_t image = item / layout_.bands, first = item % layout_.bands * layout_.band_rows;
    const std::int64_t rows = rows_of(item), pitch = layout_.pitch;
    const column_phases columns(problem_.width, problem_.column_padding, problem_.column_stride, layout_.column_phases,
                                pitch);
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      const image_rows<T> source{problem_.x.plane(image, c), problem_.height, problem_.width, problem_.x.row_stride,
                                 problem_.x.column_stride};
      for (std::int64_t row_phase = 0; row_phase < layout_.row_phases; ++row_phase) {
        source.copy(first * problem_.row_stride + row_phase - problem_.row_padding, problem_.row_stride,
                    rows + layout_.extra_rows, columns, x, pitch, layout_.x_plane);
        for (std::int64_t phase = 0; phase < layout_.column_phases; ++phase, x += layout_.x_plane) {
          C* const behind = x + (rows + layout_.extra_rows) * pitch;
          std::fill(behind, behind + lanes, C(0));
        }
      }
    }
    const column_phases of_gradient(problem_.columns, 0, 1, 1, pitch);
    for (std::int64_t m = 0; m < problem_.out_channels; ++m) {
      const image_rows<T> source{problem_.dy.plane(image, m), problem_.rows, problem_.columns, problem_.dy.row_stride,
                                 problem_.dy.column_stride};
      C* const to = dy + m * layout_.dy_plane;
      source.copy(first, 1, rows, of_gradient, to, pitch, 0);
      std::fill(to + rows * pitch, to + rows * pitch + lanes, C(0));
    }
  }

  template <int Channels>
  void add_channels(std::int64_t begin, std::int64_t end, std::int64_t channel, const C* x, const C* dy, C* sums,
                    bool is_first) const {
    constexpr int taps = tiles::registers_of(Channels);
    const std::int64_t all = problem_.taps() + (problem_.has_bias ? 1 : 0);
    std::int64_t tap = 0;
    for (; tap + taps <= all; tap += taps) add_tile<Channels, taps>(begin, end, channel, tap, x, dy, sums, is_first);
    for (; tap < all; ++tap) add_tile<Channels, 1>(begin, end, channel, tap, x, dy, sums, is_first);
  }

  template <int Channels, int Taps>
  void add_tile(std::int64_t begin, std::int64_t end, std::int64_t channel, std::int64_t tap, const C* x, const C* dy,
                C* sums, bool is_first) const {
    using prumo::detail::for_each_register;
    const std::int64_t distance = layout_.dy_plane;
    vector held[Channels][Taps];
    for_each_register<Channels, Taps>([&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    for (std::int64_t item = begin; item < end; ++item) {
      const C* const gradient = dy + (item - begin) * layout_.dy_item + channel * distance;
      const C* from[Taps];
      for (int j = 0; j < Taps; ++j) from[j] = x + (item - begin) * layout_.x_item + offsets_[tap + j];
      const std::int64_t count = (rows_of(item) - 1) * layout_.pitch + problem_.columns;
      for (std::int64_t at = 0; at < count; at += vector::lanes) {
        vector loaded[Taps];
        for_each_register<1, Taps>([&](int, int j) PRUMO_ALWAYS_INLINE { loaded[j] = vector::load(from[j] + at); });
        for_each_register<Channels, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
          const vector factor = vector::load(gradient + i * distance + at);
          for_each_register<1, Taps>([&](int, int j)
                                         PRUMO_ALWAYS_INLINE { held[i][j] = fma(factor, loaded[j], held[i][j]); });
        });
      }
    }
    for_each_register<Channels, Taps>([&](int i, int j) PRUMO_ALWAYS_INLINE {
      const std::int64_t m = channel + i, weight = tap + j;
      C& sum = weight < problem_.taps() ? sums[m * problem_.taps() + weight] : sums[problem_.weights() + m];
      const C added = sum_of_lanes(held[i][j]);
      sum = is_first ? added : sum + added;
    });
  }

  /// By halves, so that log2(lanes) roundings follow upon each other.
  static C sum_of_lanes(const vector& from) {
    C lanes[vector::lanes];
    from.store(lanes);
    for (int half = vector::lanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) lanes[lane] = lanes[lane] + lanes[lane + half];
    }
    return lanes[0];
  }

  backward_weights_problem<T> problem_;
  host_weights_layout<C> layout_;
  std::int64_t threads_;
  std::int64_t parts_;
  const std::int64_t* offsets_;
  C* partial_sums_;
  C* memory_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
