// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums, means, largest and smallest elements of whole arrays and of rows.
///
/// `sum(ctx, x, result)` takes a view x of any rank, layout and strides and a view of rank 0; `sum_rows(ctx, x, y)`
/// takes x: [rows x columns], any layout and strides, and y: [rows]; so do the others. Results have the value type of
/// x; f16 and bf16 are computed in float and rounded once. argmax and argmin write std::int64_t: the column in a row,
/// and in a whole array the index in row-major order, whatever the layout of x is.
///
/// - sum, sum_of_squares: of nothing 0. The order of the additions depends on the shape alone, not on the number of
///   threads: the same input gives the same bits on any number of cores, and on a device wherever x has the same
///   alignment. With n elements |result - exact| <= gamma_d sum |x_i|, for squares gamma_(d+1) sum x_i^2, with the
///   depth d of sum_depth(), some 270 for a million elements, where adding one after the other has d = n.
/// - mean: the sum divided by the number of elements, gamma_(d+2); of nothing NaN, as NumPy's. The sum may overflow
/// where
///   the mean would not.
/// - max, min: exact; NaN where an element is NaN, and -0 < +0, as IEEE 754-2019 maximum and minimum. Of nothing:
///   shape_error.
/// - argmax, argmin: the first of equals; -0 equals +0; the first NaN where there is one, as NumPy's. Of nothing:
///   shape_error.
///
/// All are asynchronous: results are there when the instance is fenced. The result lies apart from x, or alias_error; y
/// has as many elements as x has rows, or shape_error.

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

enum class reduction : std::uint8_t { sum, sum_of_squares, mean, max, min, argmax, argmin };

constexpr bool finds_index(reduction kind) { return kind == reduction::argmax || kind == reduction::argmin; }

/// Whether there is a result of no elements.
constexpr bool has_empty_result(reduction kind) { return kind <= reduction::mean; }

/// What a reduction of elements of T results in.
template <reduction Kind, class T>
using reduced_t = std::conditional_t<finds_index(Kind), std::int64_t, T>;

/// results[r * result_stride] = the reduction of row r: elements source[r * row_stride + c * column_stride].
template <class T, class Result>
struct row_reduction_problem {
  const T* source = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  Result* results = nullptr;
  std::int64_t result_stride = 1;
};

/// Enqueues the reductions of rows.
template <reduction Kind, class Exec, class T>
void launch_row_reduction(context<Exec>& ctx, const row_reduction_problem<T, reduced_t<Kind, T>>& problem);

/// Enqueues the reduction of all elements of an array of any rank and strides.
template <reduction Kind, class Exec, class T>
void launch_reduction(context<Exec>& ctx, const array<const T>& source, reduced_t<Kind, T>* result);

/// Checks and lowers a reduction of a whole array.
template <reduction Kind, class Exec, class X, class Result>
void reduce(std::string_view operation, context<Exec>& ctx, const X& x, const Result& result) {
  const array_description described_x = describe(x, "x");
  if (!has_empty_result(Kind) && x.size() == 0) check::throw_shape(operation, "at least one element", {described_x});
  check::no_overlap(operation, describe(result, "result"), described_x, aliasing::none);
  launch_reduction<Kind, Exec, typename X::non_const_value_type>(ctx, lower_const(x), result.data());
}

/// Checks and lowers a reduction of rows.
template <reduction Kind, class Exec, class X, class Y>
void reduce_rows(std::string_view operation, context<Exec>& ctx, const X& x, const Y& y) {
  using T = typename X::non_const_value_type;
  const array_description described_x = describe(x, "x");
  const array_description described_y = describe(y, "y");
  if (described_y.extents[0] != described_x.extents[0]) {
    check::throw_shape(operation, "y of as many elements as x has rows", {described_x, described_y});
  }
  if (!has_empty_result(Kind) && described_x.extents[0] > 0 && described_x.extents[1] == 0) {
    check::throw_shape(operation, "rows of at least one element", {described_x});
  }
  check::distinct_elements(operation, described_y);
  check::no_overlap(operation, described_y, described_x, aliasing::none);
  launch_row_reduction<Kind, Exec, T>(
      ctx, {x.data(), described_x.extents[0], described_x.extents[1], described_x.strides[0], described_x.strides[1],
            y.data(), described_y.strides[0]});
}

/// Whether results of the reduction are of the result view's type.
template <reduction Kind, class X, class Result>
inline constexpr bool has_type_of_result =
    std::is_same_v<reduced_t<Kind, typename X::non_const_value_type>, typename Result::value_type>;

}  // namespace detail

#define PRUMO_ASSERT_REDUCTION(operation, Exec, X, Result)                                                           \
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Result>, operation ": x and the result are Kokkos views"); \
  static_assert(scalar<typename X::value_type>,                                                                      \
                operation ": the value type of x is not float, double, prumo::f16 or prumo::bf16");                  \
  static_assert(accessible_from<X, Exec> && accessible_from<Result, Exec>,                                           \
                operation ": a view cannot be accessed from the execution space")

/// The static assertions of a reduction of a whole array.
#define PRUMO_ASSERT_WHOLE_REDUCTION(operation, Kind, Exec, X, Result)              \
  PRUMO_ASSERT_REDUCTION(operation, Exec, X, Result);                               \
  static_assert(Result::rank() == 0, operation ": the result is a view of rank 0"); \
  static_assert(::prumo::detail::has_type_of_result<Kind, X, Result>,               \
                operation ": x and result differ in value type (indices are std::int64_t), or the result is const")

