// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of the direct product of direct_gemm_host.hpp: sums in registers, over a block of the depth.

#include "direct_blocks.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class direct_tiles {
  using vector = simd<C>;
  using sizes = direct_sizes<C>;
  static constexpr int lanes = vector::lanes;
  static constexpr int tile_rows = sizes::tile_rows;
  static constexpr std::int64_t panel = sizes::panel;

 public:
  /// Rows of A in any strides.
  struct operand_a {
    const C* data;
    std::int64_t row_stride;
    std::int64_t column_stride;
  };

  /// Rows of B without gaps. If they are fewer than a panel, as much may be read.
  struct operand_b {
    const C* data;
    std::int64_t stride;
  };

  /// Calls function<Rows>(row) for the tiles of a block, from its first row on.
  template <class Function>
  static void for_each(std::int64_t rows, std::int64_t columns, const Function& function) {
    std::int64_t row = 0;
    const auto call = [&]<int Rows>(std::integral_constant<int, Rows>) {
      for (; rows - row >= Rows; row += Rows) function.template operator()<Rows>(row);
    };
    if (columns <= lanes) call(std::integral_constant<int, 2 * tile_rows>{});
    while (row < rows) {
      const int here = rows_of_tile(rows - row);
      with_rows(here, [&]<int Rows>() { function.template operator()<Rows>(row); });
      row += here;
    }
  }

  /// The last panel of a row whose length is no multiple of a panel. It ends where the row ends and overlaps the panel
  /// before it. The sums in the overlap are computed twice, with the same result. A row that is shorter than a panel
  /// has only this one, which then reaches beyond the end of the row.
  struct last_panel {
    std::int64_t whole;  ///< columns in whole panels
    std::int64_t left;   ///< columns behind them
    std::int64_t begin;  ///< the panel's first column

    explicit last_panel(std::int64_t columns)
        : whole(columns / panel * panel),
          left(columns - whole),
          begin(std::max<std::int64_t>(0, columns - (left <= lanes ? lanes : panel))) {}
  };

  /// Sums of some rows and all columns of a block, added to those that are there if it Adds. In place, the last panel
  /// is where it is in C. Elsewhere it is behind the whole panels, so that sums are kept twice that are computed twice.
  template <int Rows, bool Adds>
  static void multiply(const operand_a& a, const operand_b& b, std::int64_t depth, C* to, std::int64_t to_stride,
                       std::int64_t columns, bool in_place) {
    constexpr int most_vectors = sizes::vectors_of(Rows);
    const last_panel last(columns);
    std::int64_t j = 0;
    const auto multiply_whole = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
      for (; j + Vectors * lanes <= last.whole; j += Vectors * lanes) {
        multiply_panel<Rows, Vectors, Adds>(a, b.data + j, b.stride, depth, to + j, to_stride);
      }
    };
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, most_vectors>{});
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, 6>{});
    if constexpr (most_vectors >= 4) multiply_whole(std::integral_constant<int, 4>{});
    if constexpr (most_vectors >= 2) multiply_whole(std::integral_constant<int, 2>{});
    if (last.left == 0) return;
    C* const place = to + (in_place ? last.begin : j);
    if (most_vectors == 1 || last.left <= lanes) {
      multiply_panel<Rows, 1, Adds>(a, b.data + last.begin, b.stride, depth, place, to_stride);
    } else if constexpr (most_vectors > 1) {
      multiply_panel<Rows, 2, Adds>(a, b.data + last.begin, b.stride, depth, place, to_stride);
    }
  }

 private:
  /// The rows of the next tile where so many are left. The last two tiles have about as many.
  static int rows_of_tile(std::int64_t left) {
    constexpr int most = 2 * tile_rows;
    if (left >= most) return tile_rows;
    const auto few = static_cast<int>(left);
    if (is_tile(few)) return few;
    int rows = (few + 1) / 2;
    while (!is_tile(rows)) ++rows;
    return rows;
  }
  static constexpr bool is_tile(int rows) { return rows <= 6 || (tile_rows > 6 && (rows == 8 || rows == tile_rows)); }

  template <class Function>
  static void with_rows(int rows, const Function& function) {
    switch (rows) {
      case 1: return function.template operator()<1>();
      case 2: return function.template operator()<2>();
      case 3: return function.template operator()<3>();
      case 4: return function.template operator()<4>();
      case 5: return function.template operator()<5>();
      case 6: return function.template operator()<6>();
      case 8:
        if constexpr (tile_rows > 6) return function.template operator()<8>();
        break;
      default:
        if constexpr (tile_rows > 6) return function.template operator()<tile_rows>();
    }
  }

  template <int Rows, int Vectors, bool Adds>
  static void multiply_panel(const operand_a& from_a, const C* b, std::int64_t b_stride, std::int64_t depth, C* to,
                             std::int64_t to_stride) {
    const C* a = from_a.data;
    const std::int64_t row_stride = from_a.row_stride, column_stride = from_a.column_stride;
    vector held[Rows][Vectors];
    if constexpr (!Adds) {
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                          PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    } else {
      prumo::detail::for_each_register<Rows, Vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector::load(to + i * to_stride + j * lanes); });
    }
    // Rows of B may lie so far from each other that processors do not see that they are read one after the other. The
    // rows behind a short block of the depth are not read next, except for sums that are kept.
    constexpr std::int64_t rows_ahead = 16;
    const std::int64_t ahead = Adds || depth > 3 * rows_ahead ? rows_ahead * b_stride : 0;
    // Without a way around the loop, sums are in the same registers before and behind it.
    std::int64_t left = depth;
    do {
      if constexpr (Vectors > Rows) {
        vector factors[Rows];
        prumo::detail::for_each_register<Rows, 1>([&](int i, int)
                                                      PRUMO_ALWAYS_INLINE { factors[i] = vector(a[i * row_stride]); });
        prumo::detail::for_each_register<Vectors, Rows>([&](int j, int i) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(vector::load(b + j * lanes), factors[i], held[i][j]);
        });
      } else {
        __builtin_prefetch(b + ahead);
        vector factors[Vectors];
        prumo::detail::for_each_register<1, Vectors>(
            [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(b + j * lanes); });
        prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(vector(a[i * row_stride]), factors[j], held[i][j]);
        });
      }
      a += column_stride;
      b += b_stride;
    } while (--left > 0);
    prumo::detail::for_each_register<Rows, Vectors>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(to + i * to_stride + j * lanes); });
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
