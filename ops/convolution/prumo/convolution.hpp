// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution of images with filters, and what usually follows it: a bias, an activation and pooling.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/gemm_options.hpp>
#include <prumo/pooling.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace prumo {

/// What is stored of each window of a convolution's results.
enum class convolution_pooling : std::uint8_t { none, maximum, mean };

/// How images and filters meet, and what is done with the results before they are stored in y.
struct convolution_options {
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;
  /// Rows of zeros that are added above and below each image. They are smaller than the filter.
  std::int64_t row_padding = 0;
  /// Columns of zeros that are added at the left and at the right.
  std::int64_t column_padding = 0;
  /// A vector of y's type, with an entry for each output channel.
  std::optional<array_ref> bias = {};
  /// `fast_tf32` rounds f32 elements of x and w to the 11 bits of TF32, for the matrix units of devices; sums stay in
  /// f32. There are no other modes beside `strict`.
  gemm_mode mode = gemm_mode::strict;
  activation_function activation = activation_function::none;
  convolution_pooling pooling = convolution_pooling::none;
  pooling_window window = {};  ///< used if there is pooling
  /// The name of the implementation to use (`tensor`, `implicit_gemm`, `direct`, `unrolled_gemm`, `portable`); empty
  /// for the first one that can compute the convolution.
  std::string_view implementation = {};
};

/// The number of places of a filter along one side of an image: (extent + 2 padding - filter) / stride + 1, rounded
/// down; 0 if the filter does not fit.
constexpr std::int64_t convolved_extent(std::int64_t extent, std::int64_t filter, std::int64_t stride,
                                        std::int64_t padding) {
  return pooled_extent(extent, filter, stride, padding, window_rounding::down);
}

/// y(n, m, i, j) = pool(act(sum_{c,p,q} w(m, c, p, q) x(n, c, i s + p - padding, j t + q - padding) + bias(m))), where
/// s and t are the strides, and x is zero outside of the images. This is what networks call a convolution: the filter
/// is not mirrored.
///
/// x: [images x in_channels x height x width], w: [out_channels x in_channels x filter rows x filter columns],
/// y: [images x out_channels x rows x columns]. rows and columns are convolved_extent() of height and width, and with
/// pooling pooled_extent() of that. All arrays have the same type (f32, f64, f16, bf16), and any strides, so that
/// images with the channels last are a view. Sums, bias, activation and pooling are computed in the compute type, which
/// is f32 for f16 and bf16, and rounded once. y may overlap none of the other arrays. There may be no image, and no
/// input channel: then each sum is zero.
///
/// Asynchronous on the context's instance. Throws argument_error, shape_error and alias_error; unsupported_error with
/// the reasons if the implementation in `options` cannot compute this. Accuracy and implementations:
/// ops/convolution/README.md.
void convolve(context_ref ctx, const array_ref& x, const array_ref& w, const array_ref& y,
              const convolution_options& options = {});
template <class Context, class X, class W, class Y>
void convolve(Context&& ctx, const X& x, const W& w, const Y& y, const convolution_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::convolve", Context, X, W, Y);
  static_assert(
      detail::have_rank<4, X, W, Y> && detail::have_one_scalar_type<X, W, Y> && detail::is_writable<Y>(),
      "prumo::convolve: x, w and y have rank 4 and the same value type of float, double, prumo::f16 and prumo::bf16, "
      "and y is not const");
  convolve(context_ref(ctx), array_ref(x), array_ref(w), array_ref(y), options);
}

/// The convolution of images that are still bytes, where a device has one kernel for both: a byte b is the number
/// b * scale, as convert_images() makes it, and y has the same bits as that of convolve() for these numbers.
///
/// images: [images x in_channels x height x width] of std::uint8_t. w, y and the options are as for convolve(). Devices
/// copy whole packs of 16 bytes, so the memory of the images must begin and end at multiples of 16 bytes.
/// \return false, with nothing enqueued, if there is no such kernel for these arguments, or if numbers that are made
///         before take less time: on hosts, for other types than f32, for most filters. Then call convert_images() and
///         convolve(), which take any.
/// \throws as convolve()
bool convolve_bytes(context_ref ctx, const array_ref& images, double scale, const array_ref& w, const array_ref& y,
                    const convolution_options& options = {});

/// The name of the implementation that convolve() would use for these arguments; `none` if y has no element. The
/// arrays' memory is not used and may be null. Throws unsupported_error and argument_error like convolve().
std::string_view convolution_implementation(const instance_ref& space, const array_ref& x, const array_ref& w,
                                            const array_ref& y, const convolution_options& options = {});

/// The names of the implementations that exist on a space for a type, best first.
std::vector<std::string_view> convolution_implementations(space_kind space, dtype type);

}  // namespace prumo
