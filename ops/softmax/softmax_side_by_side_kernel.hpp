// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernel of softmax for rows that are too short for a vector each, and for rows that lie side by side in
/// memory (column-major): a block computes a row in each of its lanes.

#include "softmax_kernel.hpp"

#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of a block.
template <class C>
inline constexpr std::int64_t softmax_rows_at_once = reduction_lanes<C>;
/// Columns of a block: what stays in the nearest caches. Longer rows are taken in stretches, and read twice.
template <class C>
inline constexpr std::int64_t softmax_columns_at_once = 2 * softmax_chunk / softmax_rows_at_once<C>;
/// From this many columns on, a row keeps vectors busy by itself.
template <class C>
inline constexpr std::int64_t softmax_vector_row = 2 * reduction_lanes<C>;

/// What is computed of the rows of a block, some columns at a time. Types that are computed alike share it.
template <class C, class Formula>
struct softmax_block {
  static constexpr std::int64_t lanes = softmax_rows_at_once<C>;
  static constexpr std::int64_t columns_at_once = softmax_columns_at_once<C>;

  alignas(streaming_unit) C values[lanes * columns_at_once];  ///< of column k and row l at k * lanes + l
  alignas(streaming_unit) C maximum[lanes];
  alignas(streaming_unit) C shift[lanes];
  alignas(streaming_unit) C total[lanes];

  /// Takes the first columns, which are in `values`, or more of them. Exponentials take the values' place where they
  /// are to be kept.
  template <class Count>
  [[gnu::noinline]] void add_columns(std::int64_t length, Count count, bool are_first, bool keep) {
    alignas(streaming_unit) C old_maximum[lanes];
    alignas(streaming_unit) C sum[lanes];
    if (are_first) {
      for (std::int64_t l = 0; l < count; ++l) maximum[l] = softmax_lowest<C>();
    }
    for (std::int64_t l = 0; l < count; ++l) old_maximum[l] = maximum[l];
    for (std::int64_t k = 0; k < length; ++k) {
      for (std::int64_t l = 0; l < count; ++l) maximum[l] = softmax_larger(maximum[l], values[k * lanes + l]);
    }
    for (std::int64_t l = 0; l < count; ++l) shift[l] = softmax_shift(maximum[l]);
    for (std::int64_t l = 0; l < count; ++l) sum[l] = C(0);
    add_exponentials(length, count, sum, keep);
    if (are_first) {
      for (std::int64_t l = 0; l < count; ++l) total[l] = sum[l];
      return;
    }
    // What was added up under the old maximum is scaled to the new one.
    for (std::int64_t l = 0; l < count; ++l) {
      total[l] = prumo::fma(total[l], exp_of_nonpositive(old_maximum[l] - shift[l]), sum[l]);
    }
  }

  /// To be called after the last column was added.
  template <class Count>
  void finish_totals(Count count) {
    for (std::int64_t l = 0; l < count; ++l) total[l] = Formula::row_factor(total[l]);
  }

  /// The results take the place of values, or of what was kept of them.
  template <class Count>
  [[gnu::noinline]] void finish_columns(std::int64_t length, Count count, bool kept) {
    for (std::int64_t i = 0; i < length; ++i) {
      C* const of_column = values + i * lanes;
      if (kept) {
        for (std::int64_t l = 0; l < count; ++l) of_column[l] = Formula::from_kept(of_column[l], shift[l], total[l]);
      } else {
        for (std::int64_t l = 0; l < count; ++l) of_column[l] = Formula::from_value(of_column[l], shift[l], total[l]);
      }
    }
  }

 private:
  template <class Count>
  void add_exponentials(std::int64_t length, Count count, C* sum, bool keep) {
    const std::int64_t rows = count;
    for (std::int64_t k = 0; k < length; ++k) {
      C* const of_column = values + k * lanes;
      if (keep) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t l = 0; l < rows; ++l) {
          of_column[l] = exp_of_nonpositive(of_column[l] - shift[l]);
          sum[l] = sum[l] + of_column[l];
        }
      } else {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t l = 0; l < rows; ++l) sum[l] = sum[l] + exp_of_nonpositive(of_column[l] - shift[l]);
      }
    }
  }
};

template <class T, class Formula>
class softmax_side_by_side_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t lanes = softmax_rows_at_once<C>;
  static constexpr std::int64_t columns_at_once = softmax_columns_at_once<C>;

 public:
  explicit softmax_side_by_side_kernel(const softmax_problem<T>& problem) : problem_(problem) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : (problem_.rows + lanes - 1) / lanes; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = block * lanes;
    const std::int64_t count = std::min(lanes, problem_.rows - begin);
    // The length of a whole block is a constant, for whole vectors.
    if (count == lanes) {
      finish_rows(begin, std::integral_constant<std::int64_t, lanes>{});
    } else {
      finish_rows(begin, count);
    }
  }

 private:
  template <class Count>
  void finish_rows(std::int64_t begin, Count count) const {
    softmax_block<C, Formula> block;
    const T* const source = problem_.source + begin * problem_.source_row_stride;
    T* const target = problem_.target + begin * problem_.target_row_stride;
    const std::int64_t columns = problem_.columns;
    const bool at_once = columns <= columns_at_once;
    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      read(source, first, length, count, block.values);
      block.add_columns(length, count, first == 0, at_once && Formula::keeps_exponentials);
    }
    block.finish_totals(count);
    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      if (!at_once) read(source, first, length, count, block.values);
      block.finish_columns(length, count, at_once);
      write(block.values, first, length, count, target);
    }
  }

  template <class Count>
  void read(const T* source, std::int64_t first, std::int64_t length, Count count, C* values) const {
    const std::int64_t column_stride = problem_.source_column_stride;
    const std::int64_t row_stride = problem_.source_row_stride;
    if (row_stride == 1) {
      for (std::int64_t k = 0; k < length; ++k) {
        const T* const column = source + (first + k) * column_stride;
        for (std::int64_t l = 0; l < count; ++l) values[k * lanes + l] = load(column[l]);
      }
      return;
    }
    for (std::int64_t l = 0; l < count; ++l) {
      const T* const row = source + l * row_stride + first * column_stride;
      for (std::int64_t k = 0; k < length; ++k) values[k * lanes + l] = load(row[k * column_stride]);
    }
  }

  template <class Count>
  void write(const C* values, std::int64_t first, std::int64_t length, Count count, T* target) const {
    const std::int64_t column_stride = problem_.target_column_stride;
    const std::int64_t row_stride = problem_.target_row_stride;
    if (row_stride == 1) {
      for (std::int64_t k = 0; k < length; ++k) {
        T* const column = target + (first + k) * column_stride;
        for (std::int64_t l = 0; l < count; ++l) column[l] = static_cast<T>(values[k * lanes + l]);
      }
      return;
    }
    for (std::int64_t l = 0; l < count; ++l) {
      T* const row = target + l * row_stride + first * column_stride;
      for (std::int64_t k = 0; k < length; ++k) row[k * column_stride] = static_cast<T>(values[k * lanes + l]);
    }
  }

  softmax_problem<T> problem_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
