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
#include "direct_convolution_results.hpp"
#include "image_rows.hpp"
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block is a thread that takes one band after the other, with memory of its own.
template <class T>
class direct_convolution_kernel : direct_convolution_results<T> {
  using results_to_y = direct_convolution_results<T>;
  using results_to_y::buffers_of;
  using results_to_y::finish_channel;
  using results_to_y::layout_;
  using results_to_y::problem_;
  using results_to_y::results_of;
  using results_to_y::store_rows;
  using results_to_y::streaming_;
  using results_to_y::streams_blocks;
  using results_to_y::sums_lie_in_y;
  using results_to_y::y_rows_lie_together;
  using typename results_to_y::buffers;
  using typename results_to_y::C;

 public:
  direct_convolution_kernel(const convolution_problem<T>& problem, const direct_layout& layout, std::int64_t threads,
                            bool streaming, const C* weights, const std::int64_t* offsets, std::byte* memory)
      : results_to_y(problem, layout, streaming),
        threads_(threads),
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
    prumo::detail::streamed_sequence stored;
    const std::int64_t items = problem_.images * layout_.bands * layout_.parts;
    // Neighbouring bands go to the same thread, so that it writes to memory in order.
    for (std::int64_t item = items * thread / threads_; item < items * (thread + 1) / threads_; ++item) {
      const std::int64_t image = item / layout_.parts / layout_.bands;
      compute_band(own, image, item / layout_.parts % layout_.bands, item % layout_.parts);
      if (layout_.stages_results) {
        stored.append(problem_.y.plane(image, 0), own.staged, problem_.out_channels * problem_.y.channel_stride);
      }
    }
    stored.finish();
    if (streaming_) prumo::detail::streaming_fence();
  }

 private:
  void compute_band(const buffers& own, std::int64_t image, std::int64_t band, std::int64_t part) const {
    const convolution_rows of_band(problem_, band * layout_.band_rows,
                                   std::min(problem_.y_rows, (band + 1) * layout_.band_rows));
    const C* const planes = planes_of(own, image, of_band);
    for (std::int64_t first = of_band.first; first < of_band.last; first += layout_.block_rows) {
      const convolution_rows rows(problem_, first, std::min(of_band.last, first + layout_.block_rows));
      const C* const places = planes + (rows.convolved_first - of_band.convolved_first) * layout_.pitch;
      std::int64_t channel = 0;
      for (std::int64_t tile = 0; channel < problem_.out_channels; ++tile) {
        const std::int64_t channels = layout_.template channels_of_next<C>(problem_.out_channels - channel);
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

  std::int64_t threads_;
  const C* weights_;
  const std::int64_t* offsets_;
  std::byte* memory_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
