// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The dense layer of a net.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/gemm_options.hpp>

#include <optional>
#include <string_view>

namespace prumo {

struct dense_options {
  /// [features], of the type of y. Its entry j is added to column j of y.
  std::optional<array_ref> bias = {};
  activation_function activation = activation_function::none;
  gemm_mode mode = gemm_mode::strict;
  /// The name of an implementation of gemm(); empty for the first one that can compute the product.
  std::string_view implementation = {};
};

/// y = act(x w^T + bias).
///
/// x: [n x inputs], or images [n x channels x height x width] of which each lies in memory without gaps and has
/// `inputs` elements. w: [features x inputs]. y: [n x features]. All have the same type (f32, f64, f16, bf16); x of
/// rank 2, w, y and the bias have any layouts and strides. Sums are computed in the compute type and rounded once,
/// after bias and activation. Any extent may be 0. y may not overlap the other arrays. Asynchronous on the context's
/// instance. Throws argument_error, shape_error, alias_error, and unsupported_error as gemm() does.
void dense(context_ref ctx, const array_ref& x, const array_ref& w, const array_ref& y,
           const dense_options& options = {});
template <class Context, class X, class W, class Y>
void dense(Context&& ctx, const X& x, const W& w, const Y& y, const dense_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::dense", Context, X, W, Y);
  static_assert((detail::have_rank<2, X> || detail::have_rank<4, X>) && detail::have_rank<2, W, Y>,
                "prumo::dense: x is a matrix or images of rank 4, w and y are matrices");
  static_assert(detail::have_one_scalar_type<X, W> && detail::have_one_scalar_type<X, Y> && detail::is_writable<Y>(),
                "prumo::dense: x, w and y have the same value type, and y is not const");
  dense(context_ref(ctx), array_ref(x), array_ref(w), array_ref(y), options);
}

}  // namespace prumo
