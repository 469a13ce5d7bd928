// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution on host cores, without copies of the image for each place of the filter.
///
/// A thread takes a band of rows of one image, and copies the part of the image that they need, as *planes*: one for
/// each channel and each remainder of row and column by the strides. In a plane, neighbouring places of the filter are
/// neighbouring elements, whatever the strides are, and rows follow each other without gaps. Images that lie so already
/// are not copied. A vector register holds neighbouring places of a row (place_tiles.hpp); or neighbouring places also
/// across the end of a row: the places there compute nothing that is stored, and there are filter_columns - 1 of them
/// in each row; or neighbouring output channels (channel_tiles.hpp). The layout takes what needs the fewest
/// multiply-adds. A tile of sums stays in registers over all taps of the filter.

#include "channel_results.hpp"
#include "convolution_rows.hpp"
#include "direct_convolution_layout.hpp"
#include "gemm_activation.hpp"
#include "image_rows.hpp"
#include "pooling_kernel.hpp"
#include "side_by_side_windows.hpp"
#include <prumo/detail/host/number_runs.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block is a thread that takes one band after the other, with memory of its own.
template <class T>
class direct_convolution_kernel {
  using C = compute_t<T>;

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
    prumo::detail::streamed_sequence results;
    const std::int64_t items = problem_.images * layout_.bands * layout_.parts;
    // Neighbouring bands go to the same thread, so that it writes to memory in order.
    for (std::int64_t item = items * thread / threads_; item < items * (thread + 1) / threads_; ++item) {
      const std::int64_t image = item / layout_.parts / layout_.bands;
      compute_band(own, image, item / layout_.parts % layout_.bands, item % layout_.parts);
      if (layout_.stages_results) {
        results.append(problem_.y.plane(image, 0), own.staged, problem_.out_channels * problem_.y.channel_stride);
      }
    }
    results.finish();
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
    T* staged;          ///< all results of an image, as they lie in y
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
    if (layout.stages_results) take(problem.out_channels * problem.y.channel_stride, own.staged);
    return own;
  }

  void compute_band(const buffers& own, std::int64_t image, std::int64_t band, std::int64_t part) const {
    const convolution_rows of_band(problem_, band * layout_.band_rows,
                                   std::min(problem_.y_rows, (band + 1) * layout_.band_rows));
    const C* const planes = planes_of(own, image, of_band);
    for (std::int64_t first = of_band.first; first < of_band.last; first += layout_.block_rows) {
      const convolution_rows rows(problem_, first, std::min(of_band.last, first + layout_.block_rows));
      const C* const places = planes + (rows.convolved_first - of_band.convolved_first) * layout_.pitch;
      std::int64_t channel = 0;
      for (std::int64_t tile = 0; channel < problem_.out_channels; ++tile) {
        const std::int64_t channels = layout_.channels_of_next<C>(problem_.out_channels - channel);
        if (tile % layout_.parts == part) compute_channels(own, image, rows, places, channel, channels);
        channel += channels;
      }
    }
  }

  /// The planes of a band: the rows of the image itself, or a copy.
  const C* planes_of(const buffers& own, std::int64_t image, const convolution_rows& band) const {
    if constexpr (std::is_same_v<T, C>) {
      if (layout_.takes_images) return problem_.x.plane(image, 0) + band.convolved_first * layout_.pitch;
    }
    copy_planes(own, image, band);
    return own.planes;
  }

  /// Fills the planes with the rows that a band needs. What lies beside the image is zero.
  void copy_planes(const buffers& own, std::int64_t image, const convolution_rows& band) const {
    const std::int64_t plane_rows = band.convolved_last - band.convolved_first + layout_.extra_rows;
    const column_phases columns(problem_.width, problem_.column_padding, problem_.column_stride, layout_.column_phases,
                                layout_.pitch);
    C* plane = own.planes;
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      const image_rows<T> source{problem_.x.plane(image, c), problem_.height, problem_.width, problem_.x.row_stride,
                                 problem_.x.column_stride};
      for (std::int64_t row_phase = 0; row_phase < layout_.row_phases; ++row_phase) {
        source.copy(band.convolved_first * problem_.row_stride + row_phase - problem_.row_padding, problem_.row_stride,
                    plane_rows, columns, plane, layout_.pitch, layout_.plane_elements);
        plane += layout_.column_phases * layout_.plane_elements;
      }
    }
  }

  void compute_channels(const buffers& own, std::int64_t image, const convolution_rows& rows, const C* places,
                        std::int64_t first_channel, std::int64_t channels) const {
    if (layout_.registers == register_kind::channels) {
      return compute_with_registers_of_channels(own, image, rows, places, first_channel, channels);
    }
    const std::int64_t convolved = rows.convolved_last - rows.convolved_first, columns = problem_.columns;
    const place_rows of_places =
        layout_.joins_rows ? place_rows{1, (convolved - 1) * layout_.pitch + columns, layout_.pitch, layout_.pitch}
                           : place_rows{convolved, columns, layout_.pitch, columns};
    C biases[convolution_tiles::most_channels] = {};
    if (problem_.bias != nullptr) {
      for (std::int64_t c = 0; c < channels; ++c) {
        biases[c] = static_cast<C>(problem_.bias[(first_channel + c) * problem_.bias_stride]);
      }
    }
    C* sums = own.sums;
    std::int64_t sums_per_channel = layout_.sums_per_channel;
    if constexpr (std::is_same_v<T, C>) {
      if (sums_lie_in_y()) {
        sums = results_of(own, image, first_channel, rows.first);
        sums_per_channel = problem_.y.channel_stride;
      }
    }
    place_tiles<C>::add(of_places, channels, places,
                        {problem_.taps(), weights_ + first_channel * problem_.taps(), offsets_},
                        problem_.bias != nullptr ? biases : nullptr, sums, sums_per_channel);
    for (std::int64_t c = 0; c < channels; ++c) {
      finish_channel(own, image, rows, first_channel + c, sums + c * sums_per_channel);
    }
  }

  /// Prefetches the lines of y in which a row's results will be stored, while their sums are computed.
  void prefetch_results(std::int64_t image, std::int64_t first_channel, std::int64_t channels, std::int64_t row) const {
    if (problem_.y.column_stride != 1) return;
    constexpr auto of_line = static_cast<std::int64_t>(64 / sizeof(T));
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* const to = problem_.y.plane(image, first_channel + c) + row * problem_.y.row_stride;
      for (std::int64_t j = 0; j < problem_.y_columns; j += of_line) __builtin_prefetch(to + j, 1);
    }
  }

  /// Where results are stored from a row on.
  T* results_of(const buffers& own, std::int64_t image, std::int64_t channel, std::int64_t row) const {
    T* const plane =
        layout_.stages_results ? own.staged + channel * problem_.y.channel_stride : problem_.y.plane(image, channel);
    return plane + row * problem_.y.row_stride;
  }

  /// Whether each block stores its results past the caches.
  bool streams_blocks() const { return streaming_ && !layout_.stages_results; }

  bool y_rows_lie_together() const {
    return problem_.y.column_stride == 1 && problem_.y.row_stride == problem_.y_columns;
  }
  /// Whether sums are stored in y and finished there.
  bool sums_lie_in_y() const {
    return std::is_same_v<T, C> && !layout_.joins_rows && !problem_.is_pooled() && !streams_blocks() &&
           y_rows_lie_together() && problem_.columns >= simd<C>::lanes;
  }

  void compute_with_registers_of_channels(const buffers& own, std::int64_t image, const convolution_rows& rows,
                                          const C* places, std::int64_t first_channel, std::int64_t channels) const {
    using tiles_of_channels = channel_tiles<C>;
    const filter_taps<C> taps{problem_.taps(), weights_ + first_channel * problem_.taps(), offsets_,
                              direct_layout::neighbouring_taps(problem_)};
    const std::int64_t there = std::min(channels, problem_.out_channels - first_channel);
    for (std::int64_t r = 0; r < rows.convolved_last - rows.convolved_first; ++r) {
      if (!problem_.is_pooled() && !streaming_) prefetch_results(image, first_channel, there, rows.first + r);
      tiles_of_channels::add_row(problem_.columns, channels, places + r * layout_.pitch, taps,
                                 own.sums_by_place + r * problem_.columns * channels);
    }
    const C* const by_place =
        channel_results<T>(problem_, first_channel, channels).finish(rows, own.sums_by_place, own.pooled_by_place);
    const std::int64_t count = rows.last - rows.first, results = count * problem_.y_columns;
    if constexpr (std::is_same_v<T, C>) {
      if (there == channels && !streams_blocks() && y_rows_lie_together() &&
          results >= tiles_of_channels::transposed_at_once) {
        tiles_of_channels::transpose_exactly(
            by_place, results, channels, results_of(own, image, first_channel, rows.first), problem_.y.channel_stride);
        return;
      }
    }
    tiles_of_channels::transpose(by_place, results, channels, own.sums, layout_.sums_per_channel);
    for (std::int64_t c = 0; c < there; ++c) {
      store_rows(own, own.sums + c * layout_.sums_per_channel, count,
                 results_of(own, image, first_channel + c, rows.first));
    }
  }

  /// Activation and pooling of one channel's sums, and what is stored in y. Sums between the rows are changed, too.
  void finish_channel(const buffers& own, std::int64_t image, const convolution_rows& rows, std::int64_t channel,
                      C* sums) const {
    T* const target = results_of(own, image, channel, rows.first);
    const std::int64_t count = rows.last - rows.first, pitch = layout_.sum_pitch;
    if (!problem_.activates_maxima()) {
      const std::int64_t convolved = rows.convolved_last - rows.convolved_first;
      activate(problem_.activation, sums, (convolved - 1) * pitch + problem_.columns);
    }
    if (!problem_.is_pooled()) {
      if (!sums_lie_in_y()) store_rows(own, without_gaps(own, sums, count), count, target);
      return;
    }
    C* pooled = own.pooled;
    bool lies_in_y = false;
    if constexpr (std::is_same_v<T, C>) {
      lies_in_y = y_rows_lie_together() && !streams_blocks();
      if (lies_in_y) pooled = target;
    }
    if (problem_.pooling == convolution_pooling::maximum) {
      pool<prumo::detail::pooling_kind::maximum>(rows, sums, pitch, pooled);
    } else {
      pool<prumo::detail::pooling_kind::mean>(rows, sums, pitch, pooled);
    }
    if (problem_.activates_maxima()) activate(problem_.activation, pooled, count * problem_.y_columns);
    if (!lies_in_y) store_rows(own, pooled, count, target);
  }

  /// Rows of sums that follow each other.
  const C* without_gaps(const buffers& own, const C* sums, std::int64_t rows) const {
    const std::int64_t columns = problem_.columns;
    if (layout_.sum_pitch == columns) return sums;
    for (std::int64_t r = 0; r < rows; ++r) {
      prumo::detail::copy_run(sums + r * layout_.sum_pitch, columns, own.results + r * columns);
    }
    return own.results;
  }

  /// Pools the rows of a block. Row 0 of the results is row `convolved_first` of the convolution.
  /// \param pitch from a row of the results to the next
  template <prumo::detail::pooling_kind Kind>
  void pool(const convolution_rows& rows, const C* results, std::int64_t pitch, C* pooled) const {
    pooling_window window = problem_.window;
    if (prumo::detail::pool_side_by_side<Kind>(results, pitch, window, rows.convolved_last - rows.convolved_first,
                                               problem_.columns, rows.last - rows.first, problem_.y_columns, pooled)) {
      return;
    }
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
    if (y_rows_lie_together()) {
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
      if (streams_blocks()) {
        prumo::detail::stream_run(to, values, count);
      } else {
        std::memcpy(to, values, static_cast<std::size_t>(count) * sizeof(T));
      }
    } else {
      T* const rounded = streams_blocks() ? own.rounded : to;
      prumo::detail::round_run(values, count, rounded);
      if (streams_blocks()) prumo::detail::stream_run(to, rounded, count);
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
