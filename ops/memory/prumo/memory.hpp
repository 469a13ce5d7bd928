// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Filling and copying. Arguments, aliasing and exceptions are as in <prumo/arithmetic.hpp>. There is no fence, unlike
/// in Kokkos::deep_copy without an instance, and the two arrays may have any layouts.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// y = value rounded to the type of y, every element.
void fill(instance_ref space, double value, const array_ref& y);
template <class Space, class Y>
void fill(const Space& space, double value, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::fill", Space, Y);
  fill(instance_ref(space), value, array_ref(y));
}

/// y = x, every element, bit by bit, between arrays of any layouts in memory that the space can access.
void copy(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void copy(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::copy", Space, Y, X);
  copy(instance_ref(space), array_ref(x), array_ref(y));
}

}  // namespace prumo
