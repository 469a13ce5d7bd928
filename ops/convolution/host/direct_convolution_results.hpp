// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The way of the sums of the direct convolution on host cores to y: activation, pooling, rounding, and storing.

#include "convolution_rows.hpp"
#include "direct_convolution_layout.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"
#include "side_by_side_windows.hpp"
#include <prumo/detail/host/number_runs.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T>
class direct_convolution_results {
 protected:
  using C = compute_t<T>;

  /// \param streaming whether results go past the caches
  direct_convolution_results(const convolution_problem<T>& problem, const direct_layout& layout, bool streaming)
      : problem_(problem), layout_(layout), streaming_(streaming) {}

  /// The memory of a thread.
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

  convolution_problem<T> problem_;
  direct_layout layout_;
  bool streaming_;

 private:
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
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
