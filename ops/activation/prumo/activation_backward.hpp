// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of activation functions, from their results.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/gemm_options.hpp>

namespace prumo {

/// dx = dy act'(x), element by element, where y = act(x) is known and x is not needed:
///
/// - `none`: dx = dy
/// - `relu`: dx = dy if y > 0, else 0
/// - `sigmoid`: dx = dy y (1 - y)
/// - `tanh`: dx = dy (1 - y^2)
///
/// The derivative of gelu does not follow from y, so gelu and gelu_by_tanh throw argument_error. dx may be y or dy.
/// Other arguments, aliasing and exceptions are as in <prumo/arithmetic.hpp>. If u is the unit roundoff of the compute
/// type, the error of sigmoid is at most 3 u |dx| and that of tanh 2 u |dx|. The other results are exact.
void activate_backward(instance_ref space, activation_function function, const array_ref& y, const array_ref& dy,
                       const array_ref& dx);
template <class Space, class Y, class DY, class DX>
void activate_backward(const Space& space, activation_function function, const Y& y, const DY& dy, const DX& dx) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::activate_backward", Space, DX, Y, DY);
  activate_backward(instance_ref(space), function, array_ref(y), array_ref(dy), array_ref(dx));
}

}  // namespace prumo
