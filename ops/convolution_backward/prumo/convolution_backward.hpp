// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of a convolution: of its images, and of its filters and bias.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace prumo {

/// How images and filters met in the convolution whose gradients are computed.
struct convolution_backward_options {
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;
  /// Rows of zeros that were added above and below each image. They are smaller than the filter.
  std::int64_t row_padding = 0;
  /// Columns of zeros that were added at the left and at the right.
  std::int64_t column_padding = 0;
  /// For convolve_backward_weights(): a vector of dw's type, with an entry for each output channel, that gets the
  /// gradient of the bias: the sums of dy.
  std::optional<array_ref> bias = {};
  /// The name of the implementation to use (`tensor`, `direct`, `portable`); empty for the first one that can compute
  /// the gradient.
  std::string_view implementation = {};
};

/// The gradient of the images of y = convolve(x, w), for the gradient dy of y:
/// dx(n, c, k, l) = sum_m sum_{i,p: i s + p - padding = k} sum_{j,q: j t + q - padding = l} w(m, c, p, q) dy(n, m, i,
/// j), where s and t are the strides.
///
/// dy: [images x out_channels x rows x columns], w: [out_channels x in_channels x filter rows x filter columns],
/// dx: [images x in_channels x height x width]. rows and columns are convolved_extent() of height and width. All arrays
/// have the same type (f32, f64, f16, bf16), and any strides, so that images with the channels last are a view. Sums
/// are computed in the compute type, which is f32 for f16 and bf16, and rounded once. dx may overlap none of the other
/// arrays. There may be no image, and no output channel: then each sum is zero.
///
/// Asynchronous on the context's instance. The bits are the same for any number of threads. Throws argument_error,
/// shape_error and alias_error; unsupported_error with the reasons if the implementation in `options` cannot compute
/// this. Accuracy and implementations: ops/convolution_backward/README.md.
void convolve_backward_data(context_ref ctx, const array_ref& dy, const array_ref& w, const array_ref& dx,
                            const convolution_backward_options& options = {});
template <class Context, class Y, class W, class X>
void convolve_backward_data(Context&& ctx, const Y& dy, const W& w, const X& dx,
                            const convolution_backward_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::convolve_backward_data", Context, Y, W, X);
  static_assert(
      detail::have_rank<4, Y, W, X> && detail::have_one_scalar_type<Y, W, X> && detail::is_writable<X>(),
      "prumo::convolve_backward_data: dy, w and dx have rank 4 and the same value type of float, double, prumo::f16 "
      "and prumo::bf16, and dx is not const");
  convolve_backward_data(context_ref(ctx), array_ref(dy), array_ref(w), array_ref(dx), options);
}

/// The gradient of the filters of y = convolve(x, w), for the gradient dy of y:
/// dw(m, c, p, q) = sum_{n,i,j} dy(n, m, i, j) x(n, c, i s + p - padding, j t + q - padding), where s and t are the
/// strides, and x is zero outside of the images; and of the bias: sum_{n,i,j} dy(n, m, i, j).
///
/// x: [images x in_channels x height x width], dy: [images x out_channels x rows x columns],
/// dw: [out_channels x in_channels x filter rows x filter columns]. Types, strides, sums and errors as in
/// convolve_backward_data(). dw and the bias' gradient may overlap no other array. There may be no image: then each
/// sum is zero.
void convolve_backward_weights(context_ref ctx, const array_ref& x, const array_ref& dy, const array_ref& dw,
                               const convolution_backward_options& options = {});
template <class Context, class X, class Y, class W>
void convolve_backward_weights(Context&& ctx, const X& x, const Y& dy, const W& dw,
                               const convolution_backward_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::convolve_backward_weights", Context, X, Y, W);
  static_assert(detail::have_rank<4, X, Y, W> && detail::have_one_scalar_type<X, Y, W> && detail::is_writable<W>(),
                "prumo::convolve_backward_weights: x, dy and dw have rank 4 and the same value type of float, double, "
                "prumo::f16 and prumo::bf16, and dw is not const");
  convolve_backward_weights(context_ref(ctx), array_ref(x), array_ref(dy), array_ref(dw), options);
}

/// The names of the implementations that the operations would use for these arguments; `none` if nothing is to be
/// computed. The arrays' memory is not used and may be null. They throw unsupported_error and argument_error like the
/// operations.
std::string_view convolution_backward_data_implementation(const instance_ref& space, const array_ref& dy,
                                                          const array_ref& w, const array_ref& dx,
                                                          const convolution_backward_options& options = {});
std::string_view convolution_backward_weights_implementation(const instance_ref& space, const array_ref& x,
                                                             const array_ref& dy, const array_ref& dw,
                                                             const convolution_backward_options& options = {});

/// The names of the implementations that exist on a space for a type, best first.
std::vector<std::string_view> convolution_backward_data_implementations(space_kind space, dtype type);
std::vector<std::string_view> convolution_backward_weights_implementations(space_kind space, dtype type);

}  // namespace prumo
