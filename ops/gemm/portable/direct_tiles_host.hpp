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
#include <utility>

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
    const C* next = nullptr;  ///< what the next tile reads, to prefetch it while this one is computed
  };

  /// Rows of B without gaps. If they are shorter than a panel, as much may be read. The last of rows that are no longer
  /// than a vector may be elsewhere, each as long as a panel.
  struct operand_b {
    const C* data;
    std::int64_t stride;
    const C* last = nullptr;
    std::int64_t last_rows = 0;
    std::int64_t ahead = 0;  ///< from what is read to what is read afterwards; 0 if it is in a cache
  };

  /// Calls function<Rows>(row, count) for the tiles of a block, from its first row on: a tile computes `count` rows,
  /// Rows or up to three fewer. Sums have `depth` products, those that are kept more than a few.
  template <class Function>
  static void for_each(std::int64_t rows, std::int64_t columns, std::int64_t depth, const Function& function) {
    std::int64_t row = 0;
    const auto call = [&]<int Rows>(std::integral_constant<int, Rows>) {
      for (; rows - row >= Rows; row += Rows) function.template operator()<Rows>(row, Rows);
    };
    // Few products for each sum: low tiles write long runs of each row of C.
    constexpr int low_rows = 3;
    constexpr std::int64_t short_sum = 8, wide = 4 * lanes;
    if (sizes::has_large_caches && depth <= short_sum && columns > wide) call(std::integral_constant<int, low_rows>{});
    if (columns <= lanes) call(std::integral_constant<int, highest_rows>{});
    while (row < rows) {
      const int here = columns <= lanes ? static_cast<int>(rows - row) : rows_of_tile(rows - row);
      const auto call_once = [&]<int Rows>() { function.template operator()<Rows>(row, here); };
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

  /// Sums of `rows` rows and all columns of a block, added to those that are there if it Adds. In place, the last panel
  /// is where it is in C. Elsewhere it is behind the whole panels, so that sums are kept twice that are computed twice.
  template <int Rows, bool Adds>
  static void multiply(const operand_a& a, const operand_b& b, std::int64_t depth, C* to, std::int64_t to_stride,
                       std::int64_t rows, std::int64_t columns, bool in_place) {
    constexpr int most_vectors = sizes::vectors_of(Rows);
    constexpr std::int64_t far_apart = 512 / static_cast<std::int64_t>(sizeof(C));
    const bool prefetches_c = sizes::has_large_caches && in_place && to_stride >= far_apart;
    const last_panel last(columns);
    std::int64_t j = 0;
    const auto multiply_whole = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
      for (; j + Vectors * lanes <= last.whole; j += Vectors * lanes) {
        multiply_panel<Rows, Vectors, Adds>(a, b, rows, j, depth, to + j, to_stride, prefetches_c);
      }
    };
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, most_vectors>{});
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, 6>{});
    if constexpr (most_vectors >= 4) multiply_whole(std::integral_constant<int, 4>{});
    if constexpr (most_vectors >= 2) multiply_whole(std::integral_constant<int, 2>{});
    if (last.left == 0) return;
    C* const place = to + (in_place ? last.begin : j);
    if (most_vectors == 1 || last.left <= lanes) {
      multiply_panel<Rows, 1, Adds>(a, b, rows, last.begin, depth, place, to_stride, prefetches_c);
    } else if constexpr (most_vectors > 1) {
      multiply_panel<Rows, 2, Adds>(a, b, rows, last.begin, depth, place, to_stride, prefetches_c);
    }
  }

 private:
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

  static constexpr int highest_rows = 2 * tile_rows, most_low_rows = 6, group_rows = 4;

  /// Calls function<Rows>() for the lowest tile with at least `rows` rows; the highest tile has more. Tiles with more
  /// than most_low_rows consist of whole groups of rows. Low tiles of one vector have too few sums that are
  /// independent of each other: 19 rows in tiles of 12, 4 and 3 take longer than 24 in one.
  template <class Function>
  static void with_rows(int rows, const Function& function) {
    constexpr auto at_most = [](int most) { return std::min(most, highest_rows - 1); };
    switch (rows <= most_low_rows ? rows : (rows + group_rows - 1) / group_rows * group_rows) {
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

  /// High tiles of one vector may have fewer rows. Their last group of rows then overlaps the one before: some rows are
  /// computed twice, with the same result. Sums that are there are read before any is written.
  template <int Rows, int Vectors, bool Adds>
  static void multiply_panel(const operand_a& from_a, const operand_b& from_b, std::int64_t rows, std::int64_t column,
                             std::int64_t depth, C* to, std::int64_t to_stride, bool prefetches_c) {
    const std::int64_t row_stride = from_a.row_stride, column_stride = from_a.column_stride;
    // With many rows, compilers would keep a distance from the first row for each other one, for which registers do not
    // suffice.
    constexpr bool has_many_rows = Rows > 8, keeps_addresses = has_many_rows && simd_has_many_registers;
    constexpr bool may_overlap = Vectors == 1 && Rows > most_low_rows && Rows < highest_rows;
    constexpr int rows_of_address = has_many_rows || may_overlap ? group_rows : Rows;
    constexpr int addresses = (Rows + rows_of_address - 1) / rows_of_address;
    constexpr int first_of_last = (addresses - 1) * rows_of_address;
    const std::int64_t shift = may_overlap ? rows - Rows : 0;  // of the last group
    const auto shift_of = [&](int i) PRUMO_ALWAYS_INLINE { return may_overlap && i >= first_of_last ? shift : 0; };
    const auto sums_of = [&](int i) PRUMO_ALWAYS_INLINE {
      return may_overlap ? to + (i + shift_of(i)) * to_stride : to + i * to_stride;
    };
    const C* a[addresses];
    prumo::detail::for_each_register<addresses, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
      const int first = i * rows_of_address;
      const C* row = from_a.data + (first + shift_of(first)) * row_stride;
      if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(row);
      a[i] = row;
    });
    std::int64_t three_rows = 3 * row_stride;
    if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(three_rows);
    const auto factor = [&](int row) PRUMO_ALWAYS_INLINE {
      const int behind = row % rows_of_address;
      return vector(a[row / rows_of_address][keeps_addresses && behind == 3 ? three_rows : behind * row_stride]);
    };
    vector held[Rows][Vectors];
    if constexpr (!Adds) {
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                          PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    } else {
      prumo::detail::for_each_register<Rows, Vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector::load(sums_of(i) + j * lanes); });
    }
    // Lines of C arrive while sums are computed. The panel before has prefetched a line that this one shares with it.
    // High tiles ask for those of one row with each product, because loads would wait behind all of them together.
    constexpr bool may_prefetch_c = sizes::has_large_caches && !Adds, spreads_c = may_prefetch_c && has_many_rows;
    const auto prefetch_row = [](const C* row) PRUMO_ALWAYS_INLINE {
      prumo::detail::for_each_register<lines_of(Vectors), 1>(
          [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(row + (line + 1) * line_elements - 1, 1); });
    };
    [[maybe_unused]] const C* row_of_c = nullptr;
    [[maybe_unused]] const C* const last_row_of_c = to + (rows - 1) * to_stride;
    if (may_prefetch_c && prefetches_c) {
      if constexpr (spreads_c) {
        row_of_c = to;
        for (std::int64_t i = depth; i < rows; ++i, row_of_c += to_stride) prefetch_row(row_of_c);
      } else {
        prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { prefetch_row(sums_of(i)); });
      }
    }
    // Rows of B may lie so far from each other that processors do not see that they are read one after the other. The
    // rows behind a short block of the depth are not read next, except for sums that are kept.
    constexpr std::int64_t rows_ahead = 16;
    const C* b = from_b.data + column;
    std::int64_t b_stride = from_b.stride;
    std::int64_t ahead = Adds || depth > 3 * rows_ahead ? rows_ahead * b_stride : 0;
    if (sizes::has_large_caches && from_b.ahead != 0) ahead = from_b.ahead;
    constexpr bool prefetches_a = sizes::has_large_caches && !Adds && has_many_rows;
    [[maybe_unused]] const C* next = column == 0 ? from_a.next : nullptr;
    // Without a way around the loop, sums are in the same registers before and behind it.
    // Only rows that one vector holds have their last ones elsewhere.
    std::int64_t then = Vectors == 1 ? from_b.last_rows : 0;
    std::int64_t left = depth - then;
    do {
      do {
        if constexpr (spreads_c) {
          if (row_of_c != nullptr) {
            prefetch_row(row_of_c);
            if (row_of_c < last_row_of_c) row_of_c += to_stride;
          }
        }
        if constexpr (prefetches_a) {
          // Two lines hold what 24 rows read in a step.
          if (next != nullptr) {
            prumo::detail::for_each_register<(Rows + line_elements - 1) / line_elements, 1>(
                [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(next + line * line_elements, 0, 2); });
            next += Rows;
          }
        }
        if constexpr (Vectors > Rows) {
          vector factors[Rows];
          prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { factors[i] = factor(i); });
          prumo::detail::for_each_register<Vectors, Rows>([&](int j, int i) PRUMO_ALWAYS_INLINE {
            held[i][j] = fma(vector::load(b + j * lanes), factors[i], held[i][j]);
          });
        } else {
          prumo::detail::for_each_register<lines_of(Vectors), 1>(
              [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(b + ahead + line * line_elements); });
          vector factors[Vectors];
          prumo::detail::for_each_register<1, Vectors>(
              [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(b + j * lanes); });
          prumo::detail::for_each_register<Rows, Vectors>(
              [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = fma(factor(i), factors[j], held[i][j]); });
        }
        prumo::detail::for_each_register<addresses, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
          const C* row = a[i] + column_stride;
          if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(row);
          a[i] = row;
        });
        b += b_stride;
      } while (--left > 0);
      b = from_b.last;
      b_stride = panel;
      ahead = 0;
      left = std::exchange(then, 0);
    } while (left > 0);
    prumo::detail::for_each_register<Rows, Vectors>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(sums_of(i) + j * lanes); });
  }

  static constexpr int line_elements = 64 / static_cast<int>(sizeof(C));
  /// Lines of a cache that so many vectors fill.
  static constexpr int lines_of(int vectors) { return (vectors * lanes + line_elements - 1) / line_elements; }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
