// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Panels of the tiles of direct_tiles_host.hpp: a few rows and vectors of sums in registers, over a block of the
/// depth.

#include "direct_blocks.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What follows sums while they are in registers: a bias of the columns and a lower bound.
template <class C>
struct tile_epilogue {
  /// The bias of each column of a block. Vectors may read as many numbers behind it as a panel has. If it is null,
  /// nothing follows.
  const C* bias = nullptr;
  C floor = 0;  ///< 0 for relu; otherwise negative infinity

  /// Adds the bias to rows of sums, and applies the bound.
  /// \param of_first the bias of the first column
  /// \param last_column where the last vector begins. It may begin before the one ahead of it ends.
  template <int Rows, int Vectors>
  [[gnu::always_inline]] static void finish(const C* of_first, C floor, simd<C> (&sums)[Rows][Vectors],
                                            std::int64_t last_column = std::int64_t{Vectors - 1} * simd<C>::lanes) {
    prumo::detail::for_each_register<Vectors, Rows>([&](int j, int i) PRUMO_ALWAYS_INLINE {
      const std::int64_t column = j == Vectors - 1 ? last_column : std::int64_t{j} * simd<C>::lanes;
      sums[i][j] = prumo::maximum(sums[i][j] + simd<C>::load(of_first + column), simd<C>(floor));
    });
  }
};

template <class C>
class direct_panels {
  using vector = simd<C>;
  using sizes = direct_sizes<C>;
  static constexpr int lanes = vector::lanes;
  static constexpr std::int64_t panel = sizes::panel;

 public:
  /// Rows of the highest tile, which has one vector in a row; of those that have any number of rows; and of a group.
  static constexpr int highest_rows = 2 * sizes::tile_rows, most_low_rows = 6, group_rows = 4;

  /// Rows of A in any strides.
  struct operand_a {
    const C* data;
    std::int64_t row_stride;
    std::int64_t column_stride;
    bool is_followed = false;  ///< rows of the next tile follow, and are prefetched while a tile is computed
  };

  /// Rows of B without gaps. If they are shorter than a panel, as much may be read. The last of rows that are no longer
  /// than a vector may be elsewhere, each as long as a panel.
  struct operand_b {
    const C* data;
    std::int64_t stride;
    const C* last = nullptr;
    std::int64_t last_rows = 0;
    std::int64_t ahead = 0;  ///< from what the first tile reads to what it prefetches; 0 if all is in a cache
  };

  /// Rows of B may lie so far from each other that processors do not see that they are read one after the other.
  static constexpr std::int64_t rows_ahead = 16;

