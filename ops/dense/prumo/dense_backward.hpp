// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of the dense layer y = x w^T + bias, from dy, the gradient of y.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <optional>
#include <string_view>

namespace prumo {

struct dense_backward_options {
  /// For dense_backward_weights() alone: [features], of the type of dy. It gets the sum of each column of dy, in the
  /// order of reduce().
  std::optional<array_ref> bias = {};
  /// The name of an implementation of gemm(). If it is empty, a host takes `portable`, whose results have the same bits
  /// for any number of threads, and a device the first one that can compute the product.
  std::string_view implementation = {};
};

/// dx = dy w, the gradient of the layer's input.
///
/// dy: [n x features]. w: [features x inputs]. dx: [n x inputs], or images [n x channels x height x width] of which
/// each lies in memory without gaps and has `inputs` elements. All have the same type (f32, f64, f16, bf16); dx of rank
/// 2, dy and w have any layouts and strides. Sums are computed in the compute type and rounded once. Any extent may be
/// 0. dx may not overlap the other arrays. Asynchronous on the context's instance. Throws argument_error, shape_error,
/// alias_error, and unsupported_error as gemm() does.
void dense_backward_data(context_ref ctx, const array_ref& dy, const array_ref& w, const array_ref& dx,
                         const dense_backward_options& options = {});
template <class Context, class DY, class W, class DX>
void dense_backward_data(Context&& ctx, const DY& dy, const W& w, const DX& dx,
                         const dense_backward_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::dense_backward_data", Context, DY, W, DX);
  static_assert((detail::have_rank<2, DX> || detail::have_rank<4, DX>) && detail::have_rank<2, DY, W>,
                "prumo::dense_backward_data: dx is a matrix or images of rank 4, dy and w are matrices");
  static_assert(
      detail::have_one_scalar_type<DY, W> && detail::have_one_scalar_type<DY, DX> && detail::is_writable<DX>(),
      "prumo::dense_backward_data: dy, w and dx have the same value type, and dx is not const");
  dense_backward_data(context_ref(ctx), array_ref(dy), array_ref(w), array_ref(dx), options);
}

/// dw = dy^T x, the gradient of the weights, and on request that of the bias.
///
/// x: [n x inputs], or images of rank 4 as for dense(). dy: [n x features]. dw: [features x inputs]. Neither dw nor the
/// bias may overlap another array. Other arguments and errors as in dense_backward_data().
void dense_backward_weights(context_ref ctx, const array_ref& x, const array_ref& dy, const array_ref& dw,
                            const dense_backward_options& options = {});
template <class Context, class X, class DY, class DW>
void dense_backward_weights(Context&& ctx, const X& x, const DY& dy, const DW& dw,
                            const dense_backward_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::dense_backward_weights", Context, X, DY, DW);
  static_assert((detail::have_rank<2, X> || detail::have_rank<4, X>) && detail::have_rank<2, DY, DW>,
                "prumo::dense_backward_weights: x is a matrix or images of rank 4, dy and dw are matrices");
  static_assert(detail::have_one_scalar_type<X, DY> && detail::have_one_scalar_type<X, DW> && detail::is_writable<DW>(),
                "prumo::dense_backward_weights: x, dy and dw have the same value type, and dw is not const");
  dense_backward_weights(context_ref(ctx), array_ref(x), array_ref(dy), array_ref(dw), options);
}

}  // namespace prumo
