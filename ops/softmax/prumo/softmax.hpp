// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Softmax and its logarithm, of the rows of a matrix.
///
/// Rows may have any length, from 1 to what memory holds; a row's bits follow from the shape and the strides alone, not
/// from the number of threads. On devices rows of up to 32,768 elements (16,384 of double) are read once; so is, on the
/// host, what stays in the cache. Longer rows are read twice.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// The static assertions of softmax and log_softmax.
#define PRUMO_ASSERT_SOFTMAX(operation, Context, X, Y)                                            \
  PRUMO_ASSERT_KEPT_CONTEXT(operation, Context, X, Y);                                            \
  static_assert(::prumo::detail::have_rank<2, X, Y>, operation ": x and y are matrices");         \
  static_assert(::prumo::detail::have_one_scalar_type<X, Y> && ::prumo::detail::is_writable<Y>(), \
                operation ": x and y differ in value type, or y is const, or the type is no number")

/// y(r, c) = exp(x(r, c) - max_c x(r, c)) / sum_c exp(x(r, c) - max_c x(r, c)), the softmax of every row.
///
/// x, y: [rows x columns] of any layouts and strides and of the same value type. y may be x; any other overlap is
/// refused. A row that holds NaN or +infinity becomes NaN; -infinity becomes 0 unless the whole row is, which becomes
/// NaN. Subtracting the maximum keeps every exponential in (0, 1]. The running form for long rows is that of Milakov
/// and Gimelshein, "Online normalizer calculation for softmax", 2018. Asynchronous. Throws
/// argument_error, shape_error and alias_error.
void softmax(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void softmax(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_SOFTMAX("prumo::softmax", Context, X, Y);
  softmax(context_ref(ctx), array_ref(x), array_ref(y));
}

/// y(r, c) = x(r, c) - max_c x(r, c) - log(sum_c exp(x(r, c) - max_c x(r, c))), the logarithm of the softmax of every
/// row, where softmax itself would underflow.
///
/// Arguments, aliasing and errors as softmax(). A row that holds NaN or +infinity, or nothing but -infinity, becomes
/// NaN; -infinity in other rows stays.
void log_softmax(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void log_softmax(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_SOFTMAX("prumo::log_softmax", Context, X, Y);
  log_softmax(context_ref(ctx), array_ref(x), array_ref(y));
}

}  // namespace prumo
