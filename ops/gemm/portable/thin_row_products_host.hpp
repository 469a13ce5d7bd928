// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of a few rows, which lie in memory, and a few columns: sums in registers, for the kernel of
/// thin_rows_host.hpp.

#include "thin_gemm_host.hpp"
#include "thin_row_lanes_host.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/lanes.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of a block of A times columns of B.
template <class T, bool Contiguous>
class thin_row_products {
  using C = compute_t<T>;
  using vector = simd<C>;

 public:
  static constexpr std::int64_t most_rows = 512;  ///< of a block
  /// Columns that are multiplied at once, so that A is read once for all of them: for more, there are not enough
  /// registers.
  static constexpr int most_columns = simd_has_many_registers ? 14 : 6;
  /// With this number of columns or more, rows are prefetched into the second-level cache only. That is as fast as the
  /// first-level cache if A comes from memory, and costs less if A is in a cache already.
  static constexpr int many_columns = 7;
  static constexpr std::int64_t columns_at_once(std::int64_t left) {
    return divide_up(left, divide_up(left, most_columns));
  }
  /// With room for a tile of which only the first row is there.
  static constexpr std::int64_t row_of_sums = most_rows + 32;
  /// Rows that are multiplied side by side, with a vector of sums for each column. Beside the sums, registers hold a
  /// vector of each row or one of each column, whichever are fewer, and another one.
  static constexpr std::int64_t rows_beside(std::int64_t columns) {
    constexpr std::int64_t all = simd_has_many_registers ? 31 : 15, most = simd_has_many_registers ? 12 : 6;
    std::int64_t rows = std::min(all / (columns + 1), most);
    while ((rows + 1) * columns + std::min(rows + 1, columns) <= all && rows < most) ++rows;
    return rows;
  }
  /// Long rows times a single column.
  static constexpr int high_rows = simd_has_many_registers ? 8 : 4;
  static constexpr std::int64_t longer_row = 512;
  /// Rows of this length that are multiplied side by side by a single column.
  static constexpr std::int64_t rows_of_a_column(std::int64_t length) {
    return length < long_row ? vector::lanes : high_rows;
  }

  /// Rows of A in a block, and columns of B: one as it lies in memory, or several whose vectors alternate. So they are
  /// read in their order, and do not meet in the same sets of a cache.
  struct operands {
    const T* a;
    const C* b;
    std::int64_t row_stride, column_stride;  ///< of A
    std::int64_t rows, length;
    std::int64_t ahead = 0;  ///< from what is read to what is prefetched
  };

  /// Computes the sums, or adds to those that are there. The sums of a column begin `row_of_sums` elements behind those
  /// of the column before.
  static void multiply(const operands& at, std::int64_t columns, bool adds, C* sums) {
    std::int64_t done = 0;
    if constexpr (Contiguous) {
      if (at.length >= vector::lanes) {
        with_columns<most_columns>(columns, [&]<int Columns>() { done = multiply_whole<Columns>(at, adds, sums); });
      } else if (columns == 1) {
        return multiply_short(at, adds, sums);
      }
    }
    for (std::int64_t i = done; i < at.rows; ++i) {
      const T* const row = at.a + i * at.row_stride;
      for (std::int64_t column = 0; column < columns; ++column) {
        put(product_of(at, columns, row, at.b + column * vector::lanes), adds, sums[column * row_of_sums + i]);
      }
    }
  }

 private:
  /// The partial sums of a long row that is multiplied alone.
  static constexpr int in_registers = prumo::detail::reduction_lanes<C>;
  static constexpr int registers = in_registers / vector::lanes;
  /// A single column: shorter rows are multiplied as many side by side as a vector has lanes. So more of them come from
  /// memory at the same time, which 16-bit numbers need up to a greater length. From the second length on, rows may be
  /// multiplied in a few vectors of each, so that processors see runs.
  static constexpr std::int64_t long_row = sizeof(T) == 2 ? 8192 : 512;

  /// Calls function<Columns>() for the number of columns.
  template <int Columns, class Function>
  static void with_columns(std::int64_t columns, const Function& function) {
    if (columns == Columns) return function.template operator()<Columns>();
    if constexpr (Columns > 1) with_columns<Columns - 1>(columns, function);
  }

  static void put(C product, bool adds, C& sum) { sum = adds ? sum + product : product; }

  /// Rows that have a vector or more. Returns how many of them are multiplied side by side.
  template <int Columns>
  static std::int64_t multiply_whole(const operands& at, bool adds, C* sums) {
    const row_end<T> end(at.length);
    std::int64_t i = 0;
    if constexpr (Columns > 1) {
      constexpr int beside = static_cast<int>(rows_beside(Columns));
      for (; i < at.rows; i += beside) multiply_side_by_side<beside, Columns, 1>(at, i, end, adds, sums + i);
    } else {
      constexpr int beside = vector::lanes, few = high_rows / 2;
      const bool fills_up = at.length < in_registers;
      if (at.length < long_row) {
        for (; i + beside <= at.rows || (fills_up && i < at.rows); i += beside) {
          multiply_side_by_side<beside, 1, 1>(at, i, end, adds, sums + i);
        }
      }
      if (at.length < longer_row) {
        // A single row takes as long as four of these.
        for (; i + few <= at.rows; i += high_rows) {
          multiply_side_by_side<high_rows, 1, 1>(at, i, end, adds, sums + i);
        }
      } else {
        for (; i + high_rows <= at.rows; i += high_rows) {
          multiply_side_by_side<high_rows, 1, 2>(at, i, end, adds, sums + i);
        }
        for (; i + 1 < at.rows; i += few) multiply_side_by_side<few, 1, 4>(at, i, end, adds, sums + i);
      }
    }
    return i;
  }

