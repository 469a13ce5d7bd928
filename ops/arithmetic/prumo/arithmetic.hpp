// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise sums and products.
///
/// All take a context or an execution space instance, and arrays of equal extents with any layout and strides. The type
/// is float, double, f16 or bf16; the last two are computed in float, and rounded once more at the end. The output may
/// be one of the inputs. Any other overlap throws alias_error, other extents throw shape_error, and arrays of different
/// types or without memory throw argument_error. Asynchronous.
///
/// Inputs may also broadcast to the output, by NumPy's rule: an input of lower rank has the output's last dimensions,
/// and an input with extent 1 is repeated along that dimension. So `add(ctx, x, b, z)` adds a bias b: [n] to each row
/// of x: [m x n], and `add(ctx, x, c, z)` adds one number of c: [m x 1] to each row.
///
/// Each operation is a function of arrays whose type is known at run time. An overload for Kokkos Views checks what the
/// compiler can check, and calls this function.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

namespace prumo {

/// z = x + y, element by element.
void add(instance_ref space, const array_ref& x, const array_ref& y, const array_ref& z);
template <class Space, class X, class Y, class Z>
void add(const Space& space, const X& x, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::add", Space, Z, X, Y);
  add(instance_ref(space), array_ref(x), array_ref(y), array_ref(z));
}

/// z = x * y, element by element (the Hadamard product).
void mul(instance_ref space, const array_ref& x, const array_ref& y, const array_ref& z);
template <class Space, class X, class Y, class Z>
void mul(const Space& space, const X& x, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::mul", Space, Z, X, Y);
  mul(instance_ref(space), array_ref(x), array_ref(y), array_ref(z));
}

/// y = alpha x. alpha is rounded to the compute type of the arrays.
void scale(instance_ref space, double alpha, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void scale(const Space& space, double alpha, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::scale", Space, Y, X);
  scale(instance_ref(space), alpha, array_ref(x), array_ref(y));
}

/// z = alpha x + beta y, element by element. If the processor has a fused multiply-add, beta y is rounded and then the
/// sum. alpha and beta are rounded to the compute type of the arrays. As in the BLAS, `alpha == 0` never reads x and
/// `beta == 0` never reads y. Then their values do not matter, not even NaN, and bandwidth is saved. z may be x, or y,
/// or both: y = alpha x + beta y is axpby(space, alpha, x, beta, y, y).
void axpby(instance_ref space, double alpha, const array_ref& x, double beta, const array_ref& y, const array_ref& z);
template <class Space, class X, class Y, class Z>
void axpby(const Space& space, double alpha, const X& x, double beta, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::axpby", Space, Z, X, Y);
  axpby(instance_ref(space), alpha, array_ref(x), beta, array_ref(y), array_ref(z));
}

}  // namespace prumo
