// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution on host cores, without copies of the image for each place of the filter.
///
/// A thread takes a band of rows of one image, and copies the part of the image that they need, as *planes*: one for
/// each channel and each remainder of row and column by the strides. In a plane, neighbouring places of the filter are
/// neighbouring elements, whatever the strides are, and rows follow each other without gaps. So a vector register can
/// hold neighbouring places, also across the end of a row: the places there compute nothing that is stored, and there
/// are filter_columns - 1 of them in each row. Or it holds neighbouring output channels, where that takes fewer
/// multiply-adds (channel_tiles.hpp). A tile of sums stays in registers over all taps of the filter.

#include "channel_results.hpp"
#include "convolution_rows.hpp"
#include "direct_convolution_layout.hpp"
#include "gemm_activation.hpp"
#include "image_rows.hpp"
#include "pooling_kernel.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block is a thread that takes one band after the other, with memory of its own.
template <class T>
class direct_convolution_kernel {
  using C = compute_t<T>;
  using vector = simd<C>;
  using tiles = convolution_tiles;

 public:
  direct_convolution_kernel(const convolution_problem<T>& problem, const direct_layout& layout, std::int64_t threads,
                            bool streaming, const C* weights, const std::int64_t* offsets, std::byte* memory)
      : problem_(problem),
        layout_(layout),
        threads_(threads),
        streaming_(streaming),
        weights_(weights),
        offsets_(offsets),
        memory_(memory) {}

  std::int64_t blocks() const { return threads_; }

  /// The bytes of memory for each thread.
  static std::size_t thread_bytes(const convolution_problem<T>& problem, const direct_layout& layout) {
    return buffers_of(problem, layout, nullptr).bytes;
  }

  void operator()(std::int64_t thread) const {
    const buffers own =
        buffers_of(problem_, layout_, memory_ + static_cast<std::size_t>(thread) * thread_bytes(problem_, layout_));
    const std::int64_t items = problem_.images * layout_.bands * layout_.parts;
    // Neighbouring bands go to the same thread, so that it writes to memory in order.
    for (std::int64_t item = items * thread / threads_; item < items * (thread + 1) / threads_; ++item) {
      compute_band(own, item / layout_.parts / layout_.bands, item / layout_.parts % layout_.bands,
                   item % layout_.parts);
    }
    if (streaming_) prumo::detail::streaming_fence();
  }

 private:
  struct buffers {
    C* planes;
    C* sums;  ///< [channel of a tile][place]
    C* sums_by_place;
    C* pooled_by_place;
    C* results;
    C* pooled;
    T* rounded;
    std::size_t bytes;  ///< of all of them
  };

  /// Where the buffers lie in a thread's memory. Without memory, only their size is found out.
  static buffers buffers_of(const convolution_problem<T>& problem, const direct_layout& layout, std::byte* memory) {
    buffers own{};
    const auto take = [&]<class Element>(std::int64_t elements, Element*& pointer) {
      constexpr std::size_t page = 4096, line = 64;
      if (memory != nullptr) pointer = reinterpret_cast<Element*>(memory + own.bytes);
      // Buffers that begin at the same place of a page would share the same sets of a cache.
      own.bytes += (static_cast<std::size_t>(elements) * sizeof(Element) + page - 1) / page * page + line;
    };
    take(layout.planes_elements(problem.in_channels), own.planes);
    take(layout.most_channels<C>() * layout.sums_per_channel, own.sums);
    if (layout.registers == register_kind::channels) {
      take(layout.most_channels<C>() * layout.sums_per_channel, own.sums_by_place);
      take(layout.most_channels<C>() * layout.sums_per_channel, own.pooled_by_place);
    }
    take(layout.block_elements, own.results);
    take(layout.block_rows * problem.y_columns, own.pooled);
    take(std::max(layout.block_elements, layout.block_rows * problem.y_columns), own.rounded);
    return own;
  }

  void compute_band(const buffers& own, std::int64_t image, std::int64_t band, std::int64_t part) const {
    const convolution_rows of_band(problem_, band * layout_.band_rows,
                                   std::min(problem_.y_rows, (band + 1) * layout_.band_rows));
    copy_planes(own, image, of_band);
    for (std::int64_t first = of_band.first; first < of_band.last; first += layout_.block_rows) {
      const convolution_rows rows(problem_, first, std::min(of_band.last, first + layout_.block_rows));
      const C* const places = own.planes + (rows.convolved_first - of_band.convolved_first) * layout_.pitch;
      std::int64_t channel = 0;
      for (std::int64_t tile = 0; channel < problem_.out_channels; ++tile) {
        const std::int64_t channels = layout_.channels_of_next<C>(problem_.out_channels - channel);
        if (tile % layout_.parts == part) compute_channels(own, image, rows, places, channel, channels);
        channel += channels;
      }
    }
  }

