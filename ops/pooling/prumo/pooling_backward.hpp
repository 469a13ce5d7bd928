// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of max_pool() and average_pool().

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/pooling.hpp>

namespace prumo {

/// dx(n, c, r, k) = the sum of dy(n, c, i, j) over the windows (i, j) whose largest element is x(n, c, r, k).
///
/// Of several largest elements it is the first one, in row-major order of the window. A NaN counts as the largest, as
/// max_pool() lets it pass, and then it is the first NaN.
///
/// x and dx: [images x channels x height x width], and dy with the extents of y in max_pool(), have the same value type
/// and any layouts and strides. An element gathers from the windows that cover it, row by row, so results have the same
/// bits on every run. Sums are computed in the compute type. Windows that do not overlap are computed once each. Others
/// are searched again for each of their elements. dx may overlap neither x nor dy. Asynchronous. Throws
/// argument_error, shape_error and alias_error.
void max_pool_backward(instance_ref space, const array_ref& x, const array_ref& dy, const array_ref& dx,
                       const pooling_window& window = {});
template <class Space, class X, class DY, class DX>
void max_pool_backward(const Space& space, const X& x, const DY& dy, const DX& dx, const pooling_window& window = {}) {
  PRUMO_ASSERT_ARRAYS("prumo::max_pool_backward", Space, X, DY, DX);
  static_assert(detail::have_rank<4, X, DY, DX> && detail::have_one_scalar_type<X, DY, DX> && detail::is_writable<DX>(),
                "prumo::max_pool_backward: x, dy and dx have rank 4 and the same value type, and dx is not const");
  max_pool_backward(instance_ref(space), array_ref(x), array_ref(dy), array_ref(dx), window);
}

/// dx(n, c, r, k) = the sum, over the windows (i, j) that cover (r, k), of dy(n, c, i, j) over the number of elements
/// of the window that lie inside the image. Arguments and errors as in max_pool_backward().
void average_pool_backward(instance_ref space, const array_ref& dy, const array_ref& dx,
                           const pooling_window& window = {});
template <class Space, class DY, class DX>
void average_pool_backward(const Space& space, const DY& dy, const DX& dx, const pooling_window& window = {}) {
  PRUMO_ASSERT_ARRAYS("prumo::average_pool_backward", Space, DY, DX);
  static_assert(detail::have_rank<4, DY, DX> && detail::have_one_scalar_type<DY, DX> && detail::is_writable<DX>(),
                "prumo::average_pool_backward: dy and dx have rank 4 and the same value type, and dx is not const");
  average_pool_backward(instance_ref(space), array_ref(dy), array_ref(dx), window);
}

}  // namespace prumo