  /// The next elements of so many rows of A. With many rows, compilers would keep a distance from the first row for
  /// each other one, for which registers do not suffice. So four rows share an address.
  template <int Rows>
  class rows_in_registers {
   public:
    /// \param shift of the rows of the last address
    rows_in_registers(const C* first, std::int64_t stride, std::int64_t shift = 0) : stride_(stride) {
      prumo::detail::for_each_register<addresses, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
        const C* row = first + (std::int64_t{i} * rows_of_address + (i == addresses - 1 ? shift : 0)) * stride;
        if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(row);
        rows_[i] = row;
      });
      three_rows_ = 3 * stride;
      if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(three_rows_);
    }

    [[gnu::always_inline]] C operator[](int row) const {
      const int behind = row % rows_of_address;
      return rows_[row / rows_of_address][keeps_addresses && behind == 3 ? three_rows_ : behind * stride_];
    }
    [[gnu::always_inline]] void advance(std::int64_t column_stride) {
      prumo::detail::for_each_register<addresses, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
        const C* row = rows_[i] + column_stride;
        if constexpr (keeps_addresses) PRUMO_KEEP_IN_REGISTER(row);
        rows_[i] = row;
      });
    }

   private:
    static constexpr bool keeps_addresses = Rows > 8 && simd_has_many_registers;
    static constexpr int rows_of_address = Rows > 6 ? group_rows : Rows;
    static constexpr int addresses = (Rows + rows_of_address - 1) / rows_of_address;

    std::int64_t stride_;
    std::int64_t three_rows_;
    const C* rows_[addresses];
  };

  /// What the panels of some tiles have in common.
  struct run_of_tiles {
    std::int64_t depth;
    std::int64_t to_stride;
    std::int64_t rows;        ///< of a tile
    std::int64_t first_tile;  ///< of those that A begins with
    std::int64_t tiles;
    bool prefetches_c;
    bool prefetches_b;  ///< for all tiles, because the nearest cache does not hold it
    tile_epilogue<C> epilogue;
  };

  /// Some panels of each tile. Those of the first tile prefetch what is ahead of it in B, or those of all tiles, and
  /// the first panels of tiles what the next tile reads of A.
  template <int Rows, int Vectors, bool Adds, class Result>
  static void multiply_panels(const operand_a& a, const operand_b& b, const run_of_tiles& run, std::int64_t column,
                              std::int64_t count, Result* to) {
    // Tiles of few rows have so few multiply-adds for an element of B that asking for all lines takes as long.
    if constexpr (Adds && Vectors > Rows) {
      if (b.ahead == 0) {
        return multiply_tiles<Rows, Vectors, true, prefetching::nothing>(a, b, run, 0, run.tiles, column, count, to, 0);
      }
    }
    std::int64_t asking = 0;
    const std::int64_t ahead_of_first = run.first_tile == 0 ? b.ahead : 0;
    if (Adds || run.prefetches_b || ahead_of_first != 0) {
      asking = run.prefetches_b ? run.tiles : 1;
      const std::int64_t ahead = ahead_of_first != 0 ? ahead_of_first : rows_ahead * b.stride;
      multiply_tiles<Rows, Vectors, Adds, prefetching::all>(a, b, run, 0, asking, column, count, to, ahead);
    }
    if constexpr (!Adds) {
      if (asking == run.tiles) return;
      if constexpr (prefetches_a<Rows, false> && std::is_same_v<Result, C>) {
        if (a.is_followed && column == 0) {
          multiply_tiles<Rows, Vectors, false, prefetching::next_rows_of_a>(a, b, run, asking, run.tiles, 0, 1, to, 0);
          if (--count == 0) return;
          column = std::int64_t{Vectors} * lanes;
          to += column;
        }
      }
      multiply_tiles<Rows, Vectors, false, prefetching::nothing>(a, b, run, asking, run.tiles, column, count, to, 0);
    }
  }

  /// Stores sums of a row, rounded to what C is of. Of 16 bits, two vectors are a register.
  template <int Count, int Vectors, class Result>
  [[gnu::always_inline]] static void store_sums(const vector (&sums)[Vectors], Result* to) {
    constexpr auto of_halves = prumo::detail::nans::of_halves;
    prumo::detail::for_each_register<Count / 2, 1>([&](int pair, int) PRUMO_ALWAYS_INLINE {
      prumo::detail::store_vectors<of_halves>(sums[2 * pair], sums[2 * pair + 1], to + 2 * pair * lanes);
    });
    if constexpr (Count % 2 != 0) prumo::detail::store_vector<of_halves>(sums[Count - 1], to + (Count - 1) * lanes);
  }

 private:
  /// What the panels of a tile have in common.
  struct panels_of_tile {
    std::int64_t depth;
    std::int64_t to_stride;
    std::int64_t rows;
    bool prefetches_c;
    C floor;
  };

  /// What panels prefetch besides C.
  enum class prefetching : std::uint8_t { nothing, next_rows_of_a, all };

  /// Whether tiles are so high that a step reads enough of A to be worth a prefetch.
  template <int Rows, bool Adds>
  static constexpr bool prefetches_a = !Adds && (3 * Rows > 2 * sizes::tile_rows);

  /// The tiles begin ... end - 1 of a run. Panels of a tile come first, so that rows of C are written in long runs.
  /// Operands are passed on without a copy: processors wait until all stores are done before they load two numbers at
  /// once that were stored one by one.
  template <int Rows, int Vectors, bool Adds, prefetching Prefetching, class Result>
  [[gnu::noinline]] static void multiply_tiles(const operand_a& given_a, const operand_b& given_b,
                                               const run_of_tiles& run, std::int64_t begin, std::int64_t end,
                                               std::int64_t column, std::int64_t count, Result* to,
                                               std::int64_t ahead) {
    constexpr std::int64_t width = std::int64_t{Vectors} * lanes;
    const std::int64_t rows_before = (run.first_tile + begin) * Rows;
    operand_a a{given_a.data + rows_before * given_a.row_stride, given_a.row_stride, given_a.column_stride};
    operand_b b{given_b.data, given_b.stride, given_b.last, given_b.last_rows, ahead};
    const panels_of_tile of{run.depth, run.to_stride, run.rows, run.prefetches_c, run.epilogue.floor};
    const C* const bias_of_first = run.epilogue.bias == nullptr ? nullptr : run.epilogue.bias + column;
    const std::int64_t bias_width = bias_of_first == nullptr ? 0 : width;
    const C* const of_b = b.data + column;
    const bool is_followed = given_a.is_followed && column == 0;
    to += begin * Rows * of.to_stride;
    for (std::int64_t left = end - begin; left > 0; --left, a.data += Rows * a.row_stride, to += Rows * of.to_stride) {
      Result* place = to;
      b.data = of_b;
      a.is_followed = is_followed;
      const C* bias = bias_of_first;
      for (std::int64_t panels = count; panels > 0; --panels, b.data += width, place += width, bias += bias_width) {
        multiply_panel<Rows, Vectors, Adds, Prefetching>(a, b, of, bias, place);
        a.is_followed = false;
      }
    }
  }

  /// High tiles of one vector may have fewer rows. Their last group of rows then overlaps the one before: some rows are
  /// computed twice, with the same result. Sums that are there are read before any is written.
  ///
  /// Lines are prefetched with the first products only, or with all of them where A or B may be far. Other products
  /// take as few instructions as possible, because threads may share a core's.
  template <int Rows, int Vectors, bool Adds, prefetching Prefetching, class Result>
  [[gnu::always_inline]] static void multiply_panel(const operand_a& from_a, const operand_b& from_b,
                                                    const panels_of_tile& run, [[maybe_unused]] const C* bias,
                                                    Result* to) {
    static_assert(!Adds || std::is_same_v<Result, C>);
    const std::int64_t rows = run.rows, depth = run.depth, to_stride = run.to_stride;
    constexpr bool has_many_rows = Rows > 8;
    constexpr bool may_overlap = Vectors == 1 && Rows > most_low_rows && Rows < highest_rows;
    constexpr int first_of_last = (Rows - 1) / group_rows * group_rows;
    const std::int64_t shift = may_overlap ? rows - Rows : 0;  // of the last group
    const auto sums_of = [&](int i) PRUMO_ALWAYS_INLINE {
      return may_overlap ? to + (i + (i >= first_of_last ? shift : 0)) * to_stride : to + i * to_stride;
    };
    rows_in_registers<Rows> rows_of_a(from_a.data, from_a.row_stride, shift);
    vector held[Rows][Vectors];
    if constexpr (!Adds) {
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                          PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    } else {
      prumo::detail::for_each_register<Rows, Vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector::load(sums_of(i) + j * lanes); });
    }
    // Lines of C arrive while sums are computed. The panel before has already prefetched the line that both share.
    // High tiles ask for those of one row with each product, because loads would wait behind all of them together.
    constexpr bool may_prefetch_c = sizes::has_large_caches && !Adds, spreads_c = may_prefetch_c && has_many_rows;
    constexpr int line_of_c = 64 / static_cast<int>(sizeof(Result));
    const auto prefetch_row = [](const Result* row) PRUMO_ALWAYS_INLINE {
      prumo::detail::for_each_register<(Vectors * lanes + line_of_c - 1) / line_of_c, 1>(
          [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(row + (line + 1) * line_of_c - 1, 1); });
    };
    const bool prefetches_c = may_prefetch_c && run.prefetches_c;
    std::int64_t asking = prefetches_c && spreads_c ? std::min(rows, depth) : 0;
    [[maybe_unused]] const Result* row_of_c = to;
    if (prefetches_c) {
      if constexpr (spreads_c) {
        for (std::int64_t i = depth; i < rows; ++i, row_of_c += to_stride) prefetch_row(row_of_c);
      } else {
        prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { prefetch_row(sums_of(i)); });
      }
    }
    const C* b = from_b.data;
    std::int64_t b_stride = from_b.stride;
    [[maybe_unused]] const std::int64_t ahead = from_b.ahead;
    [[maybe_unused]] const C* next = from_a.data + (from_a.is_followed ? rows * from_a.row_stride : 0);
    [[maybe_unused]] const std::int64_t of_next = from_a.is_followed ? Rows : 0;
    const auto prefetch_operands = [&]() PRUMO_ALWAYS_INLINE {
      if constexpr (prefetches_a<Rows, Adds> && Prefetching != prefetching::nothing) {
        // Two lines hold what 24 rows read in a step.
        prumo::detail::for_each_register<(Rows + line_elements - 1) / line_elements, 1>(
            [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(next + line * line_elements, 0, 2); });
        next += of_next;
      }
      if constexpr ((Adds || Vectors <= Rows) && Prefetching == prefetching::all) {
        prumo::detail::for_each_register<lines_of(Vectors), 1>(
            [&](int line, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(b + ahead + line * line_elements); });
      }
    };
    const auto multiply_products = [&]() PRUMO_ALWAYS_INLINE {
      if constexpr (Vectors > Rows) {
        vector factors[Rows];
        prumo::detail::for_each_register<Rows, 1>([&](int i, int)
                                                      PRUMO_ALWAYS_INLINE { factors[i] = vector(rows_of_a[i]); });
        prumo::detail::for_each_register<Vectors, Rows>([&](int j, int i) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(vector::load(b + j * lanes), factors[i], held[i][j]);
        });
      } else {
        vector factors[Vectors];
        prumo::detail::for_each_register<1, Vectors>(
            [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(b + j * lanes); });
        prumo::detail::for_each_register<Rows, Vectors>(
            [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = fma(vector(rows_of_a[i]), factors[j], held[i][j]); });
      }
      rows_of_a.advance(from_a.column_stride);
      b += b_stride;
    };
    // Only rows that one vector holds have their last ones elsewhere.
    std::int64_t then = Vectors == 1 ? from_b.last_rows : 0;
    std::int64_t left = depth - then;
    do {
      if constexpr (spreads_c) {
        for (std::int64_t here = std::min(asking, left); here > 0; --here, --asking, --left) {
          prefetch_row(row_of_c);
          row_of_c += to_stride;
          prefetch_operands();
          multiply_products();
        }
      }
      // Without a way around the loop, sums are in the same registers before and behind it.
      if (!spreads_c || left > 0) {
        do {
          prefetch_operands();
          multiply_products();
        } while (--left > 0);
      }
      b = from_b.last;
      b_stride = panel;
      left = std::exchange(then, 0);
    } while (left > 0);
    if constexpr (!Adds) {
      if (bias != nullptr) tile_epilogue<C>::finish(bias, run.floor, held);
    }
    prumo::detail::for_each_register<Rows, 1>([&](int i, int)
                                                  PRUMO_ALWAYS_INLINE { store_sums<Vectors>(held[i], sums_of(i)); });
  }

  static constexpr int line_elements = 64 / static_cast<int>(sizeof(C));
  /// Lines of a cache that so many vectors fill.
  static constexpr int lines_of(int vectors) { return (vectors * lanes + line_elements - 1) / line_elements; }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
