// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of sums of one register of neighbouring output channels, for filters whose taps of a row meet neighbouring
/// elements.
///
/// A processor that starts two multiply-adds in a cycle can load two numbers in it. With one register of channels, each
/// product needs an element of its own, so the loads bind. Here an element is loaded once for all taps of a row of the
/// filter, whose weights stay in registers. Each sum adds its products in the same order as in channel_tiles.

#include "filter_taps.hpp"
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class sliding_channel_tiles {
  using vector = simd<C>;

 public:
  /// Of 32 registers, up to seven have the weights of a row of the filter, and one or two have elements.
  static constexpr std::int64_t most_places = 23;
  /// With fewer sums the processor would wait for results: a multiply-add takes four cycles, and two can begin in each.
  static constexpr std::int64_t least_places = 8;

  /// Whether there are tiles for rows of a convolution.
  /// \param filter_columns filter_taps::columns
  static constexpr bool exist_for(std::int64_t filter_columns, std::int64_t places) {
    return simd_has_many_registers && places >= least_places &&
           (filter_columns == 3 || filter_columns == 5 || filter_columns == 7);
  }

  /// The sums of a piece of a row, of least_places to most_places.
  /// \param sums [place][channel of the register]
  static void add_piece(std::int64_t count, const C* places, const filter_taps<C>& taps, C* sums) {
    switch (taps.columns) {
      case 3: return add_piece_of<3>(count, places, taps, sums);
      case 5: return add_piece_of<5>(count, places, taps, sums);
      default: return add_piece_of<7>(count, places, taps, sums);
    }
  }

 private:
  template <int FilterColumns>
  static void add_piece_of(std::int64_t count, const C* places, const filter_taps<C>& taps, C* sums) {
    if constexpr (simd_has_many_registers) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto add = [&]<int Places>(std::integral_constant<int, Places>) {
          if (count == Places) add_taps<FilterColumns, Places>(places, taps, sums);
        };
        (add(std::integral_constant<int, static_cast<int>(least_places + static_cast<std::int64_t>(I))>{}), ...);
      }(std::make_index_sequence<static_cast<std::size_t>(most_places - least_places + 1)>{});
    }
  }

  template <int FilterColumns, int Places>
  static void add_taps(const C* places, const filter_taps<C>& taps, C* sums) {
    using prumo::detail::for_each_register;
    const C* weights = taps.weights;
    vector held[Places];
    for_each_register<Places, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { held[i] = vector(C(0)); });
    for (std::int64_t tap = 0; tap < taps.count; tap += FilterColumns, weights += FilterColumns * vector::lanes) {
      const C* const from = places + taps.offsets[tap];
      vector of_row[FilterColumns];
      for_each_register<FilterColumns, 1>(
          [&](int q, int) PRUMO_ALWAYS_INLINE { of_row[q] = vector::load(weights + q * vector::lanes); });
      vector element;
      for_each_register<Places + FilterColumns - 1, FilterColumns>([&](int i, int q) PRUMO_ALWAYS_INLINE {
        if (q == 0) element = vector(from[i]);
        const int place = i - q;
        if (place >= 0 && place < Places) held[place] = fma(element, of_row[q], held[place]);
      });
    }
    for_each_register<Places, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { held[i].store(sums + i * vector::lanes); });
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
