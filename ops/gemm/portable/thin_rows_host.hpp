// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of a matrix whose rows lie in memory and a few columns, on a host: rows are multiplied one by one, or as
/// many side by side as a vector has lanes.

#include "thin_gemm_host.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/lanes.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sum of the lanes of each of as many vectors as a vector has lanes. The lanes of a vector are added in pairs of
/// neighbours, and so are their sums.
template <class T>
[[gnu::always_inline]] inline simd<T> lane_sums(const simd<T>* vectors) {
  constexpr int lanes = simd<T>::lanes;
  simd<T> pairs[lanes / 2];
  for (int i = 0; i < lanes / 2; ++i) {
    pairs[i] = every_second_lane<0>(vectors[2 * i], vectors[2 * i + 1]) +
               every_second_lane<1>(vectors[2 * i], vectors[2 * i + 1]);
  }
  for (int count = lanes / 2; count > 1; count /= 2) {
    for (int i = 0; i < count / 2; ++i) {
      pairs[i] =
          every_second_lane<0>(pairs[2 * i], pairs[2 * i + 1]) + every_second_lane<1>(pairs[2 * i], pairs[2 * i + 1]);
    }
  }
  return pairs[0];
}

/// The elements of a row behind its last whole vector: a vector that ends where the row ends, and in which elements of
/// the vector before are cleared. Infinity times zero is NaN, so both factors are cleared.
template <class T>
class row_end {
  using C = compute_t<T>;
  using vector = simd<C>;

 public:
  /// \param count elements of the row, as many as a vector has or more
  explicit row_end(std::int64_t count) : begin_(count - vector::lanes), kept_(kept_lanes(count)) {}

  vector of_elements(const T* row) const {
    return prumo::select(kept_, prumo::detail::load_vector(row + begin_), vector(C(0)));
  }
  vector of_numbers(const C* numbers) const {
    return prumo::select(kept_, vector::load(numbers + begin_), vector(C(0)));
  }

 private:
  static simd_mask<C> kept_lanes(std::int64_t count) {
    C kept[vector::lanes];
    for (int lane = 0; lane < vector::lanes; ++lane) {
      kept[lane] = lane < vector::lanes - count % vector::lanes ? C(0) : C(1);
    }
    return vector::load(kept) != vector(C(0));
  }

  std::int64_t begin_;
  simd_mask<C> kept_;
};

/// Rows of A times columns of B. An iteration takes a few rows, or a part of a long one, and all columns.
template <class T, bool Contiguous>
class thin_rows_kernel {
  using C = compute_t<T>;

 public:
  static std::int64_t parts_of(const gemm_problem<T>& problem) {
    return thin_blocks_of(problem.k, longest_part(problem));
  }

  thin_rows_kernel(const gemm_problem<T>& problem, const thin_columns<C>& b, C* partial)
      : problem_(problem), result_(problem, parts_of(problem), partial), b_(b) {
    const std::int64_t length = std::min(problem.k, longest_part(problem));
    constexpr std::int64_t many_rows = 256, elements_read_again = 4096;
    // A block is read by each group of columns, from the nearest cache if it fits there.
    const std::int64_t elements = problem.n > most_columns && sizeof(T) > 2 ? elements_read_again : thin_block_elements;
    // Where several columns are multiplied, rows are computed side by side, whether they are there or not.
    const std::int64_t unit = problem.n > 1 ? sums_in_registers : vector::lanes;
    const std::int64_t few = problem.n > 1 ? std::min<std::int64_t>(problem.m, rows_beside(most_beside)) : 1;
    block_rows_ = std::clamp<std::int64_t>(elements / length, problem.m >= many_rows ? unit : few, most_rows);
    if (problem.n > 1 && block_rows_ > unit) block_rows_ -= block_rows_ % unit;
    row_blocks_ = thin_blocks_of(problem.m, block_rows_);
    // Short rows that mostly come from memory: those of the next block are prefetched, because processors see too late
    // that they are read one after the other. Kernels for 32 registers have enough of them for the addresses.
    constexpr std::int64_t short_row = 512, far_elements = std::int64_t{1} << 20;
    const bool is_far = problem.k <= short_row && problem.m > far_elements / problem.k;
    if (simd_bytes >= 64 && problem.n > 2 * most_columns - 2 && is_far) ahead_ = block_rows_ * problem.a.row_stride;
  }

