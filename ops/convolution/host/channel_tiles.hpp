// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of sums whose registers hold neighbouring output channels, at neighbouring places of a row.
///
/// A register of channels needs no places past the end of a row, which registers of places compute and nobody stores.
/// It wastes lanes where the channels do not fill it.

#include "filter_taps.hpp"
#include "sliding_channel_tiles.hpp"
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Some places of a row: as equal as possible, and no more than registers can hold.
struct row_pieces {
  std::int64_t count;
  std::int64_t places;  ///< of the first pieces
  std::int64_t larger;  ///< the number of these; each of the others has a place less

  row_pieces(std::int64_t columns, std::int64_t most)
      : count((columns + most - 1) / most),
        places((columns + count - 1) / count),
        larger(columns - count * (places - 1)) {}
};

template <class C>
struct channel_tiles {
  using vector = simd<C>;
  using sliding = sliding_channel_tiles<C>;
  using square = prumo::detail::number_square<C>;
  static constexpr std::int64_t transposed_at_once = square::side;
  static constexpr std::int64_t lanes = vector::lanes;
  static constexpr std::int64_t most_vectors = 2;
  static constexpr std::int64_t most_channels = most_vectors * lanes;

  /// Whether a row of a convolution has tiles of one register of channels that slide over the row.
  /// \param filter_columns filter_taps::columns
  static constexpr bool slides(std::int64_t vectors, std::int64_t filter_columns, std::int64_t columns) {
    return vectors == 1 && sliding::exist_for(filter_columns, columns);
  }

  /// The pieces of a row for tiles of one or two registers of channels. With 16 registers, 12 hold sums.
  static row_pieces pieces_of(std::int64_t columns, std::int64_t vectors, std::int64_t filter_columns) {
    if (slides(vectors, filter_columns, columns)) return {columns, sliding::most_places};
    return {columns, most_places(vectors)};
  }

  /// The channels of the next tile, if `left` channels are left. Those beyond the last have weights of zero.
  static constexpr std::int64_t channels_of_next(std::int64_t left) {
    return std::min(most_vectors, (left + lanes - 1) / lanes) * lanes;
  }

  /// The sums of a row of the convolution, for the channels of one tile.
  /// \param places where the row begins
  /// \param sums [column][channel of the tile]
  static void add_row(std::int64_t columns, std::int64_t channels, const C* places, const filter_taps<C>& taps,
                      C* sums) {
    const std::int64_t vectors = channels / lanes;
    const bool slide = slides(vectors, taps.columns, columns);
    const row_pieces pieces = pieces_of(columns, vectors, taps.columns);
    for (std::int64_t piece = 0; piece < pieces.count; ++piece) {
      const std::int64_t count = piece < pieces.larger ? pieces.places : pieces.places - 1;
      if (slide) {
        sliding::add_piece(count, places, taps, sums);
      } else if (vectors == 1) {
        add_piece<1>(count, places, taps, sums);
      } else {
        add_piece<most_vectors>(count, places, taps, sums);
      }
      places += count;
      sums += count * channels;
    }
  }

  /// Turns sums [place][channel of the tile] into [channel][place]. It moves `transposed_at_once` places at a time, so
  /// both arrays need room for a multiple of them.
  /// \param distance from a channel to the next in `by_channel`
  static void transpose(const C* by_place, std::int64_t places, std::int64_t channels, C* by_channel,
                        std::int64_t distance) {
    for (std::int64_t place = 0; place < places; place += transposed_at_once) {
      transpose_at(place, by_place, channels, by_channel, distance);
    }
  }
  /// The same without room behind the places, of which there are `transposed_at_once` at least: the last of them are
  /// moved twice.
  static void transpose_exactly(const C* by_place, std::int64_t places, std::int64_t channels, C* by_channel,
                                std::int64_t distance) {
    for (std::int64_t place = 0; place < places; place += transposed_at_once) {
      transpose_at(std::min(place, places - transposed_at_once), by_place, channels, by_channel, distance);
    }
  }

 private:
  static constexpr std::int64_t most_places(std::int64_t vectors) {
    return simd_has_many_registers ? 12 : 12 / vectors;
  }

  static void transpose_at(std::int64_t place, const C* by_place, std::int64_t channels, C* by_channel,
                           std::int64_t distance) {
    for (std::int64_t channel = 0; channel < channels; channel += square::columns) {
      square::transpose(by_place + place * channels + channel, channels, by_channel + channel * distance + place,
                        distance);
    }
  }

  template <int Vectors>
  static void add_piece(std::int64_t count, const C* places, const filter_taps<C>& taps, C* sums) {
    constexpr auto most = static_cast<std::size_t>(most_places(Vectors));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto add = [&]<int Places>(std::integral_constant<int, Places>) {
        if (count == Places) add_taps<Vectors, Places>(places, taps, sums);
      };
      (add(std::integral_constant<int, static_cast<int>(I) + 1>{}), ...);
    }(std::make_index_sequence<most>{});
  }

  template <int Vectors, int Places>
  static void add_taps(const C* places, const filter_taps<C>& taps, C* sums) {
    using prumo::detail::for_each_register;
    constexpr int channels = Vectors * vector::lanes;
    const C* weights = taps.weights;
    vector held[Places][Vectors];
    for_each_register<Places, Vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    for (std::int64_t tap = 0; tap < taps.count; ++tap, weights += channels) {
      const C* const from = places + taps.offsets[tap];
      vector loaded[Vectors];
      for_each_register<1, Vectors>([&](int, int j)
                                        PRUMO_ALWAYS_INLINE { loaded[j] = vector::load(weights + j * vector::lanes); });
      for_each_register<Places, Vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = fma(vector(from[i]), loaded[j], held[i][j]); });
    }
    for_each_register<Places, Vectors>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(sums + i * channels + j * vector::lanes); });
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
