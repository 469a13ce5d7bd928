// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Bias, activation and pooling of sums whose output channels are neighbours. Each is computed for a register of
/// channels at a time, so windows of any shape need no shuffles.

#include "channel_tiles.hpp"
#include "convolution_problem.hpp"
#include "convolution_rows.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"

#include <cmath>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// For the channels of one tile.
template <class T>
class channel_results {
  using C = compute_t<T>;
  using vector = simd<C>;

 public:
  channel_results(const convolution_problem<T>& problem, std::int64_t first_channel, std::int64_t channels)
      : problem_(problem), channels_(channels) {
    if (problem.bias == nullptr) return;
    for (std::int64_t c = 0; c < channels && first_channel + c < problem.out_channels; ++c) {
      biases_[c] = static_cast<C>(problem.bias[(first_channel + c) * problem.bias_stride]);
      has_finite_biases_ = has_finite_biases_ && std::isfinite(biases_[c]);
    }
  }

  /// \param sums [place of the convolution][channel]; they are overwritten
  /// \param pooled room for the windows
  /// \return where the results lie: [place of y][channel]
  C* finish(const convolution_rows& rows, C* sums, C* pooled) const {
    const std::int64_t places = (rows.convolved_last - rows.convolved_first) * problem_.columns;
    const std::int64_t windows = (rows.last - rows.first) * problem_.y_columns;
    // A maximum plus a bias has the bits of the maximum of sums plus the bias, because rounding rises.
    const bool takes_maxima_first = problem_.activates_maxima() && has_finite_biases_;
    if (!takes_maxima_first) {
      add_biases(sums, places);
      if (!problem_.activates_maxima()) activate(problem_.activation, sums, places * channels_);
    }
    if (!problem_.is_pooled()) return sums;
    if (problem_.pooling == convolution_pooling::maximum) {
      pool<prumo::detail::pooling_kind::maximum>(rows, sums, pooled);
    } else {
      pool<prumo::detail::pooling_kind::mean>(rows, sums, pooled);
    }
    if (takes_maxima_first) add_biases(pooled, windows);
    if (problem_.activates_maxima()) activate(problem_.activation, pooled, windows * channels_);
    return pooled;
  }

 private:
  /// Without a bias, -0 stays -0.
  void add_biases(C* values, std::int64_t places) const {
    if (problem_.bias == nullptr) return;
    for (std::int64_t place = 0; place < places; ++place, values += channels_) {
      for (std::int64_t c = 0; c < channels_; c += vector::lanes) {
        (vector::load(values + c) + vector::load(biases_ + c)).store(values + c);
      }
    }
  }

  /// Row 0 of the sums is row `convolved_first` of the convolution.
  template <prumo::detail::pooling_kind Kind>
  void pool(const convolution_rows& rows, const C* sums, C* pooled) const {
    const pooling_window& window = problem_.window;
    for (std::int64_t row = rows.first; row < rows.last; ++row) {
      window_range of_rows(row, window.row_stride, window.row_padding, window.height, problem_.rows);
      of_rows.begin -= rows.convolved_first;
      of_rows.end -= rows.convolved_first;
      for (std::int64_t column = 0; column < problem_.y_columns; ++column, pooled += channels_) {
        const window_range of_columns(column, window.column_stride, window.column_padding, window.width,
                                      problem_.columns);
        for (std::int64_t c = 0; c < channels_; c += vector::lanes) {
          pooled_window<Kind>(sums + c, of_rows, of_columns).store(pooled + c);
        }
      }
    }
  }

  /// The order is that of prumo::detail::pooled_window(), so that the results have the same bits.
  template <prumo::detail::pooling_kind Kind>
  vector pooled_window(const C* sums, const window_range& rows, const window_range& columns) const {
    using prumo::detail::joined_in_window;
    const std::int64_t pitch = problem_.columns * channels_;
    vector joined(C(0));
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      const C* from = sums + rows.begin * pitch + c * channels_;
      vector of_column = vector::load(from);
      for (std::int64_t r = rows.begin + 1; r < rows.end; ++r) {
        from += pitch;
        of_column = joined_in_window<Kind>(of_column, vector::load(from));
      }
      joined = c == columns.begin ? of_column : joined_in_window<Kind>(joined, of_column);
    }
    return prumo::detail::finished_windows<Kind>(joined, rows.length() * columns.length());
  }

  const convolution_problem<T>& problem_;
  std::int64_t channels_;
  bool has_finite_biases_ = true;
  C biases_[channel_tiles<C>::most_channels] = {};
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
