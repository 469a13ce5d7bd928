// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team does with a row, or a part of one, that it keeps in its scratch memory: in tiles of a few packs a
/// thread.

#include "softmax_running_statistics.hpp"
#include <prumo/detail/device/copy_ahead.hpp>

namespace prumo::detail {

/// A thread copies the packs that it adds up and writes. So it reads only what it has put into scratch memory itself.
template <class T, class Formula, int Threads>
class softmax_kept_tiles {
  using C = compute_t<T>;
  using pack = device_pack<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  /// Packs that a thread has.
  static constexpr int packs = 2;

 public:
  /// Packs that all threads of a team have together.
  static constexpr int tile = Threads * packs;
  /// Tiles that are on their way while an earlier one is added up.
  static constexpr int tiles_ahead = 2;
  /// Elements of a line of memory. Lines are written as a whole: with packs from any place on, it took 5 % longer.
  static constexpr int line = static_cast<int>(128 / sizeof(T));

  /// Whole: each thread has all its packs of the tile. `left`: else those of the thread are less than this.
  template <bool Whole>
  KOKKOS_FORCEINLINE_FUNCTION static void write(const pack_words* kept, pack* to, int left, C shift, C factor) {
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      if (!Whole && i * Threads >= left) continue;
      C values[pack_elements];
      unpack<T>(kept[i * Threads], values);
      pack result;
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        result.values[j] = static_cast<T>(softmax_result<T, Formula>(values[j], shift, factor));
      }
      store_pack(to + i * Threads, result);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void copy(const pack_words* from, pack_words* kept, int left) {
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      if (i * Threads < left) begin_copy(from + i * Threads, kept + i * Threads);
    }
  }

  template <bool Whole>
  KOKKOS_FORCEINLINE_FUNCTION static void add(softmax_running_statistics<C>& statistics, const pack_words* kept,
                                              int left) {
    if (!Whole && left <= 0) return;
    C values[packs][pack_elements];
    C largest[pack_elements], sums[pack_elements];
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      if (Whole || i * Threads < left) {
        unpack<T>(kept[i * Threads], values[i]);
      } else {
        PRUMO_UNROLL
        for (int j = 0; j < pack_elements; ++j) values[i][j] = softmax_lowest<C>();
      }
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        largest[j] = i == 0 ? values[i][j] : Kokkos::fmax(largest[j], values[i][j]);
      }
    }
    const C shift = statistics.shift_with(joined(largest, join_maxima{}));
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      PRUMO_UNROLL
      for (int j = 0; j < pack_elements; ++j) {
        const C exponential = softmax_exponential<T, false>(values[i][j], shift);
        sums[j] = i == 0 ? exponential : sums[j] + exponential;
      }
    }
    statistics.total = statistics.total + joined(sums, join_sums{});
  }

 private:
  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION static C joined(C (&values)[pack_elements], const Join& join) {
    PRUMO_UNROLL
    for (int half = pack_elements / 2; half > 0; half /= 2) {
      PRUMO_UNROLL
      for (int j = 0; j < half; ++j) values[j] = join(values[j], values[j + half]);
    }
    return values[0];
  }
};

}  // namespace prumo::detail
