// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Softmax and its logarithm, of the rows of a matrix.
///
/// Rows may have any length, from 1 to what memory holds; a row's bits follow from the shape and the strides alone, not
/// from the number of threads. On devices rows of up to 32,768 elements (16,384 of double) are read once; so is, on the
/// host, what stays in the cache. Longer rows are read twice.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>

#include <string_view>

namespace prumo {
namespace detail {

/// target row r = what the formula makes of source row r; strides in elements.
template <class T>
struct softmax_problem {
  const T* source = nullptr;
  T* target = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t target_row_stride = 0;
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;
};

struct softmax_formula;
struct log_softmax_formula;

/// Enqueues the kernels: the library's own copies, compiled in the source of each formula.
template <class Formula, class Exec, class T>
void launch_softmax(context<Exec>& ctx, const softmax_problem<T>& problem);

/// Checks, lowers and enqueues.
template <class Formula, class Exec, class X, class Y>
void run_softmax(std::string_view operation, context<Exec>& ctx, const X& x, const Y& y) {
  const array_description described_x = describe(x, "x");
  const array_description described_y = describe(y, "y");
  check::in_place(operation, described_y, described_x);
  softmax_problem<typename Y::value_type> problem;
  problem.source = x.data();
  problem.target = y.data();
  problem.rows = described_x.extents[0];
  problem.columns = described_x.extents[1];
  problem.source_row_stride = described_x.strides[0];
  problem.source_column_stride = described_x.strides[1];
  problem.target_row_stride = described_y.strides[0];
  problem.target_column_stride = described_y.strides[1];
  problem.working_set = ctx.working_set();
  launch_softmax<Formula>(ctx, problem);
}

}  // namespace detail

/// The static assertions of softmax and log_softmax.
#define PRUMO_ASSERT_SOFTMAX(operation, Exec, X, Y)                                                    \
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Y>, operation ": x and y are Kokkos views"); \
  static_assert(X::rank() == 2 && Y::rank() == 2, operation ": x and y are matrices");                 \
  static_assert(std::is_same_v<typename X::non_const_value_type, typename Y::value_type>,              \
                operation ": x and y differ in value type, or y is const");                            \
  static_assert(::prumo::accessible_from<X, Exec> && ::prumo::accessible_from<Y, Exec>,                \
                operation ": a view cannot be accessed from the execution space")

/// y(r, c) = exp(x(r, c) - max_c x(r, c)) / sum_c exp(x(r, c) - max_c x(r, c)), the softmax of every row.
///
/// x, y: [rows x columns] of any layouts and strides and of the same value type. y may be x; any other overlap is
/// refused. A row that holds NaN or +infinity becomes NaN; -infinity becomes 0 unless the whole row is, which becomes
/// NaN. Subtracting the maximum keeps every exponential in (0, 1]. The running form for long rows is that of Milakov
/// and Gimelshein, "Online normalizer calculation for softmax", 2018. Asynchronous. Throws shape_error and alias_error.
template <class Exec, class X, class Y>
void softmax(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_SOFTMAX("prumo::softmax", Exec, X, Y);
  detail::run_softmax<detail::softmax_formula>("prumo::softmax", ctx, x, y);
}

/// y(r, c) = x(r, c) - max_c x(r, c) - log(sum_c exp(x(r, c) - max_c x(r, c))), the logarithm of the softmax of every
/// row, where softmax itself would underflow.
///
/// Arguments, aliasing and errors as softmax(). A row that holds NaN or +infinity, or nothing but -infinity, becomes
/// NaN; -infinity in other rows stays.
template <class Exec, class X, class Y>
void log_softmax(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_SOFTMAX("prumo::log_softmax", Exec, X, Y);
  detail::run_softmax<detail::log_softmax_formula>("prumo::log_softmax", ctx, x, y);
}

}  // namespace prumo
