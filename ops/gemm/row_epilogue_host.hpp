// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The bias and the activation of a matrix product on host cores, for rows of numbers that become entries of C.

#include "gemm_activation.hpp"
#include "gemm_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Numbers that become entries of C.
template <class C>
struct rows_of_entries {
  C* values;
  std::int64_t stride;  ///< between rows; the numbers of a row have no gaps
  std::int64_t rows, columns;
  std::int64_t row, column;  ///< of C's entry that the first number becomes
};

/// Calls function(row, count) for the runs of numbers that rows are: all of them are one run if they have no gaps, and
/// each row is one otherwise.
template <class Function>
void for_each_run(std::int64_t rows, std::int64_t columns, std::int64_t stride, const Function& function) {
  if (stride == columns) return function(std::int64_t{0}, rows * columns);
  for (std::int64_t row = 0; row < rows; ++row) function(row, columns);
}

/// The bias and the activation of C, whose type is R.
template <class R>
class row_epilogue_host {
  using C = compute_t<R>;

 public:
  /// \param of a problem or a completion
  template <class Of>
  explicit row_epilogue_host(const Of& of) : has_bias_(of.has_bias), bias_(of.bias), activation_(of.activation) {}

  /// Makes act(value + bias) of each value.
  void finish(const rows_of_entries<C>& numbers) const {
    if (!has_bias_) return activate_rows(numbers);
    // A comparison is done together with the addition. Longer formulas have a pass of their own.
    if (activation_ == activation_function::relu) return add_bias<activation_function::relu>(numbers);
    add_bias<activation_function::none>(numbers);
    activate_rows(numbers);
  }

  /// Whether there is only a bias of the columns and a lower bound, or one of them.
  bool is_of_columns_and_bound() const { return (!has_bias_ || bias_.row_stride == 0) && !is_long(activation_); }
  C bound() const {
    return activation_ == activation_function::relu ? C(0) : -std::numeric_limits<plain_scalar_t<C>>::infinity();
  }
  /// The bias of some columns; zeros if there is none.
  void copy_bias_of_columns(std::int64_t column, std::int64_t count, C* to) const {
    if (!has_bias_) return static_cast<void>(std::fill_n(to, count, C(0)));
    const R* const from = bias_.data + column * bias_.column_stride;
    for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<C>(from[j * bias_.column_stride]);
  }

 private:
  void activate_rows(const rows_of_entries<C>& numbers) const {
    if (activation_ == activation_function::none) return;
    for_each_run(numbers.rows, numbers.columns, numbers.stride, [&](std::int64_t row, std::int64_t count) {
      activate(activation_, numbers.values + row * numbers.stride, count);
    });
  }

  template <activation_function Function>
  void add_bias(const rows_of_entries<C>& numbers) const {
    if (bias_.row_stride != 0) {
      const R* const from = bias_.data + numbers.row * bias_.row_stride + numbers.column * bias_.column_stride;
      for (std::int64_t i = 0; i < numbers.rows; ++i) {
        const auto added = static_cast<C>(from[i * bias_.row_stride]);
        add_to_row<Function>(numbers.values + i * numbers.stride, numbers.columns,
                             [added](std::int64_t) PRUMO_ALWAYS_INLINE { return added; });
      }
      return;
    }
    constexpr std::int64_t most = 256;
    alignas(64) C of_columns[most + lanes] = {};
    const auto copy_bias = [&](std::int64_t begin, std::int64_t count) {
      copy_bias_of_columns(numbers.column + begin, count, of_columns);
      // The last vector reads beyond the last column, into the next row.
      for (std::int64_t j = count; j < count + lanes; ++j) of_columns[j] = of_columns[j - count];
    };
    if (numbers.stride == numbers.columns && numbers.columns <= most) {
      copy_bias(0, numbers.columns);
      return add_to_rows_without_gaps<Function>(numbers.values, numbers.rows * numbers.columns, of_columns,
                                                numbers.columns);
    }
    for (std::int64_t begin = 0; begin < numbers.columns; begin += most) {
      const std::int64_t count = std::min(most, numbers.columns - begin);
      copy_bias(begin, count);
      for (std::int64_t i = 0; i < numbers.rows; ++i) {
        add_to_row<Function>(numbers.values + i * numbers.stride + begin, count,
                             [&of_columns](std::int64_t j) PRUMO_ALWAYS_INLINE { return of_columns + j; });
      }
    }
  }

  /// The same for rows that follow each other without gaps, as if they were one. A processor cannot load what spans the
  /// end of one row and the beginning of the next while both are on their way to the cache. It waits some 30 cycles.
  /// \param of_columns the bias, and behind it the beginning of the bias again
  template <activation_function Function>
  static void add_to_rows_without_gaps(C* values, std::int64_t count, const C* of_columns, std::int64_t columns) {
    const std::int64_t step = lanes % columns;
    std::int64_t column = 0;
    add_to_row<Function>(values, count, [&, of_columns](std::int64_t) PRUMO_ALWAYS_INLINE {
      const C* const added = of_columns + column;
      column += step;
      if (column >= columns) column -= columns;
      return added;
    });
  }

  /// values[j] = act(values[j] + bias).
  /// \param added is called in order, for a vector of values or the rest of them. It gives the bias of all, or where
  ///        the biases of each lie.
  template <activation_function Function, class Added>
  [[gnu::always_inline]] static void add_to_row(C* values, std::int64_t count, const Added& added) {
    std::int64_t j = 0;
    if constexpr (has_vectors) {
      using vector = simd<C>;
      const auto finished = [&](vector value, std::int64_t at)
                                PRUMO_ALWAYS_INLINE { return finished_vector<Function>(value, added(at)); };
      for (; j + lanes <= count; j += lanes) finished(vector::load(values + j), j).store(values + j);
      if (j == count) return;
      if constexpr (prumo::detail::has_first_lanes) {
        const prumo::detail::first_lanes<C> rest(count - j);
        rest.store(finished(rest.load(values + j, vector(C(0))), j), values + j);
      } else {
        const auto rest = added(j);
        for (std::int64_t i = 0; j < count; ++i, ++j) values[j] = activated(Function, values[j] + number(rest, i));
      }
    } else {
      for (; j < count; ++j) values[j] = activated(Function, values[j] + number(added(j), 0));
    }
  }

  static C number(C added, std::int64_t) { return added; }
  static C number(const C* added, std::int64_t i) { return added[i]; }
  template <activation_function Function, class Added>
  [[gnu::always_inline]] static simd<C> finished_vector(simd<C> value, Added added) {
    if constexpr (std::is_pointer_v<Added>) {
      value = value + simd<C>::load(added);
    } else {
      value = value + simd<C>(added);
    }
    if constexpr (Function == activation_function::relu) value = prumo::maximum(value, simd<C>(C(0)));
    return value;
  }

  static constexpr bool has_vectors = std::is_floating_point_v<C>;
  static constexpr std::int64_t lanes = [] {
    if constexpr (has_vectors) {
      return std::int64_t{simd<C>::lanes};
    } else {
      return std::int64_t{1};
    }
  }();

  bool has_bias_;
  gemm_matrix<const R> bias_;
  activation_function activation_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
