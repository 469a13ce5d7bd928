// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernel of softmax for rows that are too short for a vector each, and for rows that lie side by side in
/// memory (column-major): a block computes a row in each of its lanes.

#include "softmax_host_kernel.hpp"
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of a block.
template <class C>
inline constexpr std::int64_t softmax_rows_at_once = reduction_lanes<C>;
/// Columns of a block: what stays in the nearest caches. Longer rows are taken in stretches, and read twice.
template <class C>
inline constexpr std::int64_t softmax_columns_at_once = 3 * softmax_chunk / softmax_rows_at_once<C>;
/// From this many columns on, a row keeps vectors busy by itself: measured on Zen 3, with vectors of 16 and 32 bytes,
/// and on Emerald Rapids, with 64. Counted flops must be equal on all machines, so counting uses one threshold
/// everywhere: softmax_counted_vector_row.
template <class C>
inline constexpr std::int64_t softmax_counted_vector_row = 5 * reduction_lanes<C> / 2;
template <class C>
inline constexpr std::int64_t softmax_vector_row = softmax_counted_vector_row<C>;
template <>
inline constexpr std::int64_t softmax_vector_row<float> = simd_bytes > 16 ? 64 : 112;
template <>
inline constexpr std::int64_t softmax_vector_row<double> = simd_bytes > 16 ? 56 : 80;

