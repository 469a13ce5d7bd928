// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums, means, largest and smallest elements of whole arrays, of rows, and over any set of axes.
///
/// `sum(ctx, x, result)` takes a view x of any rank, layout and strides and a view of rank 0; `sum_rows(ctx, x, y)`
/// takes x: [rows x columns], any layout and strides, and y: [rows]; so do the others. Results have the value type of
/// x; f16 and bf16 are computed in float and rounded once. argmax and argmin write std::int64_t: the column in a row,
/// and in a whole array the index in row-major order, whatever the layout of x is.
///
/// `reduce(ctx, kind, x, axes, y)` reduces over the axes that are given, of an array of any rank.
///
/// - sum, sum_of_squares: of nothing 0. The order of the additions depends on the shape alone, not on the number of
///   threads: the same input gives the same bits on any number of cores, and on a device wherever x has the same
///   alignment. With n elements |result - exact| <= gamma_d sum |x_i|, for squares gamma_(d+1) sum x_i^2, with the
///   depth d of sum_depth(), some 270 for a million elements, where adding one after the other has d = n.
/// - mean: the sum divided by the number of elements, gamma_(d+2); of nothing NaN, as NumPy's. The sum may
///   overflow where the mean would not.
/// - max, min: exact; NaN where an element is NaN, and -0 < +0, as IEEE 754-2019 maximum and minimum. Of nothing:
///   shape_error.
/// - argmax, argmin: the first of equals; -0 equals +0; the first NaN where there is one, as NumPy's. Of nothing:
///   shape_error.
///
/// All are asynchronous: results are there when the instance is fenced. The result lies apart from x, or alias_error; y
/// has an element for each row of x, or shape_error.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