  /// Multiplies rows that are shorter than a vector by a single column. It takes as many rows at a time as a vector has
  /// lanes and stores a whole vector of sums, so `sums` needs room for a vector after the last row.
  static void multiply_short(const operands& at, bool adds, C* sums) {
    constexpr int beside = vector::lanes;
    const short_rows<T> rows(at.length);
    const vector factor = rows.of_numbers(at.b);
    const auto multiply = [&](std::int64_t i, std::int64_t last) PRUMO_ALWAYS_INLINE {
      const T* const first = at.a + i * at.row_stride;
      const std::int64_t there = (at.rows - 1 - i) * at.row_stride + at.length;
      vector products[beside];
      prumo::detail::for_each_register<beside, 1>([&](int row, int) PRUMO_ALWAYS_INLINE {
        const std::int64_t from = std::min<std::int64_t>(row, last) * at.row_stride;
        products[row] = rows.of_elements(first + from, there - from) * factor;
      });
      const vector added = lane_sums(products);
      (adds ? vector::load(sums + i) + added : added).store(sums + i);
    };
    std::int64_t i = 0;
    for (; i + beside <= at.rows; i += beside) multiply(i, beside - 1);
    if (i < at.rows) multiply(i, at.rows - 1 - i);
  }

  /// A row times one of so many columns, of which vectors alternate.
  static C product_of(const operands& at, std::int64_t columns, const T* row, const C* x) {
    if (columns == 1) {
      return Contiguous && at.length >= vector::lanes ? long_product(row, x, at.length)
                                                      : short_product(row, at.column_stride, x, at.length);
    }
    C sum = 0;
    for (std::int64_t j = 0; j < at.length; j += vector::lanes) {
      const std::int64_t here = std::min<std::int64_t>(at.length - j, vector::lanes);
      sum += short_product(row + j * (Contiguous ? 1 : at.column_stride), at.column_stride, x + j * columns, here);
    }
    return sum;
  }

  static C long_product(const T* row, const C* x, std::int64_t count) {
    constexpr int lanes = vector::lanes;
    vector held[registers];
    prumo::detail::for_each_register<registers, 1>([&](int r, int) PRUMO_ALWAYS_INLINE { held[r] = vector(C(0)); });
    std::int64_t j = 0;
    for (; j + in_registers <= count; j += in_registers) {
      prumo::detail::for_each_register<registers, 1>([&](int r, int) PRUMO_ALWAYS_INLINE {
        held[r] = fma(prumo::detail::load_vector(row + j + r * lanes), vector::load(x + j + r * lanes), held[r]);
      });
    }
    for (; j + lanes <= count; j += lanes) {
      held[0] = fma(prumo::detail::load_vector(row + j), vector::load(x + j), held[0]);
    }
    if (j < count) {
      const row_end<T> end(count);
      held[0] = fma(end.of_elements(row), end.of_numbers(x), held[0]);
    }
    C lane[in_registers];
    prumo::detail::for_each_register<registers, 1>([&](int r, int)
                                                       PRUMO_ALWAYS_INLINE { held[r].store(lane + r * lanes); });
    return sum_of<in_registers>(lane);
  }

  /// A few rows, or those that are left, times a few columns, in steps of a few vectors. Each lane has a partial sum.
  /// `sums` has room for a whole vector behind the last row.
  template <int Rows, int Columns, int Vectors>
  static void multiply_side_by_side(const operands& at, std::int64_t first, const row_end<T>& end, bool adds, C* sums) {
    static_assert(Columns == 1 || Vectors == 1);
    constexpr int lanes = vector::lanes;
    constexpr int groups = (Rows * Columns + lanes - 1) / lanes;
    // Few rows follow each other as they lie in memory, and registers hold their addresses: 16 rows of 50 f32 at once
    // took 1.3 times as long. Steps of several vectors are for long rows.
    constexpr int at_once = Columns == 1 && Vectors == 1 ? std::min(Rows, 4) : Rows;
    vector held[groups * lanes];
    prumo::detail::for_each_register<groups * lanes, 1>([&](int i, int)
                                                            PRUMO_ALWAYS_INLINE { held[i] = vector(C(0)); });
    PRUMO_UNROLL
    for (int i = 0; i < Rows; i += at_once) {
      add_products<at_once, Columns, Vectors>(at, first + i, end, held + i * Columns);
    }
    C added[groups * lanes];
    prumo::detail::for_each_register<groups, 1>(
        [&](int group, int) PRUMO_ALWAYS_INLINE { lane_sums(held + group * lanes).store(added + group * lanes); });
    for (int c = 0; c < Columns; ++c) {
      PRUMO_UNROLL
      for (int i = 0; i < Rows; ++i) put(added[c * Rows + i], adds, sums[c * row_of_sums + i]);
    }
  }

