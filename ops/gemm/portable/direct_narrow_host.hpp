// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of the direct product of direct_gemm_host.hpp for a C of up to four vectors in a row: they have whole rows, so
/// they write C in order. The last vector of a row ends where the row ends and overlaps the one before. The sums in the
/// overlap are computed twice, with the same result. Of short rows, lanes of the last vector are left out instead, if
/// there are instructions for it: rows of 20 numbers take 5 to 10 % less time then, and rows of 40 more.

#include "direct_panels_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class direct_narrow {
  using vector = simd<C>;
  using operand_a = typename direct_panels<C>::operand_a;
  static constexpr int lanes = vector::lanes;

 public:
  static constexpr std::int64_t fewest_rows = 12;

  /// Whether the last vector of a row reaches beyond its end, and is not written there.
  static bool leaves_lanes_out(std::int64_t columns) {
    return prumo::detail::has_first_lanes && columns <= std::int64_t{most_with_lanes_left_out} * lanes;
  }

  template <class Result>
  struct area {
    Result* to;
    std::int64_t stride;
    std::int64_t rows;
    std::int64_t columns;
    tile_epilogue<C> epilogue;
  };

  /// \param b as many whole vectors for each row as C has
  template <class Result>
  static void multiply(const operand_a& a, const C* b, std::int64_t depth, const area<Result>& c) {
    // Few products for each sum: low tiles write C in order. With many, high ones read B less often.
    constexpr std::int64_t few = 10;
    constexpr bool has_many = simd_has_many_registers;
    constexpr int high = has_many ? 12 : 6, of_three = has_many ? 4 : 3, of_four = has_many ? 3 : 2;
    switch ((c.columns + lanes - 1) / lanes) {
      case 1: return depth <= few ? multiply_tiles<8, 1>(a, b, depth, c) : multiply_tiles<high, 1>(a, b, depth, c);
      case 2: return depth <= few ? multiply_tiles<4, 2>(a, b, depth, c) : multiply_tiles<high, 2>(a, b, depth, c);
      case 3: return multiply_tiles<of_three, 3>(a, b, depth, c);
      default: return multiply_tiles<of_four, 4>(a, b, depth, c);
    }
  }

 private:
  static constexpr int most_with_lanes_left_out = 2;

  /// Stores the last vector of a row: all of it, or its first lanes.
  struct whole_vector {
    explicit whole_vector(std::int64_t) {}
    template <class Result>
    [[gnu::always_inline]] void store(vector values, Result* to) const {
      prumo::detail::store_vector(values, to);
    }
  };
  template <int Vectors, class Result>
  static auto writer_of_last(std::int64_t columns) {
    if constexpr (Vectors <= most_with_lanes_left_out && prumo::detail::has_first_lanes) {
      return prumo::detail::first_lanes<Result>(columns - std::int64_t{Vectors - 1} * lanes);
    } else {
      return whole_vector(columns);
    }
  }

  template <int Rows, int Vectors, class Result>
  static void multiply_tiles(const operand_a& given, const C* b, std::int64_t depth, const area<Result>& c) {
    constexpr std::int64_t line_elements = 64 / static_cast<std::int64_t>(sizeof(C));
    const operand_a a = given;
    const auto last = writer_of_last<Vectors, Result>(c.columns);
    const std::int64_t last_column = leaves_lanes_out(c.columns) ? (Vectors - 1) * lanes : c.columns - lanes;
    // Tiles of short sums take less time than memory needs, so these ask for rows of a later tile.
    constexpr std::int64_t least_ahead = 8192 / static_cast<std::int64_t>(sizeof(C));
    const std::int64_t ahead = std::max(Rows * a.row_stride, least_ahead);
    const std::int64_t lines = a.is_followed ? std::min(depth, (Rows * depth + line_elements - 1) / line_elements) : 0;
    // The last tile overlaps the one before, too.
    for (std::int64_t row = 0;; row = std::min(row + Rows, c.rows - Rows)) {
      typename direct_panels<C>::template rows_in_registers<Rows> rows_of_a(a.data + row * a.row_stride, a.row_stride);
      const C* next = a.data + row * a.row_stride + ahead;
      const C* of_b = b;
      vector sums[Rows][Vectors];
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                          PRUMO_ALWAYS_INLINE { sums[i][j] = vector(C(0)); });
      const auto multiply_products = [&]() PRUMO_ALWAYS_INLINE {
        vector factors[Vectors];
        prumo::detail::for_each_register<1, Vectors>(
            [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(of_b + j * lanes); });
        prumo::detail::for_each_register<Rows, Vectors>(
            [&](int i, int j) PRUMO_ALWAYS_INLINE { sums[i][j] = fma(vector(rows_of_a[i]), factors[j], sums[i][j]); });
        rows_of_a.advance(a.column_stride);
        of_b += Vectors * lanes;
      };
      // The rows behind are prefetched with the first products.
      std::int64_t left = depth - lines;
      for (std::int64_t line = lines; line > 0; --line, next += line_elements) {
        __builtin_prefetch(next, 0, 2);
        multiply_products();
      }
      for (; left > 0; --left) multiply_products();
      if (c.epilogue.bias != nullptr) {
        tile_epilogue<C>::finish(c.epilogue.bias, c.epilogue.floor, sums, last_column);
      }
      prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
        Result* const to = c.to + (row + i) * c.stride;
        direct_panels<C>::template store_sums<Vectors - 1>(sums[i], to);
        last.store(sums[i][Vectors - 1], to + last_column);
      });
      if (row + Rows >= c.rows) return;
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
