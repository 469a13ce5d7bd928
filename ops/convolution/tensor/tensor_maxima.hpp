// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The maxima of windows of what a turn in matrix units computed: those of windows that lie side by side.

#include "convolution_problem.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"
#include "scratch_copies.hpp"
#include "tensor_products.hpp"
#include "tensor_targets.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16 or float.
/// \tparam Window the side of the windows
template <class T, int WarpTiles, int Window>
class tensor_maxima {
  static constexpr int tiles = tensor_layout::tiles_of_turn, columns = tensor_layout::tile_columns;

 public:
  using targets = tensor_targets<WarpTiles>;

  KOKKOS_FORCEINLINE_FUNCTION tensor_maxima(const convolution_problem<T>& problem, const tensor_layout& layout,
                                            const tensor_target* places)
      : problem_(problem), layout_(layout), places_(places) {}

  /// \param first the results of the item's first place and channel
  /// \param turn which 64 places
  KOKKOS_FORCEINLINE_FUNCTION void finish(const targets& to, T* first, const item_extents& there, int turn, int lane,
                                          const tensor_sums<WarpTiles>& sums) const {
    // Windows may lie partly behind the last row or column.
    const bool are_whole = there.rows % Window == 0 && there.columns % Window == 0;
    switch (layout_.units_of_window(Window, layout_.stacked_rows)) {
      case 1:
        return are_whole ? store_maxima<1, true>(to, first, there, turn, lane, sums)
                         : store_maxima<1, false>(to, first, there, turn, lane, sums);
      case 2:
        return are_whole ? store_maxima<2, true>(to, first, there, turn, lane, sums)
                         : store_maxima<2, false>(to, first, there, turn, lane, sums);
      default:
        if constexpr (Window == 4) store_maxima<4, false>(to, first, there, turn, lane, sums);
    }
  }

 private:
  /// Stores the maxima of windows.
  /// \tparam Units of a window
  /// \tparam AreWhole whether no window has places that are not there
  template <int Units, bool AreWhole>
  KOKKOS_FORCEINLINE_FUNCTION void store_maxima(const targets& to, T* first_result, const item_extents& there, int turn,
                                                int lane, const tensor_sums<WarpTiles>& sums) const {
    const int place = turn * tensor_layout::places_of_turn + lane % 4 * 2;
    if constexpr (WarpTiles == 1) {
      if (layout_.stacked_columns == 2) {
        // The rows of a window are in several threads.
        constexpr int sharers = Window / Units;
        store_shared_maxima<Units, sharers, true>(
            to, first_result, there, place, to.stacked[0][0] % sharers, [&](int which, int, float (&found)[2]) {
              join_stacked_columns<Units, AreWhole>(to.stacked[0], there, place + which * Units * columns,
                                                    sums.values[0] + which * Units, found);
            });
        return;
      }
    }
    // A window of four columns is in two threads, and four stacked rows are in two.
    constexpr int sharers = Window == 2 ? 1 : Units == 1 ? 4 : 2;
    const int share = lane % 2 + to.stacked[0][0] % 4 / 2 * 2;
    store_shared_maxima<Units, sharers, false>(to, first_result, there, place - (Window == 4 ? lane % 2 * 2 : 0),
                                               share % sharers, [&](int which, int tile, float (&found)[2]) {
                                                 join_columns<Units, AreWhole>(
                                                     to.stacked[tile], there, place + which * Units * columns,
                                                     sums.values[tile] + which * Units, found);
                                               });
  }

  /// \tparam Sharers neighbours that have the same maxima: each of them stores a part
  /// \tparam HasColumns whether a thread has the maxima of two neighbouring places, or of the halves of a tile
  /// \param place of the first window
  /// \param join sets the maxima of a window and a tile of weights
  template <int Units, int Sharers, bool HasColumns, class Join>
  KOKKOS_FORCEINLINE_FUNCTION void store_shared_maxima(const targets& to, T* first_result, const item_extents& there,
                                                       int place, int share, const Join& join) const {
    constexpr int windows = tiles / Units, own = windows / Sharers;
    float maxima[own][WarpTiles][2];
    PRUMO_UNROLL
    for (int which = 0; which < windows; ++which) {
      PRUMO_UNROLL
      for (int tile = 0; tile < WarpTiles; ++tile) {
        float found[2];
        join(which, tile, found);
        PRUMO_UNROLL
        for (int i = 0; i < 2; ++i) {
          float& mine = maxima[which / Sharers][tile][i];
          mine = which % Sharers == 0 || which % Sharers == share ? found[i] : mine;
        }
      }
    }
    activate_maxima(maxima);
    PRUMO_UNROLL
    for (int which = 0; which < own; ++which) {
      const int of_window = place + (which * Sharers + share) * Units * columns;
      PRUMO_UNROLL
      for (int tile = 0; tile < WarpTiles; ++tile) {
        const float (&found)[2] = maxima[which][tile];
        if constexpr (HasColumns) {
          store_neighbours(first_result, to.distance[tile][0], to.stacked[tile][0], there, of_window, found);
        } else {
          store_maximum(first_result, to.distance[tile][0], to.stacked[tile][0], there, of_window, found[0]);
          if (layout_.stacked_rows == 1) {
            store_maximum(first_result, to.distance[tile][1], to.stacked[tile][1], there, of_window, found[1]);
          }
        }
      }
    }
  }

