// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Softmax of the rows of a matrix.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>

namespace prumo {
namespace detail {

/// target row r = softmax of source row r; strides in elements.
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

template <class Exec, class T>
void launch_softmax(context<Exec>& ctx, const softmax_problem<T>& problem);

}  // namespace detail

/// y(r, c) = exp(x(r, c) - max_c x(r, c)) / sum_c exp(x(r, c) - max_c x(r, c)), the softmax of every row.
///
/// x, y: [rows x columns] of any layouts and strides and of the same value type. y may be x; any other overlap is
/// refused. A row that holds NaN or +infinity becomes NaN; -infinity becomes 0 unless the whole row is. Subtracting the
/// maximum keeps every exponential in (0, 1]. The running form for long rows is that of Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018. Asynchronous. Throws shape_error and alias_error.
template <class Exec, class X, class Y>
void softmax(context<Exec>& ctx, const X& x, const Y& y) {
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Y>, "prumo::softmax: x and y are Kokkos views");
  static_assert(X::rank() == 2 && Y::rank() == 2, "prumo::softmax: x and y are matrices");
  static_assert(std::is_same_v<typename X::non_const_value_type, typename Y::value_type>,
                "prumo::softmax: x and y differ in value type, or y is const");
  static_assert(accessible_from<X, Exec> && accessible_from<Y, Exec>,
                "prumo::softmax: a view cannot be accessed from the execution space");
  const array_description described_x = describe(x, "x");
  const array_description described_y = describe(y, "y");
  check::same_extents("prumo::softmax", {described_x, described_y});
  check::distinct_elements("prumo::softmax", described_y);
  check::no_overlap("prumo::softmax", described_y, {described_x}, aliasing::in_place);
  detail::softmax_problem<typename Y::value_type> problem;
  problem.source = x.data();
  problem.target = y.data();
  problem.rows = described_x.extents[0];
  problem.columns = described_x.extents[1];
  problem.source_row_stride = described_x.strides[0];
  problem.source_column_stride = described_x.strides[1];
  problem.target_row_stride = described_y.strides[0];
  problem.target_column_stride = described_y.strides[1];
  problem.working_set = ctx.working_set();
  detail::launch_softmax(ctx, problem);
}

}  // namespace prumo