  /// Those of one part of k follow each other, so that B stays in a cache.
  std::int64_t blocks() const { return problem_.batch * parts_of(problem_) * row_blocks_; }

  void operator()(std::int64_t block) const {
    thin_share share = thin_share::of(block, 1, parts_of(problem_), row_blocks_);
    const std::int64_t part_length = longest_part(problem_);
    const std::int64_t begin = share.part * part_length;
    const std::int64_t first = share.rows * block_rows_;
    const gemm_matrix<const T>& a = problem_.a;
    const operands at{a.data + share.batch * a.batch_stride + first * a.row_stride + begin * a.column_stride,
                      b_.column(share) + begin, std::min(block_rows_, problem_.m - first),
                      std::min(part_length, problem_.k - begin)};
    C sums[most_columns * row_of_sums];
    for (std::int64_t left = problem_.n; left > 0;) {
      share.column = problem_.n - left;
      // Four columns at once are left to the last, so that no single one is.
      const std::int64_t columns = left == 4 || left == 8 ? 4 : std::min<std::int64_t>(left, most_beside);
      operands of_columns = at;
      of_columns.b += share.column * b_.column_stride;
      if (share.column == 0) of_columns.ahead = ahead_;
      if (columns == 4) multiply<4>(of_columns, sums);
      if (columns == 3) multiply<3>(of_columns, sums);
      if (columns == 2) multiply<2>(of_columns, sums);
      if (columns == 1) multiply<1>(of_columns, sums);
      for (std::int64_t column = 0; column < columns; ++column, ++share.column) {
        result_.put(share, first, at.rows, sums + column * row_of_sums);
      }
      left -= columns;
    }
  }

 private:
  using vector = simd<C>;
  static constexpr std::int64_t most_rows = 1024;
  /// Several columns of B are read again for each few rows.
  static std::int64_t longest_part(const gemm_problem<T>& problem) {
    return problem.n > 1 ? thin_block_elements / 4 : thin_block_elements;
  }
  static constexpr int most_columns = 4;
  /// Columns of most groups.
  static constexpr int most_beside = 3;
  /// With room for a tile of which only the first row is there.
  static constexpr std::int64_t row_of_sums = most_rows + 32;
  /// The partial sums of a long row that is multiplied alone.
  static constexpr int in_registers = prumo::detail::reduction_lanes<C>;
  static constexpr int registers = in_registers / vector::lanes;
  /// Rows that are multiplied side by side, with a vector of sums for each column.
  static constexpr int sums_in_registers = simd_has_many_registers ? 24 : 12;
  static constexpr int rows_beside(int columns) { return columns == 1 ? vector::lanes : sums_in_registers / columns; }

  /// Rows of A in a block, and columns of B.
  struct operands {
    const T* a;
    const C* b;
    std::int64_t rows, length;
    std::int64_t ahead = 0;  ///< from what is read to what is prefetched
  };

  /// The sums of each column follow those of the one before.
  template <int Columns>
  void multiply(const operands& at, C* sums) const {
    constexpr int beside = rows_beside(Columns);
    const std::int64_t row_stride = problem_.a.row_stride;
    std::int64_t i = 0;
    if (Contiguous && at.length >= vector::lanes) {
      const row_end<T> end(at.length);
      for (; i + beside <= at.rows || (i < at.rows && (Columns > 1 || at.length < in_registers)); i += beside) {
        multiply_side_by_side<Columns>(at, i, end, sums + i);
      }
    }
    for (; i < at.rows; ++i) {
      for (int column = 0; column < Columns; ++column) {
        const T* const row = at.a + i * row_stride;
        const C* const x = at.b + column * b_.column_stride;
        sums[column * row_of_sums + i] = Contiguous && at.length >= vector::lanes ? long_product(row, x, at.length)
                                                                                  : short_product(row, x, at.length);
      }
    }
  }

