// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Conversion between the types of arrays.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// y = x in the type of y, element by element. Between any two types it is rounded once, to nearest, ties to even.
/// Numbers that are too large or too small for the type of y become infinity or zero of the same sign. NaN gives a
/// quiet NaN.
///
/// Takes a context or an execution space instance, and arrays of equal extents with any layout and strides. Each may be
/// float, double, f16 or bf16. The input may broadcast to the output, as arithmetic.hpp explains. If both have the same
/// type, the output may be the input; then nothing changes. Any other overlap throws alias_error, and other extents
/// throw shape_error. Asynchronous.
void cast(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void cast(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ARRAYS("prumo::cast", Space, X, Y);
  static_assert(detail::can_broadcast<Y, X>, "prumo::cast: the input has a higher rank than the output");
  static_assert(detail::has_scalars<X> && detail::has_scalars<Y>,
                "prumo::cast: a value type is not float, double, prumo::f16 or prumo::bf16");
  static_assert(detail::is_writable<Y>(), "prumo::cast: the output view is const");
  cast(instance_ref(space), array_ref(x), array_ref(y));
}

}  // namespace prumo
