// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A tile of sums that one thread of the direct convolution on a device holds in registers, and what follows the
/// products: bias, activation and pooling.

#include "convolution_problem.hpp"
#include "convolution_tile.hpp"
#include "pooling_kernel.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C, convolution_tile Tile>
class tile_sums {
 public:
  KOKKOS_FORCEINLINE_FUNCTION void clear() {
    for_each_window<1>([](C& sum) { sum = C(0); });
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_bias(const C* bias) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.sum_columns(); ++k) sums_[m][r][k] = sums_[m][r][k] + bias[m];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void apply_relu() {
    for_each_window<1>([](C& sum) { sum = prumo::maximum(sum, C(0)); });
  }

  KOKKOS_FORCEINLINE_FUNCTION C at(int m, int r, int k) const { return sums_[m][r][k]; }

  /// Whether tanh of the maxima of windows is computed in their places. One call waits for the other, and each for its
  /// chain of instructions: where a tile has few maxima, their chains go on side by side without calls.
  KOKKOS_FUNCTION static constexpr bool has_tanh_of_maxima(int window) {
    return window > 1 && std::is_same_v<C, float> && Tile.sums() / (window * window) <= 12 && Tile.sums() <= 48;
  }

  /// Sets the sums beyond the first rows and columns to minus infinity: no window then has its maximum there.
  KOKKOS_FORCEINLINE_FUNCTION void hide_beyond(int rows, int columns) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.columns; ++k) {
          if (r >= rows || k >= columns) sums_[m][r][k] = -Kokkos::Experimental::infinity_v<C>;
        }
      }
    }
  }

  /// Pools the windows of Window x Window sums. A window takes the place of the sum in its row and column of windows,
  /// which no later window needs.
  /// \param rows, columns how many of the convolution there are, counted from the first of the tile
  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void pool(convolution_pooling pooling, int rows, int columns) {
    using prumo::detail::pooling_kind;
    if (pooling == convolution_pooling::maximum) {
      pool_kind<pooling_kind::maximum, Window>(rows, columns);
    } else {
      pool_kind<pooling_kind::mean, Window>(rows, columns);
    }
  }

  /// Calls function(sum) for the windows that pool() made, or all sums.
  template <int Window, class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_window(const Function& function) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows / Window; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.sum_columns() / Window; ++k) function(sums_[m][r][k]);
      }
    }
  }

 protected:
  C sums_[Tile.channels][Tile.rows][Tile.sum_columns()] = {};

 private:
  template <prumo::detail::pooling_kind Kind, int Window>
  KOKKOS_FORCEINLINE_FUNCTION void pool_kind(int rows, int columns) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows / Window; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.columns / Window; ++k) {
          sums_[m][r][k] = window<Kind, Window>(m, r * Window, k * Window, rows - r * Window, columns - k * Window);
        }
      }
    }
  }

  /// The window that begins at a row and a column, of which `rows` rows and `columns` columns are there. The order is
  /// that of pooled_window(), so that the results have the same bits.
  template <prumo::detail::pooling_kind Kind, int Window>
  KOKKOS_FORCEINLINE_FUNCTION C window(int m, int row, int column, int rows, int columns) const {
    C joined(0);
    PRUMO_UNROLL
    for (int k = 0; k < Window; ++k) {
      C of_column = sums_[m][row][column + k];
      PRUMO_UNROLL
      for (int r = 1; r < Window; ++r) {
        const C next = prumo::detail::joined_in_window<Kind>(of_column, sums_[m][row + r][column + k]);
        of_column = r < rows ? next : of_column;
      }
      const C next = k == 0 ? of_column : prumo::detail::joined_in_window<Kind>(joined, of_column);
      joined = k < columns ? next : joined;
    }
    const int there = (rows < Window ? rows : Window) * (columns < Window ? columns : Window);
    return prumo::detail::finished_window<Kind>(joined, there);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
