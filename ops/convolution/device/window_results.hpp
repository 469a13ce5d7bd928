// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the products of a tile, compiled for one window and elements of the compute type.
///
/// The instructions that a tile needs shall fit into a multiprocessor's cache for them. With all that
/// direct_device_results.hpp does for any problem, they do not, which took up to a fifth of the time.

#include "direct_device_layout.hpp"
#include "scratch_copies.hpp"
#include "tile/convolution_sums.hpp"
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// \tparam Window the side of the pooling windows, of which maxima are stored. 1: nothing is pooled
template <class C, convolution_tile Tile, int Window>
struct window_results {
  using sums_type = convolution_sums<C, Tile>;
  static_assert(Tile.holds_windows(Window) && !Tile.spreads);

  /// Whether it computes what follows the products. A long activation of each result would be as many calls.
  static bool suits(const convolution_problem<C>& problem) {
    if (Window == 1) return !problem.is_pooled() && !is_long(problem.activation);
    const pooling_window& window = problem.window;
    return problem.activates_maxima() && window.height == Window && window.width == Window &&
           window.row_stride == Window && window.column_stride == Window && window.row_padding == 0 &&
           window.column_padding == 0;
  }

  /// Results of neighbouring channels.
  struct band {
    C* first;            ///< the first one, in y
    int convolved_rows;  ///< before pooling
    int rows;
    int channels;
  };

  /// Pools, activates and stores the sums of a tile, which have their bias.
  /// \param results of the tile's channels in its image
  /// \param row where the tile begins among the convolved ones
  KOKKOS_FORCEINLINE_FUNCTION static void finish(const convolution_problem<C>& problem, int result_pack,
                                                 const band& results, int row, int column, sums_type& sums) {
    if constexpr (Window > 1) {
      // Where pooling rounds up, the last windows reach beyond the convolution.
      const int rows = results.convolved_rows - row, columns = static_cast<int>(problem.columns) - column;
      if (rows < Tile.rows || columns < Tile.columns) sums.hide_beyond(rows, columns);
      sums.template pool<Window>(convolution_pooling::maximum, Tile.rows, Tile.columns);
    }
    const activation_function function = problem.activation;
    if (function == activation_function::relu) {
      sums.template for_each_window<Window>([](C& sum) { sum = prumo::maximum(sum, C(0)); });
    } else if (sums_type::has_tanh_of_maxima(Window) && function == activation_function::tanh) {
      sums.template for_each_window<Window>([](C& sum) { sum = prumo::tanh(sum); });
    } else if (Window > 1 && is_long(function)) {
      sums.template for_each_window<Window>([=](C& sum) { sum = activated_at_length(function, sum); });
    }
    row /= Window;
    column /= Window;
    C* const to = results.first + row * static_cast<int>(problem.y.row_stride) +
                  column * static_cast<int>(problem.y.column_stride);
    const extents there{results.channels, results.rows - row, static_cast<int>(problem.y_columns) - column};
    constexpr int together = results_at_once(Tile, Window);
    if (result_pack == together) return store<together>(problem.y, to, there, sums);
    if constexpr (together == 4) {
      if (result_pack == 2) return store<2>(problem.y, to, there, sums);
    }
    if constexpr (together > 1) store<1>(problem.y, to, there, sums);
  }

 private:
  /// What is there of y from a tile's first result on.
  struct extents {
    int channels;
    int rows;
    int columns;
  };

  template <int Pack>
  KOKKOS_FORCEINLINE_FUNCTION static void store(const image_array<C>& y, C* to, const extents& there,
                                                const sums_type& sums) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      if (m >= there.channels) break;
      C* row = to;
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows / Window; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.columns / Window; k += Pack) {
          prumo::detail::device_pack<C, Pack> results;
          PRUMO_UNROLL
          for (int i = 0; i < Pack; ++i) results.values[i] = sums.at(m, r, k + i);
          if (r >= there.rows || k >= there.columns) continue;
          if constexpr (Pack > 1) {
            store_at_once<Tile.keeps_weights>(row + k, results);
          } else {
            const int place = k * static_cast<int>(y.column_stride);
            row[place] = results.values[0];
          }
        }
        row += static_cast<int>(y.row_stride);
      }
      to += y.channel_stride;
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
