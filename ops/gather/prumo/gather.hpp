// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of a matrix by index, for embedding tables, permutations and batches of a data set.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// y(i, c) = x(index(i), c) for every i and c.
///
/// x: [n x columns] and y: [rows x columns] have the same value type and any layouts and strides. index: [rows] has
/// elements of std::int64_t or std::int32_t, in any order, and they may repeat. y may overlap neither x nor index. If
/// an index is negative or not below n, nothing is read, and its row of y becomes NaN, because a kernel cannot throw.
/// If indices come from outside, check the result with `isnan`. Asynchronous. Throws argument_error, shape_error and
/// alias_error.
void gather_rows(instance_ref space, const array_ref& x, const array_ref& index, const array_ref& y);
template <class Space, class X, class Index, class Y>
void gather_rows(const Space& space, const X& x, const Index& index, const Y& y) {
  PRUMO_ASSERT_ARRAYS("prumo::gather_rows", Space, X, Index, Y);
  static_assert(detail::have_rank<2, X, Y> && detail::have_rank<1, Index>,
                "prumo::gather_rows: x and y are matrices, and index is a vector");
  static_assert(detail::have_one_scalar_type<X, Y>,
                "prumo::gather_rows: x and y differ in value type, or it is not float, double, prumo::f16 or "
                "prumo::bf16");
  static_assert(detail::is_writable<Y>(), "prumo::gather_rows: y is const");
  static_assert(detail::is_array_ref<Index> || index_scalar<detail::element_of_t<Index>>,
                "prumo::gather_rows: indices are std::int64_t or std::int32_t");
  gather_rows(instance_ref(space), array_ref(x), array_ref(index), array_ref(y));
}

}  // namespace prumo
