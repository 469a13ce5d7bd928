// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of sums whose registers hold neighbouring places, for neighbouring output channels.

#include "filter_taps.hpp"
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The output channels that a tile may have, and the registers of each. Eight times three sums, three registers of
/// places and one weight fit into 32 registers, four times three into 16.
struct convolution_tiles {
  static constexpr bool has_many_registers = simd_has_many_registers;
  static constexpr std::int64_t most_channels = has_many_registers ? 8 : 4;
  static constexpr int sums = has_many_registers ? 24 : 12;

  /// The channels of the next tile, if `left` channels are left.
  static constexpr std::int64_t channels_of_next(std::int64_t left) {
    if (!has_many_registers) return left >= 4 ? 4 : left;
    if (left >= 8) return left == 9 || left == 12 ? 6 : 8;
    return left >= 6 ? 6 : std::min<std::int64_t>(left, 4);
  }
  /// The registers of each channel, of which one load of a weight serves all.
  static constexpr int registers_of(int channels) { return std::min(6, sums / channels); }
  /// The same of a smaller tile, for what is left of the places: half of the registers.
  static constexpr int fewer_registers_of(int channels) { return (registers_of(channels) + 1) / 2; }

  /// Calls visit(std::integral_constant<int, channels>).
  template <class Visitor>
  static void with_channels(std::int64_t channels, const Visitor& visit) {
    const auto with = [&]<int Channels>(std::integral_constant<int, Channels> constant) {
      if (channels == Channels) visit(constant);
    };
    with(std::integral_constant<int, 1>{});
    with(std::integral_constant<int, 2>{});
    with(std::integral_constant<int, 3>{});
    with(std::integral_constant<int, 4>{});
    if constexpr (has_many_registers) {
      with(std::integral_constant<int, 6>{});
      with(std::integral_constant<int, 8>{});
    }
  }
};

/// Rows of places, and of their sums. A row that is shorter than a register has room behind it in both. The last
/// register of a longer one repeats places of the register before it, and nothing behind the row is read or written.
struct place_rows {
  std::int64_t count;
  std::int64_t columns;
  std::int64_t pitch;      ///< from a row of places to the next
  std::int64_t sum_pitch;  ///< from a row of sums to the next

  /// The registers that hold all places.
  template <class C>
  std::int64_t registers() const {
    return count * ((columns + simd<C>::lanes - 1) / simd<C>::lanes);
  }
};

template <class C>
class place_tiles {
  using vector = simd<C>;
  using sizes = convolution_tiles;

 public:
  /// The sums of all taps, with the bias of each channel.
  /// \param biases of the channels; null: none, so that -0 stays -0
  /// \param sums_per_channel from a channel's sums to those of the next
  static void add(const place_rows& rows, std::int64_t channels, const C* places, const filter_taps<C>& taps,
                  const C* biases, C* sums, std::int64_t sums_per_channel) {
    sizes::with_channels(channels, [&]<int Channels>(std::integral_constant<int, Channels>) {
      constexpr int registers = sizes::registers_of(Channels), fewer = sizes::fewer_registers_of(Channels);
      cursor at(rows, places, sums);
      std::int64_t left = rows.registers<C>();
      for (; left > fewer; left -= registers) add_taps<Channels, registers>(at, taps, biases, sums_per_channel);
      if (left > 1) {
        add_taps<Channels, fewer>(at, taps, biases, sums_per_channel);
      } else if (left == 1) {
        add_taps<Channels, 1>(at, taps, biases, sums_per_channel);
      }
    });
  }

 private:
  /// Goes from register to register, and stays at the last.
  class cursor {
   public:
    cursor(const place_rows& rows, const C* places, C* sums)
        : rows_(rows), from_(places), to_(sums), last_begin_(std::max<std::int64_t>(0, rows.columns - vector::lanes)) {}

    void take(const C*& from, C*& to) {
      const std::int64_t column = std::min(column_, last_begin_);
      from = from_ + column;
      to = to_ + column;
      column_ += vector::lanes;
      if (column_ < rows_.columns || row_ + 1 == rows_.count) return;
      column_ = 0;
      ++row_;
      from_ += rows_.pitch;
      to_ += rows_.sum_pitch;
    }

   private:
    place_rows rows_;
    const C* from_;
    C* to_;
    std::int64_t last_begin_;
    std::int64_t row_ = 0;
    std::int64_t column_ = 0;
  };

  /// The sums of `Registers` registers of places, for some channels.
  template <int Channels, int Registers>
  static void add_taps(cursor& at, const filter_taps<C>& taps, const C* biases, std::int64_t sums_per_channel) {
    using prumo::detail::for_each_register;
    const C* places[Registers];
    C* sums[Registers];
    for_each_register<1, Registers>([&](int, int j) PRUMO_ALWAYS_INLINE {
      at.take(places[j], sums[j]);
      // A compiler that knew how far apart they are would compute all from one of them, for each tap again.
      __asm__("" : "+r"(places[j]));
    });
    const C* weights = taps.weights;
    vector held[Channels][Registers];
    for_each_register<Channels, Registers>([&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    for (std::int64_t tap = 0; tap < taps.count; ++tap, weights += Channels) {
      const std::int64_t offset = taps.offsets[tap];
      // What is fewer, weights or places, stays in registers beside the sums.
      if constexpr (Channels < Registers) {
        vector weight[Channels];
        for_each_register<1, Channels>([&](int, int i) PRUMO_ALWAYS_INLINE { weight[i] = vector(weights[i]); });
        for_each_register<Registers, Channels>([&](int j, int i) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(weight[i], vector::load(places[j] + offset), held[i][j]);
        });
      } else {
        vector loaded[Registers];
        for_each_register<1, Registers>([&](int, int j)
                                            PRUMO_ALWAYS_INLINE { loaded[j] = vector::load(places[j] + offset); });
        for_each_register<Channels, Registers>(
            [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = fma(vector(weights[i]), loaded[j], held[i][j]); });
      }
    }
    if (biases != nullptr) {
      for_each_register<Channels, Registers>([&](int i, int j)
                                                 PRUMO_ALWAYS_INLINE { held[i][j] += vector(biases[i]); });
    }
    // Rows shorter than a register overwrite what the row before them left behind its end, so the order matters.
    for_each_register<Registers, Channels>(
        [&](int j, int i) PRUMO_ALWAYS_INLINE { held[i][j].store(sums[j] + i * sums_per_channel); });
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
