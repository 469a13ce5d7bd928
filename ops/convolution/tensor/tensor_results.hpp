// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the products of a turn in matrix units: pooling, activation and stores.

#include "convolution_problem.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"
#include "scratch_copies.hpp"
#include "tensor_inputs.hpp"
#include "tensor_products.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Activates a result, of which few are computed.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float activated_result(const convolution_problem<T>& problem, float value) {
  if (problem.activation == activation_function::relu) return prumo::maximum(value, 0.0f);
  return activated_at_length(problem.activation, value);
}

/// What is there of an item's results. Some of its places may lie behind the last results.
struct item_extents {
  int places;
  int rows;  ///< of the convolution
  int columns;
};

/// How the results of a turn are stored.
enum class result_form : std::uint8_t {
  whole_turn,  ///< in packs, without asking which are there
  packs,
  single
};

/// The results of a turn. T is f16, bf16 or float.
/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
template <class T, int WarpTiles, int Window>
class tensor_results {
  static constexpr int tiles = tensor_layout::tiles_of_turn, columns = tensor_layout::tile_columns;
  /// What a thread stores at once, in elements.
  static constexpr int chunk = 8 / static_cast<int>(sizeof(T));
  static constexpr int no_row = 1 << 20;  ///< behind all rows

 public:
  /// Where the results of a thread's rows of weights go.
  struct targets {
    /// From the results of the item's first place and channel, of the lower and the upper half of a tile, in bytes.
    unsigned distance[WarpTiles][2];
    int stacked[WarpTiles][2];  ///< the row of the unit; behind all rows if there are no results
  };

  KOKKOS_FORCEINLINE_FUNCTION tensor_results(const convolution_problem<T>& problem, const tensor_layout& layout,
                                             const tensor_target* places)
      : problem_(problem), layout_(layout), places_(places) {}

  /// \param first_row the first row of weights of the thread
  KOKKOS_FORCEINLINE_FUNCTION void find_targets(int first_row, targets& found) const {
    PRUMO_UNROLL
    for (int tile = 0; tile < WarpTiles; ++tile) {
      PRUMO_UNROLL
      for (int half = 0; half < 2; ++half) {
        const weight_row row = weight_row::at(layout_, first_row + tile * tensor_layout::tile_rows + half * 8);
        found.distance[tile][half] =
            static_cast<unsigned>(row.channel * static_cast<int>(problem_.y.channel_stride) +
                                  row.stacked / Window * static_cast<int>(problem_.y.row_stride)) *
            static_cast<unsigned>(sizeof(T));
        found.stacked[tile][half] = row.channel < problem_.out_channels ? row.stacked : no_row;
      }
    }
  }

  /// \param first the results of the item's first place and channel
  /// \param turn which 64 places
  KOKKOS_FORCEINLINE_FUNCTION void finish(const targets& to, T* first, const item_extents& there, int turn, int lane,
                                          tensor_sums<WarpTiles>& sums) const {
    if constexpr (Window == 1) {
      activate(sums);
      // With more tiles, the products take most of the time, and a shorter kernel is better.
      const bool are_all_there = WarpTiles == 1 && (turn + 1) * tensor_layout::places_of_turn <= there.places &&
                                 there.rows == layout_.band_rows() && there.columns == layout_.band_columns;
      if (layout_.result_pack != chunk) {
        store<result_form::single>(to, first, there, turn, lane, sums);
      } else if (WarpTiles == 1 && are_all_there) {
        store<result_form::whole_turn>(to, first, there, turn, lane, sums);
      } else {
        store<result_form::packs>(to, first, there, turn, lane, sums);
      }
    } else {
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
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void activate(tensor_sums<WarpTiles>& sums) const {
    const activation_function function = problem_.activation;
    if (function == activation_function::none) return;
    if (function == activation_function::relu) {
      sums.for_each([](int, int, float& sum) { sum = prumo::maximum(sum, 0.0f); });
    } else {
      sums.for_each([=](int, int, float& sum) { sum = activated_at_length(function, sum); });
    }
  }

  template <result_form Form>
  KOKKOS_FORCEINLINE_FUNCTION void store(const targets& to, T* first, const item_extents& there, int turn, int lane,
                                         tensor_sums<WarpTiles>& sums) const {
    if constexpr (WarpTiles == 1) {
      if (layout_.stacked_columns == 2) {
        PRUMO_UNROLL
        for (int tile = 0; tile < tiles; ++tile) store_quad<Form>(to, first, there, turn, tile, lane, sums);
        return;
      }
    }
    PRUMO_UNROLL
    for (int pair = 0; pair < tiles / 2; ++pair) store_pair<Form>(to, first, there, turn, pair, lane, sums);
  }

  /// Stores four neighbours, which a thread has if two columns are stacked.
  template <result_form Form>
  KOKKOS_FORCEINLINE_FUNCTION void store_quad(const targets& to, T* first_result, const item_extents& there, int turn,
                                              int tile, int lane, tensor_sums<WarpTiles>& sums) const {
    const int place = turn * tensor_layout::places_of_turn + tile * columns + lane % 4 * 2;
    const float (&of_tile)[4] = sums.values[0][tile];
    const float values[4] = {of_tile[0], of_tile[2], of_tile[1], of_tile[3]};
    const rounded_words<T, 4> rounded(values);
    constexpr int chunks = 4 / chunk;
    if constexpr (Form != result_form::single) {
      PRUMO_UNROLL
      for (int i = 0; i < chunks; ++i) {
        const place_of_chunk<Form> at(*this, there, place + i);
        at.store(first_result, to.distance[0][0], to.stacked[0][0], {{rounded.words[2 * i], rounded.words[2 * i + 1]}});
      }
    } else {
      const unsigned distance = static_cast<unsigned>(problem_.y.column_stride) * static_cast<unsigned>(sizeof(T));
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        const tensor_target at = places_[place + i / 2];
        const bool is_there = place + i / 2 < there.places && at.column() + i % 2 < there.columns &&
                              at.row() + to.stacked[0][0] < there.rows;
        if (!is_there) continue;
        *result_at(first_result, to.distance[0][0] + at.distance + i % 2 * distance) = T(values[i]);
      }
    }
  }

  /// Stores the results of two tiles of places: chunks of neighbours.
  template <result_form Form>
  KOKKOS_FORCEINLINE_FUNCTION void store_pair(const targets& to, T* first_result, const item_extents& there, int turn,
                                              int pair, int lane, tensor_sums<WarpTiles>& sums) const {
    const int first = turn * tensor_layout::places_of_turn + pair * 2 * columns;
    if constexpr (sizeof(T) == 2) {
      // Threads with even numbers get two words of the first tile, and those with odd numbers two of the second one.
      const bool is_odd = lane % 2 != 0;
      const place_of_chunk<Form> place(*this, there, first + lane % 2 * columns + lane % 4 / 2 * chunk);
      PRUMO_UNROLL
      for (int tile = 0; tile < WarpTiles; ++tile) {
        PRUMO_UNROLL
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t mine = rounded_words<T, 2>(sums.values[tile][2 * pair] + 2 * half).words[0];
          const std::uint32_t next = rounded_words<T, 2>(sums.values[tile][2 * pair + 1] + 2 * half).words[0];
          const std::uint32_t other = prumo::detail::value_across(is_odd ? mine : next, 1);
          place.store(first_result, to.distance[tile][half], to.stacked[tile][half],
                      {{is_odd ? other : mine, is_odd ? next : other}});
        }
      }
    } else {
      PRUMO_UNROLL
      for (int which = 0; which < 2; ++which) {
        const place_of_chunk<Form> place(*this, there, first + which * columns + lane % 4 * chunk);
        PRUMO_UNROLL
        for (int tile = 0; tile < WarpTiles; ++tile) {
          PRUMO_UNROLL
          for (int half = 0; half < 2; ++half) {
            const float* const of_half = sums.values[tile][2 * pair + which] + 2 * half;
            place.store(first_result, to.distance[tile][half], to.stacked[tile][half],
                        {{Kokkos::bit_cast<std::uint32_t>(of_half[0]), Kokkos::bit_cast<std::uint32_t>(of_half[1])}});
          }
        }
      }
    }
  }

