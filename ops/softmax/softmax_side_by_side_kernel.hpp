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
    alignas(streaming_unit) C values[lanes * columns_at_once];  // of column k and row l at k * lanes + l
    alignas(streaming_unit) C maximum[lanes];
    alignas(streaming_unit) C old_maximum[lanes];
    alignas(streaming_unit) C shift[lanes];
    alignas(streaming_unit) C sum[lanes];
    alignas(streaming_unit) C total[lanes];
    for (std::int64_t l = 0; l < count; ++l) maximum[l] = softmax_lowest<C>();
    const T* const source = problem_.source + begin * problem_.source_row_stride;
    T* const target = problem_.target + begin * problem_.target_row_stride;
    const std::int64_t columns = problem_.columns;
    const bool at_once = columns <= columns_at_once;

    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      read(source, first, length, count, values);
      for (std::int64_t l = 0; l < count; ++l) old_maximum[l] = maximum[l];
      for (std::int64_t k = 0; k < length; ++k) {
        for (std::int64_t l = 0; l < count; ++l) maximum[l] = softmax_larger(maximum[l], values[k * lanes + l]);
      }
      for (std::int64_t l = 0; l < count; ++l) shift[l] = softmax_shift(maximum[l]);
      for (std::int64_t l = 0; l < count; ++l) sum[l] = C(0);
      add_exponentials(length, count, shift, values, sum, at_once && Formula::keeps_exponentials);
      if (first == 0) {
        for (std::int64_t l = 0; l < count; ++l) total[l] = sum[l];
        continue;
      }
      // What was added up under the old maximum is scaled to the new one.
      for (std::int64_t l = 0; l < count; ++l) {
        total[l] = prumo::fma(total[l], exp_of_nonpositive(old_maximum[l] - shift[l]), sum[l]);
      }
    }

    for (std::int64_t l = 0; l < count; ++l) total[l] = Formula::row_factor(total[l]);
    if (at_once) {
      for (std::int64_t i = 0; i < columns; ++i) {
        C* const of_column = values + i * lanes;
        for (std::int64_t l = 0; l < count; ++l) of_column[l] = Formula::from_kept(of_column[l], shift[l], total[l]);
      }
      write(values, 0, columns, count, target);
      return;
    }
    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      read(source, first, length, count, values);
      for (std::int64_t i = 0; i < length; ++i) {
        C* const of_column = values + i * lanes;
        for (std::int64_t l = 0; l < count; ++l) of_column[l] = Formula::from_value(of_column[l], shift[l], total[l]);
      }
      write(values, first, length, count, target);
    }
  }

  /// sum += the exponentials, which take the values' place where they are kept.
  template <class Count>
  static void add_exponentials(std::int64_t length, Count count, const C* shift, C* values, C* sum, bool keep) {
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
