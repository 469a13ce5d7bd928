// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose of a matrix, out of place.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// y(c, r) = x(r, c), every element.
///
/// x: [rows x columns] and y: [columns x rows] have the same value type and any layouts and strides. They may not
/// overlap, because there is no transpose in place. Asynchronous. Throws argument_error, shape_error and alias_error.
void transpose(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void transpose(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ARRAYS("prumo::transpose", Space, X, Y);
  static_assert(detail::have_rank<2, X, Y>, "prumo::transpose: x and y are matrices");
  static_assert(
      detail::have_one_scalar_type<X, Y>,
      "prumo::transpose: x and y differ in value type, or it is not float, double, prumo::f16 or prumo::bf16");
  static_assert(detail::is_writable<Y>(), "prumo::transpose: y is const");
  transpose(instance_ref(space), array_ref(x), array_ref(y));
}

}  // namespace prumo