namespace prumo {

/// How many additions lie one upon the other, at most, in a sum of `count` elements of a type with the given compute
/// size in bytes: the d of the error bound. `column_major`: the sums of the rows of a matrix whose rows lie side by
/// side, which are added up column by column.
std::int64_t sum_depth(std::int64_t count, std::size_t compute_bytes, bool column_major = false);

/// The same for reduce() over axes of `count` elements together, whatever the layout of x is.
std::int64_t reduce_depth(std::int64_t count, std::size_t compute_bytes);

/// The kinds of reductions.
enum class reduction : std::uint8_t { sum, sum_of_squares, mean, max, min, argmax, argmin };

namespace detail {

constexpr bool finds_index(reduction kind) { return kind == reduction::argmax || kind == reduction::argmin; }

/// Whether there is a result of no elements.
constexpr bool has_empty_result(reduction kind) { return kind <= reduction::mean; }

/// Whether the result's view has the type of results of the reduction and can be written to.
template <reduction Kind, class X, class Result>
constexpr bool has_type_of_result() {
  if constexpr (is_array_ref<Result>) {
    return true;
  } else if constexpr (finds_index(Kind)) {
    return std::is_same_v<typename Result::value_type, std::int64_t>;
  } else {
    return has_type_of<X, Result> && is_writable<Result>();
  }
}

}  // namespace detail

#define PRUMO_ASSERT_REDUCTION(operation, Kind, Context, X, Result)                                 \
  PRUMO_ASSERT_KEPT_CONTEXT(operation, Context, X, Result);                                         \
  static_assert(::prumo::detail::has_scalars<X>,                                                    \
                operation ": the value type of x is not float, double, prumo::f16 or prumo::bf16"); \
  static_assert(::prumo::detail::has_type_of_result<::prumo::Kind, X, Result>(), operation          \
                ": x and the result differ in value type (indices are std::int64_t), or the result is const")

/// The static assertions of a reduction of a whole array.
#define PRUMO_ASSERT_WHOLE_REDUCTION(operation, Kind, Context, X, Result) \
  PRUMO_ASSERT_REDUCTION(operation, Kind, Context, X, Result);            \
  static_assert(::prumo::detail::have_rank<0, Result>, operation ": the result is a view of rank 0")

/// The static assertions of a reduction of rows.
#define PRUMO_ASSERT_ROW_REDUCTION(operation, Kind, Context, X, Y)                    \
  PRUMO_ASSERT_REDUCTION(operation, Kind, Context, X, Y);                             \
  static_assert(::prumo::detail::have_rank<2, X> && ::prumo::detail::have_rank<1, Y>, \
                operation ": x is a matrix and y a vector")

/// result() = the sum of all elements of x; 0 of nothing.
void sum(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void sum(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::sum", reduction::sum, Context, X, Result);
  sum(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the sum of row r of x.
void sum_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void sum_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::sum_rows", reduction::sum, Context, X, Y);
  sum_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the sum of the squares of all elements of x; 0 of nothing.
void sum_of_squares(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void sum_of_squares(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::sum_of_squares", reduction::sum_of_squares, Context, X, Result);
  sum_of_squares(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the sum of the squares of row r of x.
void sum_of_squares_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void sum_of_squares_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::sum_of_squares_rows", reduction::sum_of_squares, Context, X, Y);
  sum_of_squares_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the sum of all elements of x over their number; NaN of nothing.
void mean(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void mean(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::mean", reduction::mean, Context, X, Result);
  mean(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the mean of row r of x.
void mean_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void mean_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::mean_rows", reduction::mean, Context, X, Y);
  mean_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the largest element of x; NaN where there is one. shape_error where x is empty.
void max(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void max(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::max", reduction::max, Context, X, Result);
  max(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the largest element of row r of x; NaN where there is one. shape_error where rows are empty.
void max_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void max_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::max_rows", reduction::max, Context, X, Y);
  max_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the smallest element of x; NaN where there is one. shape_error where x is empty.
void min(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void min(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::min", reduction::min, Context, X, Result);
  min(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the smallest element of row r of x; NaN where there is one. shape_error where rows are empty.
void min_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void min_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::min_rows", reduction::min, Context, X, Y);
  min_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the row-major index of the first of the largest elements of x, or of the first NaN. shape_error where x
/// is empty.
void argmax(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void argmax(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::argmax", reduction::argmax, Context, X, Result);
  argmax(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the column of the first of the largest elements of row r of x, or of the first NaN. shape_error where rows
/// are empty.
void argmax_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void argmax_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::argmax_rows", reduction::argmax, Context, X, Y);
  argmax_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// result() = the row-major index of the first of the smallest elements of x, or of the first NaN. shape_error where x
/// is empty.
void argmin(context_ref ctx, const array_ref& x, const array_ref& result);
template <class Context, class X, class Result>
void argmin(Context&& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::argmin", reduction::argmin, Context, X, Result);
  argmin(context_ref(ctx), array_ref(x), array_ref(result));
}

/// y(r) = the column of the first of the smallest elements of row r of x, or of the first NaN. shape_error where rows
/// are empty.
void argmin_rows(context_ref ctx, const array_ref& x, const array_ref& y);
template <class Context, class X, class Y>
void argmin_rows(Context&& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::argmin_rows", reduction::argmin, Context, X, Y);
  argmin_rows(context_ref(ctx), array_ref(x), array_ref(y));
}

/// y = the reduction of x over a set of axes, from 0 on: each element of y is that of all elements of x with its
/// indices along the other axes.
///
/// x has any rank, layout and strides, y the extents of the other axes in their order, or the rank of x with an extent
/// of 1 along each reduced axis, which then broadcasts to x. argmax and argmin write the position among the reduced
/// axes, in row-major order. Without axes each element of x is reduced alone. Results are as those of the other
/// reductions, with the depth d of reduce_depth().
///
/// The mean of each channel of images x: [images x channels x height x width], as batch normalisation wants it:
///
///     prumo::reduce(ctx, prumo::reduction::mean, x, {0, 2, 3}, mean);  // mean: [channels]
///
/// Throws argument_error where an axis is not one of x or is named twice, where y overlaps x alias_error, and
/// shape_error where y has other extents or a maximum or minimum is of nothing. Asynchronous.
void reduce(context_ref ctx, reduction kind, const array_ref& x, std::span<const int> axes, const array_ref& y);
template <class Context, class X, class Y>
void reduce(Context&& ctx, reduction kind, const X& x, std::initializer_list<int> axes, const Y& y) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::reduce", Context, X, Y);
  static_assert(detail::has_scalars<X>,
                "prumo::reduce: the value type of x is not float, double, prumo::f16 or prumo::bf16");
  static_assert(detail::is_writable<Y>(), "prumo::reduce: the result is const");
  reduce(context_ref(ctx), kind, array_ref(x), std::span<const int>(axes.begin(), axes.size()), array_ref(y));
}

}  // namespace prumo
