// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of the direct product of direct_gemm_host.hpp: sums in registers, over a block of the depth.

#include "direct_blocks.hpp"
#include "direct_panels_host.hpp"
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
  using panels = direct_panels<C>;
  static constexpr int highest_rows = panels::highest_rows, group_rows = panels::group_rows;

 public:
  using operand_a = typename panels::operand_a;
  using operand_b = typename panels::operand_b;

  /// The rows of low tiles, which write long runs of each row of C; 0 if sums have more than a few products. Six rows
  /// need fewer instructions for a product than three. But if C is far, more lines of it come and go at a time, and
  /// they took 6 to 10 % longer. With vectors of 32 bytes, low tiles gain nothing if sums go past the caches from
  /// memory.
  /// \param to_c whether tiles write rows of C where they are
  static int rows_of_low_tiles(std::int64_t columns, std::int64_t depth, bool to_c, bool is_c_far) {
    constexpr int lowest = 3, low = 6;
    constexpr std::int64_t shortest_sum = 8, short_sum = 16, wide = std::int64_t{4} * lanes;
    if (columns <= wide || depth > (simd_has_many_registers ? short_sum : shortest_sum)) return 0;
    if (!to_c && !sizes::has_large_caches) return 0;
    return depth > shortest_sum && !is_c_far ? low : lowest;
  }

  /// Calls function<Rows>(row, count, tiles) for the tiles of a block, from its first row on: `tiles` tiles, one below
  /// the other, compute `count` rows each, Rows or up to three fewer. They are low, or as high as possible.
  template <class Function>
  static void for_each(std::int64_t rows, std::int64_t columns, int rows_of_low_tiles, const Function& function) {
    std::int64_t row = 0;
    const auto call = [&]<int Rows>(std::int64_t tiles) {
      if (tiles > 0) function.template operator()<Rows>(row, Rows, tiles);
      row += tiles * Rows;
    };
    if (rows_of_low_tiles == 3) {
      call.template operator()<3>(rows / 3);
    } else if (simd_has_many_registers && rows_of_low_tiles == 6) {
      call.template operator()<6>(rows / 6);
    } else if (columns <= lanes) {
      call.template operator()<highest_rows>(rows / highest_rows);
    } else if (rows >= highest_rows) {
      call.template operator()<tile_rows>(rows / tile_rows - 1);
    }
    while (row < rows) {
      const int here = columns <= lanes ? static_cast<int>(rows - row) : rows_of_tile(rows - row);
      const auto call_once = [&]<int Rows>() { function.template operator()<Rows>(row, here, 1); };
      with_rows(here, call_once);
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

  /// Sums of all columns of a block, in tiles of `rows` rows one below the other, added to those that are there if it
  /// Adds. Several tiles have Rows rows each, and are in place. Some are computed at once, and no more, because the
  /// last panel of a row follows the others of all of them.
  /// \param epilogue follows the sums if they are in place and nothing is added to them later
  template <int Rows, bool Adds, class Result>
  static void multiply(const operand_a& a, const operand_b& b, std::int64_t depth, Result* to, std::int64_t to_stride,
                       std::int64_t rows, std::int64_t columns, bool in_place, std::int64_t tiles = 1,
                       const tile_epilogue<C>& epilogue = {}) {
    constexpr std::int64_t near_elements = sizes::copied_elements / 2;
    const std::int64_t most = std::max<std::int64_t>(1, near_elements / (Rows * columns));
    const std::int64_t at_once = columns % panel == 0 ? tiles : most;
    for (std::int64_t first = 0; first < tiles; first += at_once) {
      multiply_some<Rows, Adds>(a, b, depth, to + first * Rows * to_stride, to_stride, rows, columns, in_place, first,
                                std::min(at_once, tiles - first), epilogue);
    }
  }

 private:
  /// In place, the last panel is where it is in C. Elsewhere it is behind the whole panels, so that sums are kept twice
  /// that are computed twice.
  template <int Rows, bool Adds, class Result>
  static void multiply_some(const operand_a& a, const operand_b& b, std::int64_t depth, Result* to,
                            std::int64_t to_stride, std::int64_t rows, std::int64_t columns, bool in_place,
                            std::int64_t first_tile, std::int64_t tiles, const tile_epilogue<C>& epilogue) {
    constexpr int most_vectors = sizes::vectors_of(Rows);
    constexpr std::int64_t far_apart = 512 / static_cast<std::int64_t>(sizeof(Result));
    const std::int64_t near_elements = sizes::copied_elements;
    const bool prefetches_c = sizes::has_large_caches && in_place && to_stride >= far_apart;
    const bool is_far = sizes::has_large_caches ? depth * columns > near_elements : depth > 3 * panels::rows_ahead;
    const typename panels::run_of_tiles run{depth, to_stride,    rows,           first_tile,
                                            tiles, prefetches_c, Adds || is_far, epilogue};
    const last_panel last(columns);
    std::int64_t j = 0;
    const auto multiply_whole = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
      const std::int64_t count = (last.whole - j) / (Vectors * lanes);
      if (count > 0) panels::template multiply_panels<Rows, Vectors, Adds>(a, b, run, j, count, to + j);
      j += count * Vectors * lanes;
    };
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, most_vectors>{});
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, 6>{});
    if constexpr (most_vectors >= 4) multiply_whole(std::integral_constant<int, 4>{});
    if constexpr (most_vectors >= 2) multiply_whole(std::integral_constant<int, 2>{});
    if (last.left == 0) return;
    Result* const place = to + (in_place ? last.begin : j);
    if (most_vectors == 1 || last.left <= lanes) {
      panels::template multiply_panels<Rows, 1, Adds>(a, b, run, last.begin, 1, place);
    } else if constexpr (most_vectors > 1) {
      panels::template multiply_panels<Rows, 2, Adds>(a, b, run, last.begin, 1, place);
    }
  }

  /// The rows of the next tile where so many are left. The last two tiles have about as many.
  static int rows_of_tile(std::int64_t left) {
    if (left >= highest_rows) return tile_rows;
    const auto few = static_cast<int>(left);
    if (is_tile(few)) return few;
    int rows = (few + 1) / 2;
    while (!is_tile(rows)) ++rows;
    return rows;
  }
  static constexpr bool is_tile(int rows) { return rows <= 6 || (tile_rows > 6 && (rows == 8 || rows == tile_rows)); }

  /// Calls function<Rows>() for the lowest tile with at least `rows` rows; the highest tile has more. Tiles with more
  /// than most_low_rows consist of whole groups of rows. Low tiles of one vector have too few sums that are
  /// independent of each other: 19 rows in tiles of 12, 4 and 3 take longer than 24 in one.
  template <class Function>
  static void with_rows(int rows, const Function& function) {
    constexpr auto at_most = [](int most) { return std::min(most, highest_rows - 1); };
    switch (rows <= panels::most_low_rows ? rows : (rows + group_rows - 1) / group_rows * group_rows) {
      case 1: return function.template operator()<1>();
      case 2: return function.template operator()<2>();
      case 3: return function.template operator()<3>();
      case 4: return function.template operator()<4>();
      case 5: return function.template operator()<5>();
      case 6: return function.template operator()<6>();
      case 8: return function.template operator()<8>();
      case 12: return function.template operator()<at_most(12)>();
      case 16: return function.template operator()<at_most(16)>();
      case 20: return function.template operator()<at_most(20)>();
      default: return function.template operator()<highest_rows - 1>();
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
