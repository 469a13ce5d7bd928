// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums of whole arrays and of rows.
///
/// The order of the additions depends on the shape alone, not on the number of threads: the same input gives the same
/// bits on any number of cores. With n elements, |result - exact| <= gamma_d sum |x_i| with the depth d of
/// sum_depth(), some 270 for a million elements, where adding one after the other has d = n.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>

#include <string_view>

namespace prumo {

/// How many additions lie one upon the other, at most, in a sum of `count` elements of a type with the given compute
/// size in bytes: the d of the error bound. `column_major`: the sums of the rows of a matrix whose rows lie side by
/// side, which are added up column by column.
std::int64_t sum_depth(std::int64_t count, std::size_t compute_bytes, bool column_major = false);

namespace detail {

/// results[r] = the sum of row r: elements source[r * row_stride + c * column_stride].
template <class T>
struct sum_problem {
  const T* source = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  T* results = nullptr;
  std::int64_t result_stride = 1;
};

/// Enqueues the sums of rows.
template <class Exec, class T>
void launch_sum_rows(context<Exec>& ctx, const sum_problem<T>& problem);

/// Enqueues the sum of all elements of an array of any rank and strides.
template <class Exec, class T>
void launch_sum(context<Exec>& ctx, const array<const T>& source, T* result);

}  // namespace detail

/// result() = the sum of all elements of x.
///
/// x: a view of any rank, layout and strides; result: a view of rank 0 of the same value type (f16 and bf16 are summed
/// in float and rounded once). The sum of nothing is 0. Asynchronous: the result is there when the instance is fenced.
/// Throws alias_error where the result lies inside x.
template <class Exec, class X, class Result>
void sum(context<Exec>& ctx, const X& x, const Result& result) {
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Result>, "prumo::sum: x and result are Kokkos views");
  static_assert(Result::rank() == 0, "prumo::sum: the result is a view of rank 0");
  static_assert(std::is_same_v<typename X::non_const_value_type, typename Result::value_type>,
                "prumo::sum: x and result differ in value type, or the result is const");
  static_assert(accessible_from<X, Exec> && accessible_from<Result, Exec>,
                "prumo::sum: a view cannot be accessed from the execution space");
  check::no_overlap("prumo::sum", describe(result, "result"), {describe(x, "x")}, aliasing::none);
  detail::launch_sum<Exec, typename Result::value_type>(ctx, lower_const(x), result.data());
}

/// y(r) = the sum of row r of x.
///
/// x: [rows x columns] of any layout and strides; y: [rows] of the same value type. Asynchronous.
/// Throws shape_error where y has another length than x has rows, alias_error where y and x overlap.
template <class Exec, class X, class Y>
void sum_rows(context<Exec>& ctx, const X& x, const Y& y) {
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Y>, "prumo::sum_rows: x and y are Kokkos views");
  static_assert(X::rank() == 2 && Y::rank() == 1, "prumo::sum_rows: x is a matrix and y a vector");
  static_assert(std::is_same_v<typename X::non_const_value_type, typename Y::value_type>,
                "prumo::sum_rows: x and y differ in value type, or y is const");
  static_assert(accessible_from<X, Exec> && accessible_from<Y, Exec>,
                "prumo::sum_rows: a view cannot be accessed from the execution space");
  const array_description described_x = describe(x, "x");
  const array_description described_y = describe(y, "y");
  if (described_y.extents[0] != described_x.extents[0]) {
    check::throw_shape("prumo::sum_rows", "y of as many elements as x has rows", {described_x, described_y});
  }
  check::distinct_elements("prumo::sum_rows", described_y);
  check::no_overlap("prumo::sum_rows", described_y, {described_x}, aliasing::none);
  detail::sum_problem<typename Y::value_type> problem;
  problem.source = x.data();
  problem.rows = described_x.extents[0];
  problem.columns = described_x.extents[1];
  problem.row_stride = described_x.strides[0];
  problem.column_stride = described_x.strides[1];
  problem.results = y.data();
  problem.result_stride = described_y.strides[0];
  detail::launch_sum_rows(ctx, problem);
}

}  // namespace prumo