  /// The maxima of a thread whose places have two columns, which are the halves of a tile.
  template <int Units, bool AreWhole>
  KOKKOS_FORCEINLINE_FUNCTION void join_stacked_columns(const int (&stacked)[2], const item_extents& there, int place,
                                                        const float (*sums)[4], float (&maxima)[2]) const {
    PRUMO_UNROLL
    for (int next = 0; next < 2; ++next) {
      const tensor_target at = AreWhole ? tensor_target{} : places_[place + next];
      PRUMO_UNROLL
      for (int unit = 0; unit < Units; ++unit) {
        const int row = at.row() + unit * layout_.stacked_rows + stacked[0];
        PRUMO_UNROLL
        for (int column = 0; column < 2; ++column) {
          const bool is_there = AreWhole || (row < there.rows && at.column() + column < there.columns);
          const float sum = is_there ? sums[unit][2 * column + next] : none;
          maxima[next] = unit + column == 0 ? sum : joined(maxima[next], sum);
        }
      }
      const int rows = layout_.rows_of_stacked();
      if (layout_.stacked_rows > 1) maxima[next] = joined_across(maxima[next], rows);
      if (Window == 4 && layout_.stacked_rows > 2) maxima[next] = joined_across(maxima[next], 2 * rows);
    }
    if constexpr (Window == 4) maxima[0] = joined(maxima[0], maxima[1]);
  }

  /// The maxima of a thread that has two columns and, of each unit, one or two rows.
  template <int Units, bool AreWhole>
  KOKKOS_FORCEINLINE_FUNCTION void join_columns(const int (&stacked)[2], const item_extents& there, int place,
                                                const float (*sums)[4], float (&maxima)[2]) const {
    const tensor_target at = AreWhole ? tensor_target{} : places_[place];
    PRUMO_UNROLL
    for (int half = 0; half < 2; ++half) {
      PRUMO_UNROLL
      for (int unit = 0; unit < Units; ++unit) {
        const int row = at.row() + unit * layout_.stacked_rows + stacked[half];
        PRUMO_UNROLL
        for (int i = 0; i < 2; ++i) {
          const bool is_there = AreWhole || (row < there.rows && at.column() + i < there.columns);
          const float sum = is_there ? sums[unit][2 * half + i] : none;
          maxima[half] = unit + i == 0 ? sum : joined(maxima[half], sum);
        }
      }
      if constexpr (Window == 4) maxima[half] = joined(maxima[half], prumo::detail::value_across(maxima[half], 1));
    }
    if (layout_.stacked_rows > 1) maxima[0] = joined(maxima[0], maxima[1]);
    if (Window == 4 && layout_.stacked_rows > 2) {
      maxima[0] = joined_across(maxima[0], layout_.rows_of_stacked());
    }
  }

  template <int Windows>
  KOKKOS_FORCEINLINE_FUNCTION void activate_maxima(float (&maxima)[Windows][WarpTiles][2]) const {
    const activation_function function = problem_.activation;
    if (function == activation_function::none) return;
    const auto for_each = [&](const auto& activated) {
      PRUMO_UNROLL
      for (int i = 0; i < Windows * WarpTiles * 2; ++i) {
        float& each = maxima[i / (WarpTiles * 2)][i / 2 % WarpTiles][i % 2];
        each = activated(each);
      }
    };
    if (function == activation_function::relu) {
      for_each([](float value) { return prumo::maximum(value, 0.0f); });
    } else {
      for_each([=](float value) { return activated_at_length(function, value); });
    }
  }

  static constexpr float none = -Kokkos::Experimental::infinity_v<float>;

  KOKKOS_FORCEINLINE_FUNCTION static float joined(float a, float b) {
    return prumo::detail::joined_in_window<prumo::detail::pooling_kind::maximum>(a, b);
  }
  /// With that of the thread whose row of weights is `rows` away.
  KOKKOS_FORCEINLINE_FUNCTION static float joined_across(float value, int rows) {
    return joined(value, prumo::detail::value_across(value, 4 * rows));
  }
  /// Whether the window of a place has a row and a column.
  KOKKOS_FORCEINLINE_FUNCTION static bool has_window(const tensor_target& at, int stacked, const item_extents& there,
                                                     int place) {
    return place < there.places && at.row() + stacked / Window * Window < there.rows && at.column() < there.columns;
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_maximum(T* first_result, unsigned of_row, int stacked,
                                                 const item_extents& there, int place, float maximum) const {
    const tensor_target at = places_[place];
    if (has_window(at, stacked, there, place)) *tensor_result_at(first_result, of_row + at.distance) = T(maximum);
  }

  /// The maxima of the windows of two places; one, if these are of one window.
  KOKKOS_FORCEINLINE_FUNCTION void store_neighbours(T* first_result, unsigned of_row, int stacked,
                                                    const item_extents& there, int place,
                                                    const float (&maxima)[2]) const {
    if (Window == 2 && layout_.result_pack == 2) {
      const tensor_target at = places_[place];
      const rounded_words<T, 2> rounded(maxima);
      if (has_window(at, stacked, there, place)) {
        store_at_once<false>(tensor_result_at(first_result, of_row + at.distance), rounded);
      }
      return;
    }
    store_maximum(first_result, of_row, stacked, there, place, maxima[0]);
    if (Window == 2) store_maximum(first_result, of_row, stacked, there, place + 1, maxima[1]);
  }

  const convolution_problem<T>& problem_;
  const tensor_layout& layout_;
  const tensor_target* places_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