/// The static assertions of a reduction of rows.
#define PRUMO_ASSERT_ROW_REDUCTION(operation, Kind, Exec, X, Y)                                \
  PRUMO_ASSERT_REDUCTION(operation, Exec, X, Y);                                               \
  static_assert(X::rank() == 2 && Y::rank() == 1, operation ": x is a matrix and y a vector"); \
  static_assert(::prumo::detail::has_type_of_result<Kind, X, Y>,                               \
                operation ": x and y differ in value type (indices are std::int64_t), or y is const")

/// result() = the sum of all elements of x; 0 of nothing.
template <class Exec, class X, class Result>
void sum(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::sum", detail::reduction::sum, Exec, X, Result);
  detail::reduce<detail::reduction::sum>("prumo::sum", ctx, x, result);
}

/// y(r) = the sum of row r of x.
template <class Exec, class X, class Y>
void sum_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::sum_rows", detail::reduction::sum, Exec, X, Y);
  detail::reduce_rows<detail::reduction::sum>("prumo::sum_rows", ctx, x, y);
}

/// result() = the sum of the squares of all elements of x; 0 of nothing.
template <class Exec, class X, class Result>
void sum_of_squares(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::sum_of_squares", detail::reduction::sum_of_squares, Exec, X, Result);
  detail::reduce<detail::reduction::sum_of_squares>("prumo::sum_of_squares", ctx, x, result);
}

/// y(r) = the sum of the squares of row r of x.
template <class Exec, class X, class Y>
void sum_of_squares_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::sum_of_squares_rows", detail::reduction::sum_of_squares, Exec, X, Y);
  detail::reduce_rows<detail::reduction::sum_of_squares>("prumo::sum_of_squares_rows", ctx, x, y);
}

/// result() = the sum of all elements of x over their number; NaN of nothing.
template <class Exec, class X, class Result>
void mean(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::mean", detail::reduction::mean, Exec, X, Result);
  detail::reduce<detail::reduction::mean>("prumo::mean", ctx, x, result);
}

/// y(r) = the mean of row r of x.
template <class Exec, class X, class Y>
void mean_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::mean_rows", detail::reduction::mean, Exec, X, Y);
  detail::reduce_rows<detail::reduction::mean>("prumo::mean_rows", ctx, x, y);
}

/// result() = the largest element of x; NaN where there is one. shape_error where x is empty.
template <class Exec, class X, class Result>
void max(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::max", detail::reduction::max, Exec, X, Result);
  detail::reduce<detail::reduction::max>("prumo::max", ctx, x, result);
}

/// y(r) = the largest element of row r of x; NaN where there is one. shape_error where rows are empty.
template <class Exec, class X, class Y>
void max_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::max_rows", detail::reduction::max, Exec, X, Y);
  detail::reduce_rows<detail::reduction::max>("prumo::max_rows", ctx, x, y);
}

/// result() = the smallest element of x; NaN where there is one. shape_error where x is empty.
template <class Exec, class X, class Result>
void min(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::min", detail::reduction::min, Exec, X, Result);
  detail::reduce<detail::reduction::min>("prumo::min", ctx, x, result);
}

/// y(r) = the smallest element of row r of x; NaN where there is one. shape_error where rows are empty.
template <class Exec, class X, class Y>
void min_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::min_rows", detail::reduction::min, Exec, X, Y);
  detail::reduce_rows<detail::reduction::min>("prumo::min_rows", ctx, x, y);
}

/// result() = the row-major index of the first of the largest elements of x, or of the first NaN. shape_error where x
/// is empty.
template <class Exec, class X, class Result>
void argmax(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::argmax", detail::reduction::argmax, Exec, X, Result);
  detail::reduce<detail::reduction::argmax>("prumo::argmax", ctx, x, result);
}

/// y(r) = the column of the first of the largest elements of row r of x, or of the first NaN. shape_error where rows
/// are empty.
template <class Exec, class X, class Y>
void argmax_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::argmax_rows", detail::reduction::argmax, Exec, X, Y);
  detail::reduce_rows<detail::reduction::argmax>("prumo::argmax_rows", ctx, x, y);
}

/// result() = the row-major index of the first of the smallest elements of x, or of the first NaN. shape_error where x
/// is empty.
template <class Exec, class X, class Result>
void argmin(context<Exec>& ctx, const X& x, const Result& result) {
  PRUMO_ASSERT_WHOLE_REDUCTION("prumo::argmin", detail::reduction::argmin, Exec, X, Result);
  detail::reduce<detail::reduction::argmin>("prumo::argmin", ctx, x, result);
}

/// y(r) = the column of the first of the smallest elements of row r of x, or of the first NaN. shape_error where rows
/// are empty.
template <class Exec, class X, class Y>
void argmin_rows(context<Exec>& ctx, const X& x, const Y& y) {
  PRUMO_ASSERT_ROW_REDUCTION("prumo::argmin_rows", detail::reduction::argmin, Exec, X, Y);
  detail::reduce_rows<detail::reduction::argmin>("prumo::argmin_rows", ctx, x, y);
}

}  // namespace prumo