  /// sums[column * Rows + row] becomes the products of a row and a column, added up in each lane.
  template <int Rows, int Columns, int Vectors>
  [[gnu::always_inline]] static void add_products(const operands& at, std::int64_t first, const row_end<T>& end,
                                                  vector* sums) {
    constexpr int lanes = vector::lanes;
    const T* row[Rows];
    vector held[Vectors * Rows * Columns];
    prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
      row[i] = at.a + std::min<std::int64_t>(first + i, at.rows - 1) * at.row_stride;
    });
    prumo::detail::for_each_register<Vectors * Rows * Columns, 1>([&](int i, int)
                                                                      PRUMO_ALWAYS_INLINE { held[i] = vector(C(0)); });
    // The fewer of elements and factors stay in registers while the others come one after the other.
    const auto add = [&](int step, const auto& element, const auto& factor) PRUMO_ALWAYS_INLINE {
      vector* const to = held + step * Rows * Columns;
      if constexpr (Rows < Columns) {
        vector elements[Rows];
        prumo::detail::for_each_register<Rows, 1>([&](int i, int)
                                                      PRUMO_ALWAYS_INLINE { elements[i] = element(row[i]); });
        prumo::detail::for_each_register<Columns, 1>([&](int c, int) PRUMO_ALWAYS_INLINE {
          const vector of_column = factor(c);
          prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
            to[c * Rows + i] = fma(elements[i], of_column, to[c * Rows + i]);
          });
        });
      } else {
        vector factors[Columns];
        prumo::detail::for_each_register<Columns, 1>([&](int c, int) PRUMO_ALWAYS_INLINE { factors[c] = factor(c); });
        prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
          const vector of_row = element(row[i]);
          prumo::detail::for_each_register<Columns, 1>(
              [&](int c, int) PRUMO_ALWAYS_INLINE { to[c * Rows + i] = fma(of_row, factors[c], to[c * Rows + i]); });
        });
      }
    };
    const C* b = at.b;
    std::int64_t j = 0;
    const auto add_vector = [&](int step) PRUMO_ALWAYS_INLINE {
      add(
          step, [&](const T* from) PRUMO_ALWAYS_INLINE { return prumo::detail::load_vector(from + j + step * lanes); },
          [&](int c) PRUMO_ALWAYS_INLINE { return vector::load(b + (step * Columns + c) * lanes); });
    };
    for (; j + Vectors * lanes <= at.length; j += Vectors * lanes, b += Vectors * Columns * lanes) {
      if (at.ahead != 0) {
        constexpr int nearest = 3, second = 2;
        prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
          __builtin_prefetch(row[i] + j + at.ahead, 0, Columns < many_columns ? nearest : second);
        });
      }
      prumo::detail::for_each_register<Vectors, 1>([&](int step, int) PRUMO_ALWAYS_INLINE { add_vector(step); });
    }
    if constexpr (Vectors > 1) {
      for (; j + lanes <= at.length; j += lanes, b += Columns * lanes) add_vector(0);
    }
    if (j < at.length) {
      add(
          0, [&](const T* from) PRUMO_ALWAYS_INLINE { return end.of_elements(from); },
          [&](int c) PRUMO_ALWAYS_INLINE { return Columns == 1 ? end.of_numbers(at.b) : vector::load(b + c * lanes); });
    }
    if constexpr (Vectors > 1) {
      prumo::detail::for_each_register<Rows, Vectors - 1>(
          [&](int i, int step) PRUMO_ALWAYS_INLINE { held[i] = held[i] + held[(step + 1) * Rows + i]; });
    }
    prumo::detail::for_each_register<Rows * Columns, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { sums[i] = held[i]; });
  }

  /// Adds up pairs whose distance is halved from step to step.
  template <int Lanes>
  static C sum_of(C (&lane)[Lanes]) {
    for (int half = Lanes / 2; half > 0; half /= 2) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int which = 0; which < half; ++which) lane[which] += lane[which + half];
    }
    return lane[0];
  }

  static C short_product(const T* row, std::int64_t stride, const C* x, std::int64_t count) {
    constexpr int lanes = 8;
    const auto element = [&](std::int64_t j) { return static_cast<C>(row[Contiguous ? j : j * stride]); };
    if (count < std::int64_t{2} * lanes) {
      C sum = 0;
      for (std::int64_t j = 0; j < count; ++j) sum = prumo::fma(element(j), x[j], sum);
      return sum;
    }
    C lane[lanes] = {};
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) {
        lane[which] = prumo::fma(element(j + which), x[j + which], lane[which]);
      }
    }
    for (int which = 0; j + which < count; ++which) {
      lane[which] = prumo::fma(element(j + which), x[j + which], lane[which]);
    }
    return sum_of<lanes>(lane);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
