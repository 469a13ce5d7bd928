// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise elementary functions. Arguments, aliasing and exceptions are as in <prumo/arithmetic.hpp>, and the
/// largest errors are as in <prumo/math.hpp>. NaN gives NaN. Subnormal arguments and results are not flushed to zero.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// y = e^x, element by element: 0 at -infinity and below the range of the type, infinity above it, 1 at both zeros.
void exp(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void exp(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::exp", Space, Y, X);
  exp(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = ln x, element by element: -infinity at both zeros, NaN below, infinity at infinity, 0 at 1.
void log(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void log(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::log", Space, Y, X);
  log(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = sqrt(x), element by element, rounded once: -0 at -0, NaN below, infinity at infinity.
void sqrt(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void sqrt(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::sqrt", Space, Y, X);
  sqrt(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = 1 / sqrt(x), element by element: infinity at 0 and -infinity at -0 (as IEEE 754 has it), NaN below, 0 at
/// infinity.
void rsqrt(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void rsqrt(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::rsqrt", Space, Y, X);
  rsqrt(instance_ref(space), array_ref(x), array_ref(y));
}

}  // namespace prumo