  C long_product(const T* row, const C* x, std::int64_t count) const {
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

  /// A few rows, or those that are left, times a few columns. Each lane has a partial sum. `sums` has room for a whole
  /// vector behind the last row.
  template <int Columns>
  void multiply_side_by_side(const operands& at, std::int64_t first, const row_end<T>& end, C* sums) const {
    constexpr int rows = rows_beside(Columns), lanes = vector::lanes;
    constexpr int groups = (rows * Columns + lanes - 1) / lanes;
    const std::int64_t count = at.length;
    const T* row[rows];
    const C* column[Columns];
    vector held[groups * lanes];
    prumo::detail::for_each_register<rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
      row[i] = at.a + (first + std::min<std::int64_t>(i, at.rows - first - 1)) * problem_.a.row_stride;
    });
    for (int c = 0; c < Columns; ++c) column[c] = at.b + c * b_.column_stride;
    prumo::detail::for_each_register<groups * lanes, 1>([&](int i, int)
                                                            PRUMO_ALWAYS_INLINE { held[i] = vector(C(0)); });
    const auto add = [&](const auto& element, const auto& number) PRUMO_ALWAYS_INLINE {
      vector factors[Columns];
      prumo::detail::for_each_register<Columns, 1>([&](int c, int)
                                                       PRUMO_ALWAYS_INLINE { factors[c] = number(column[c]); });
      prumo::detail::for_each_register<rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
        const vector elements = element(row[i]);
        prumo::detail::for_each_register<Columns, 1>([&](int c, int) PRUMO_ALWAYS_INLINE {
          held[c * rows + i] = fma(elements, factors[c], held[c * rows + i]);
        });
      });
    };
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      if (at.ahead != 0) {
        prumo::detail::for_each_register<rows, 1>(
            [&](int i, int) PRUMO_ALWAYS_INLINE { __builtin_prefetch(row[i] + j + at.ahead); });
      }
      add([&](const T* from) PRUMO_ALWAYS_INLINE { return prumo::detail::load_vector(from + j); },
          [&](const C* from) PRUMO_ALWAYS_INLINE { return vector::load(from + j); });
    }
    if (j < count) {
      add([&](const T* from) PRUMO_ALWAYS_INLINE { return end.of_elements(from); },
          [&](const C* from) PRUMO_ALWAYS_INLINE { return end.of_numbers(from); });
    }
    C added[groups * lanes];
    prumo::detail::for_each_register<groups, 1>(
        [&](int group, int) PRUMO_ALWAYS_INLINE { lane_sums(held + group * lanes).store(added + group * lanes); });
    for (int c = 0; c < Columns; ++c) std::copy_n(added + c * rows, rows, sums + c * row_of_sums);
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

  C element(const T* row, std::int64_t j) const {
    return static_cast<C>(row[Contiguous ? j : j * problem_.a.column_stride]);
  }

  C short_product(const T* row, const C* x, std::int64_t count) const {
    constexpr int lanes = 8;
    if (count < std::int64_t{2} * lanes) {
      C sum = 0;
      for (std::int64_t j = 0; j < count; ++j) sum = prumo::fma(element(row, j), x[j], sum);
      return sum;
    }
    C lane[lanes] = {};
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) {
        lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
      }
    }
    for (int which = 0; j + which < count; ++which) {
      lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
    }
    return sum_of<lanes>(lane);
  }

  gemm_problem<T> problem_;
  thin_result<T> result_;
  thin_columns<C> b_;
  std::int64_t block_rows_ = 1;
  std::int64_t row_blocks_ = 0;
  std::int64_t ahead_ = 0;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
