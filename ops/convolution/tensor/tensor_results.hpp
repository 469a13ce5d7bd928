// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the products of a turn in matrix units: activation and stores.

#include "convolution_problem.hpp"
#include "gemm_activation.hpp"
#include "scratch_copies.hpp"
#include "tensor_maxima.hpp"
#include "tensor_products.hpp"
#include "tensor_targets.hpp"
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
  using targets = tensor_targets<WarpTiles>;

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
      tensor_maxima<T, WarpTiles, Window>(problem_, layout_, places_).finish(to, first, there, turn, lane, sums);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void activate(tensor_sums<WarpTiles>& sums) const {
    const activation_function function = problem_.activation;
    if (function == activation_function::none) return;
    if (function == activation_function::relu) {
      sums.for_each([](float& sum) { sum = prumo::maximum(sum, 0.0f); });
    } else {
      sums.for_each([=](float& sum) { sum = activated_at_length(function, sum); });
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
        *tensor_result_at(first_result, to.distance[0][0] + at.distance + i % 2 * distance) = T(values[i]);
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
        if (stacked < rows[0]) store_at_once<false>(tensor_result_at(first, of_row + distance[0]), words);
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < parts; ++i) {
          if (stacked >= rows[i]) continue;
          T* const to = tensor_result_at(first, of_row + distance[i]);
          if constexpr (sizeof(T) == 2) {
            to->bits = static_cast<std::uint16_t>(words.words[i / 2] >> (i % 2 * 16));
          } else {
            *to = Kokkos::bit_cast<float>(words.words[i]);
          }
        }
      }
    }
  };

  const convolution_problem<T>& problem_;
  const tensor_layout& layout_;
  const tensor_target* places_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