  /// Fills the planes with the rows that a band needs. What lies beside the image is zero.
  void copy_planes(const buffers& own, std::int64_t image, const convolution_rows& band) const {
    const std::int64_t plane_rows = band.convolved_last - band.convolved_first + layout_.extra_rows;
    C* plane = own.planes;
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      const image_rows<T> source{problem_.x.plane(image, c), problem_.height, problem_.width, problem_.x.row_stride,
                                 problem_.x.column_stride};
      for (std::int64_t row_phase = 0; row_phase < layout_.row_phases; ++row_phase) {
        for (std::int64_t column_phase = 0; column_phase < layout_.column_phases; ++column_phase) {
          for (std::int64_t i = 0; i < plane_rows; ++i) {
            const std::int64_t row =
                (band.convolved_first + i) * problem_.row_stride + row_phase - problem_.row_padding;
            source.copy(row, column_phase - problem_.column_padding, problem_.column_stride, layout_.pitch,
                        plane + i * layout_.pitch);
          }
          plane += layout_.plane_elements;
        }
      }
    }
  }

  void compute_channels(const buffers& own, std::int64_t image, const convolution_rows& rows, const C* places,
                        std::int64_t first_channel, std::int64_t channels) const {
    if (layout_.registers == register_kind::channels) {
      return compute_with_registers_of_channels(own, image, rows, places, first_channel, channels);
    }
    add_with_registers_of_places(own, rows.convolved_last - rows.convolved_first, places,
                                 weights_ + first_channel * problem_.taps(), channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      finish_channel(own, image, rows, first_channel + c, own.sums + c * layout_.sums_per_channel);
    }
  }

  void compute_with_registers_of_channels(const buffers& own, std::int64_t image, const convolution_rows& rows,
                                          const C* places, std::int64_t first_channel, std::int64_t channels) const {
    using tiles_of_channels = channel_tiles<C>;
    const filter_taps<C> taps{problem_.taps(), weights_ + first_channel * problem_.taps(), offsets_};
    for (std::int64_t r = 0; r < rows.convolved_last - rows.convolved_first; ++r) {
      tiles_of_channels::add_row(problem_.columns, channels, places + r * layout_.pitch, taps,
                                 own.sums_by_place + r * problem_.columns * channels);
    }
    const C* const by_place =
        channel_results<T>(problem_, first_channel, channels).finish(rows, own.sums_by_place, own.pooled_by_place);
    const std::int64_t count = rows.last - rows.first;
    tiles_of_channels::transpose(by_place, count * problem_.y_columns, channels, own.sums, layout_.sums_per_channel);
    const std::int64_t there = std::min(channels, problem_.out_channels - first_channel);
    for (std::int64_t c = 0; c < there; ++c) {
      store_rows(own, own.sums + c * layout_.sums_per_channel, count,
                 problem_.y.plane(image, first_channel + c) + rows.first * problem_.y.row_stride);
    }
  }

  void add_with_registers_of_places(const buffers& own, std::int64_t rows, const C* places, const C* weights,
                                    std::int64_t channels) const {
    const std::int64_t count = (rows - 1) * layout_.pitch + problem_.columns;
    tiles::with_channels(channels, [&]<int Channels>(std::integral_constant<int, Channels>) {
      constexpr int registers = tiles::registers_of(Channels);
      std::int64_t at = 0;
      for (; at + registers * vector::lanes <= count; at += registers * vector::lanes) {
        add_taps<Channels, registers>(places + at, weights, own.sums + at);
      }
      for (; at < count; at += vector::lanes) add_taps<Channels, 1>(places + at, weights, own.sums + at);
    });
  }

  /// The sums of `Registers` registers of places, for some channels.
  template <int Channels, int Registers>
  void add_taps(const C* places, const C* weights, C* sums) const {
    const std::int64_t taps = problem_.taps(), sums_per_channel = layout_.sums_per_channel;
    using prumo::detail::for_each_register;
    vector held[Channels][Registers];
    for_each_register<Channels, Registers>([&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    for (std::int64_t tap = 0; tap < taps; ++tap, weights += Channels) {
      const C* const from = places + offsets_[tap];
      // What is fewer, weights or places, stays in registers beside the sums.
      if constexpr (Channels < Registers) {
        vector weight[Channels];
        for_each_register<1, Channels>([&](int, int i) PRUMO_ALWAYS_INLINE { weight[i] = vector(weights[i]); });
        for_each_register<Registers, Channels>([&](int j, int i) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(weight[i], vector::load(from + j * vector::lanes), held[i][j]);
        });
      } else {
        vector loaded[Registers];
        for_each_register<1, Registers>(
            [&](int, int j) PRUMO_ALWAYS_INLINE { loaded[j] = vector::load(from + j * vector::lanes); });
        for_each_register<Channels, Registers>(
            [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = fma(vector(weights[i]), loaded[j], held[i][j]); });
      }
    }
    for_each_register<Channels, Registers>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(sums + i * sums_per_channel + j * vector::lanes); });
  }

  /// Bias, activation and pooling of one channel's sums, and what is stored in y.
  void finish_channel(const buffers& own, std::int64_t image, const convolution_rows& rows, std::int64_t channel,
                      const C* sums) const {
    const C bias = problem_.bias != nullptr ? static_cast<C>(problem_.bias[channel * problem_.bias_stride]) : C(0);
    T* const target = problem_.y.plane(image, channel) + rows.first * problem_.y.row_stride;
    const std::int64_t count = rows.last - rows.first, windows = count * problem_.y_columns;
    // A maximum plus a bias has the bits of the maximum of sums plus the bias, because rounding rises.
    if (problem_.activates_maxima() && std::isfinite(bias)) {
      pool<prumo::detail::pooling_kind::maximum>(rows, sums, layout_.sum_pitch, own.pooled);
      add_bias(bias, own.pooled, windows, own.pooled);
      activate(problem_.activation, own.pooled, windows);
      return store_rows(own, own.pooled, count, target);
    }
    const std::int64_t convolved = rows.convolved_last - rows.convolved_first, columns = problem_.columns;
    for (std::int64_t r = 0; r < convolved; ++r) {
      add_bias(bias, sums + r * layout_.sum_pitch, columns, own.results + r * columns);
    }
    if (!problem_.activates_maxima()) activate(problem_.activation, own.results, convolved * columns);
    switch (problem_.pooling) {
      using prumo::detail::pooling_kind;
      case convolution_pooling::none: return store_rows(own, own.results, count, target);
      case convolution_pooling::maximum: pool<pooling_kind::maximum>(rows, own.results, columns, own.pooled); break;
      case convolution_pooling::mean: pool<pooling_kind::mean>(rows, own.results, columns, own.pooled); break;
    }
    if (problem_.activates_maxima()) activate(problem_.activation, own.pooled, windows);
    store_rows(own, own.pooled, count, target);
  }

  /// Without a bias, -0 stays -0.
  void add_bias(C bias, const C* from, std::int64_t count, C* to) const {
    if (problem_.bias != nullptr) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) to[j] = from[j] + bias;
    } else if (to != from) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(C));
    }
  }

  /// Pools the rows of a block. Row 0 of the results is row `convolved_first` of the convolution.
  /// \param pitch from a row of the results to the next
  template <prumo::detail::pooling_kind Kind>
  void pool(const convolution_rows& rows, const C* results, std::int64_t pitch, C* pooled) const {
    pooling_window window = problem_.window;
    window.row_padding += rows.convolved_first - rows.first * window.row_stride;
    const prumo::detail::pooled_row<Kind, C, C> row_of(window, rows.convolved_last - rows.convolved_first,
                                                       problem_.columns);
    const std::int64_t stretch = prumo::detail::windows_at_once(window);
    for (std::int64_t row = 0; row < rows.last - rows.first; ++row) {
      for (std::int64_t begin = 0; begin < problem_.y_columns; begin += stretch) {
        row_of.compute(results, pitch, 1, row, begin, std::min(problem_.y_columns, begin + stretch),
                       pooled + row * problem_.y_columns + begin);
      }
    }
  }

  /// Rounds and stores `count` rows of y.
  void store_rows(const buffers& own, const C* values, std::int64_t count, T* target) const {
    const std::int64_t columns = problem_.y_columns;
    if (problem_.y.column_stride == 1 && problem_.y.row_stride == columns) {
      store_run(own, values, count * columns, target);
      return;
    }
    const std::int64_t step = problem_.y.column_stride;
    for (std::int64_t r = 0; r < count; ++r) {
      T* const to = target + r * problem_.y.row_stride;
      const C* const from = values + r * columns;
      if (step == 1) {
        store_run(own, from, columns, to);
      } else {
        for (std::int64_t j = 0; j < columns; ++j) to[j * step] = static_cast<T>(from[j]);
      }
    }
  }

  void store_run(const buffers& own, const C* values, std::int64_t count, T* to) const {
    if constexpr (std::is_same_v<T, C>) {
      if (streaming_) {
        prumo::detail::stream_run(to, values, count);
      } else {
        std::memcpy(to, values, static_cast<std::size_t>(count) * sizeof(T));
      }
    } else {
      T* const rounded = streaming_ ? own.rounded : to;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) rounded[j] = static_cast<T>(values[j]);
      if (streaming_) prumo::detail::stream_run(to, rounded, count);
    }
  }

  convolution_problem<T> problem_;
  direct_layout layout_;
  std::int64_t threads_;
  bool streaming_;
  const C* weights_;
  const std::int64_t* offsets_;
  std::byte* memory_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