  /// Compilers add 32 bits to an address that is the same for all threads in one instruction.
  KOKKOS_FORCEINLINE_FUNCTION static T* result_at(T* first, unsigned bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + bytes);
  }

  struct alignas(8) chunk_words {
    std::uint32_t words[2];
  };

  /// Where a chunk goes, for all channels: at once, or each result by itself.
  template <result_form Form>
  struct place_of_chunk {
    static constexpr int parts = Form == result_form::single ? chunk : 1;
    unsigned distance[parts];
    int rows[parts];  ///< that are there, from the place's unit on

    KOKKOS_FORCEINLINE_FUNCTION place_of_chunk(const tensor_results& results, const item_extents& there, int place) {
      PRUMO_UNROLL
      for (int i = 0; i < parts; ++i) {
        if constexpr (Form == result_form::whole_turn) {
          distance[i] = results.places_[place + i].distance;
          rows[i] = tensor_layout::tile_rows;
          continue;
        }
        const tensor_target at = results.places_[place + i];
        distance[i] = at.distance;
        rows[i] = place + i < there.places && at.column() < there.columns ? there.rows - at.row() : 0;
      }
    }

    KOKKOS_FORCEINLINE_FUNCTION void store(T* first, unsigned of_row, int stacked, const chunk_words& words) const {
      if constexpr (Form != result_form::single) {
        if (stacked < rows[0]) store_at_once<false>(result_at(first, of_row + distance[0]), words);
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < parts; ++i) {
          if (stacked >= rows[i]) continue;
          T* const to = result_at(first, of_row + distance[i]);
          if constexpr (sizeof(T) == 2) {
            to->bits = static_cast<std::uint16_t>(words.words[i / 2] >> (i % 2 * 16));
          } else {
            *to = Kokkos::bit_cast<float>(words.words[i]);
          }
        }
      }
    }
  };

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
    store_shared_maxima<Units, sharers, false>(
        to, first_result, there, place - (Window == 4 ? lane % 2 * 2 : 0), share % sharers,
        [&](int which, int tile, float (&found)[2]) {
          join_columns<Units, AreWhole>(to.stacked[tile], there, place + which * Units * columns,
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
    if (has_window(at, stacked, there, place)) *result_at(first_result, of_row + at.distance) = T(maximum);
  }

  /// The maxima of the windows of two places; one, if these are of one window.
  KOKKOS_FORCEINLINE_FUNCTION void store_neighbours(T* first_result, unsigned of_row, int stacked,
                                                    const item_extents& there, int place,
                                                    const float (&maxima)[2]) const {
    if (Window == 2 && layout_.result_pack == 2) {
      const tensor_target at = places_[place];
      const rounded_words<T, 2> rounded(maxima);
      if (has_window(at, stacked, there, place)) {
        store_at_once<false>(result_at(first_result, of_row + at.distance), rounded);
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