template <class T, class Formula>
class softmax_side_by_side_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t lanes = softmax_rows_at_once<C>;
  static constexpr std::int64_t columns_at_once = softmax_columns_at_once<C>;

 public:
  /// \param streaming whether the results go past the caches
  softmax_side_by_side_kernel(const softmax_problem<T>& problem, bool streaming)
      : problem_(problem), streams_runs_(streaming && may_stream(problem)) {}

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
    if (streams_runs_) streaming_fence();
  }

 private:
  /// Rows without gaps go past the caches from a copy. If rows are short, the copy is read before the stores to it
  /// have ended: 3 columns of f32 took 1.7 times as long. 16-bit numbers take so much arithmetic that nothing is
  /// gained.
  static bool may_stream(const softmax_problem<T>& problem) {
    return sizeof(T) > 2 && problem.columns >= fewest_columns && problem.columns <= most_streamed_columns &&
           problem.target_column_stride == 1 && problem.target_row_stride == problem.columns;
  }

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
    // While exponentials are computed the next rows can be on their way: nothing but arithmetic is going on.
    const bool is_followed = problem_.is_far() && columns >= fewest_columns && problem_.source_column_stride == 1 &&
                             problem_.source_row_stride == columns;
    const T* const ahead = is_followed ? source + lanes * columns : nullptr;

    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      read(source, first, length, count, values);
      for (std::int64_t l = 0; l < count; ++l) old_maximum[l] = maximum[l];
      for (std::int64_t k = 0; k < length; ++k) {
        for (std::int64_t l = 0; l < count; ++l) maximum[l] = softmax_larger(maximum[l], values[k * lanes + l]);
      }
      for (std::int64_t l = 0; l < count; ++l) shift[l] = softmax_shift(maximum[l]);
      for (std::int64_t l = 0; l < count; ++l) sum[l] = C(0);
      add_exponentials(length, count, shift, values, sum, at_once && Formula::keeps_exponentials, ahead);
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
      if (streams_runs_) {
        stream_rows(values, count, target);
      } else {
        write(values, 0, columns, count, target);
      }
      return;
    }
    for (std::int64_t first = 0; first < columns; first += columns_at_once) {
      const std::int64_t length = std::min(columns_at_once, columns - first);
      read(source, first, length, count, values);
      for (std::int64_t i = 0; i < length; ++i) {
        C* const of_column = values + i * lanes;
        for_rows(count, [&](auto at) PRUMO_ALWAYS_INLINE {
          at.store(Formula::from_value(at(of_column), at(shift), at(total)), of_column);
        });
      }
      write(values, first, length, count, target);
    }
  }

  /// sum += the exponentials, which take the values' place where they are kept. `ahead`: what will be wanted next, as
  /// many elements, or null.
  template <class Count>
  static void add_exponentials(std::int64_t length, Count count, const C* shift, C* values, C* sum, bool keep,
                               const T* ahead) {
    constexpr std::int64_t line = streaming_unit / sizeof(T);
    for (std::int64_t k = 0; k < length; ++k) {
      C* const of_column = values + k * lanes;
      if (ahead != nullptr) {
        for (std::int64_t l = 0; l < lanes; l += line) __builtin_prefetch(ahead + k * lanes + l);
      }
      for_rows(count, [=](auto at) PRUMO_ALWAYS_INLINE {
        const auto exponential = exp_of_nonpositive(at(of_column) - at(shift));
        if (keep) at.store(exponential, of_column);
        at.store(at(sum) + exponential, sum);
      });
    }
  }

  /// Numbers of neighbouring rows from a place on: a group of vectors, or a single one.
  struct group_of_rows {
    std::int64_t first;
    auto operator()(const C* from) const { return load_group<lane_order::memory, group_registers>(from + first); }
    template <class Numbers>
    void store(const Numbers& numbers, C* to) const {
      store_group<lane_order::memory>(numbers, to + first);
    }
  };
  struct single_row {
    std::int64_t which;
    C operator()(const C* from) const { return from[which]; }
    void store(C number, C* to) const { to[which] = number; }
  };
  /// Calls compute(rows) for all rows: of a whole block for a group of vectors at a time.
  template <class Count, class Compute>
  [[gnu::always_inline]] static void for_rows(Count count, const Compute& compute) {
    if constexpr (can_compute_vectors && std::is_floating_point_v<C> && !std::is_same_v<Count, std::int64_t>) {
      constexpr std::int64_t group = group_registers * simd<C>::lanes;
      static_assert(lanes % group == 0);
      for (std::int64_t l = 0; l < lanes; l += group) compute(group_of_rows{l});
    } else {
      const std::int64_t rows = count;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t l = 0; l < rows; ++l) compute(single_row{l});
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
    if constexpr (takes_squares) {
      if (column_stride == 1 && pays_squares(row_stride, length)) {
        return read_squares(source + first, length, count, values);
      }
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
    if constexpr (takes_squares) {
      if (column_stride == 1 && pays_squares(row_stride, length)) {
        return write_squares(values, length, count, target + first);
      }
    }
    for (std::int64_t l = 0; l < count; ++l) {
      T* const row = target + l * row_stride + first * column_stride;
      for (std::int64_t k = 0; k < length; ++k) row[k * column_stride] = static_cast<T>(values[k * lanes + l]);
    }
  }

  /// Rows that follow each other in the target, past the caches. Where one ends within a cache line, the next one
  /// begins there, so they are put together first.
  template <class Count>
  void stream_rows(const C* values, Count count, T* target) const {
    // The constructors of 16-bit numbers would clear an array of them.
    alignas(streaming_unit) std::byte memory[lanes * most_streamed_columns * sizeof(T)];
    T* const run = reinterpret_cast<T*>(memory);
    write(values, 0, problem_.columns, count, run);
    stream_run(target, static_cast<const T*>(run), count * problem_.columns);
  }

  /// 16-bit numbers are converted in vectors, which rows with gaps between them would end within. Squares of doubles
  /// have two columns, so that they gain little.
  static bool pays_squares(std::int64_t row_stride, std::int64_t length) {
    constexpr std::int64_t least_columns = sizeof(C) == 8 ? 12 : 2;
    return length >= least_columns && (std::is_same_v<T, C> || row_stride == length || length >= 64);
  }

  /// Rows of neighbours are converted as they lie, and transposed in squares. Squares that reach beyond the last row or
  /// column move what nobody reads.
  void read_squares(const T* source, std::int64_t length, std::int64_t count, C* values) const {
    alignas(streaming_unit) C rows[most_square_rows];
    for (std::int64_t l = 0; l < count; l += square::side) {
      convert_rows(source + l * problem_.source_row_stride, problem_.source_row_stride, rows, length, length,
                   std::min<std::int64_t>(square::side, count - l));
      for (std::int64_t k = 0; k < length; k += square::columns) {
        square::transpose(rows + k, length, values + k * lanes + l, lanes);
      }
    }
  }

  /// A square that reaches beyond a row overwrites the beginning of the next one, so the last squares come first.
  void write_squares(const C* values, std::int64_t length, std::int64_t count, T* target) const {
    alignas(streaming_unit) C rows[most_square_rows];
    for (std::int64_t l = 0; l < count; l += square::side) {
      for (std::int64_t r = 0; r < square::side; r += square::columns) {
        for (std::int64_t k = (length - 1) / square::side * square::side; k >= 0; k -= square::side) {
          square::transpose(values + k * lanes + l + r, lanes, rows + r * length + k, length);
        }
      }
      convert_rows(rows, length, target + l * problem_.target_row_stride, problem_.target_row_stride, length,
                   std::min<std::int64_t>(square::side, count - l));
    }
  }

  template <class From, class To>
  static void convert_rows(const From* from, std::int64_t from_stride, To* to, std::int64_t to_stride,
                           std::int64_t length, std::int64_t rows) {
    if (from_stride == length && to_stride == length) return convert(from, to, rows * length);
    for (std::int64_t r = 0; r < rows; ++r) convert(from + r * from_stride, to + r * to_stride, length);
  }

  template <class From, class To>
  static void convert(const From* from, To* to, std::int64_t count) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(To));
    } else if constexpr (std::is_same_v<From, C>) {
      narrow(from, to, count);
    } else {
      widen(from, to, count);
    }
  }

  static constexpr bool takes_squares = std::is_floating_point_v<C>;
  using square = number_square<plain_scalar_t<C>>;
  static_assert(columns_at_once % square::side == 0 && lanes % square::side == 0);
  /// Of a square of whole rows, and what its last row reaches beyond.
  static constexpr std::int64_t most_square_rows = square::side * columns_at_once + square::side;

  /// Shorter rows are computed before what is asked for would come.
  static constexpr std::int64_t fewest_columns = 16;
  static constexpr std::int64_t most_streamed_columns = 128;

  softmax_problem<T> problem_;
  bool streams_runs_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
