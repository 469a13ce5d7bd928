// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The largest value and the mean of windows that slide over images.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>

namespace prumo {

/// What becomes of the last rows and columns of an image if they do not fill a window.
enum class window_rounding : std::uint8_t {
  down,  ///< they are left out
  up,    ///< they get a window of their own, which reaches beyond the image
};

/// Windows that slide over an image, in elements. A padding is the distance by which the first window begins before
/// the image, and by which the last one may end behind it. It is smaller than the window.
struct pooling_window {
  std::int64_t height = 2;
  std::int64_t width = 2;
  std::int64_t row_stride = 2;
  std::int64_t column_stride = 2;
  std::int64_t row_padding = 0;
  std::int64_t column_padding = 0;
  window_rounding rounding = window_rounding::down;

  bool operator==(const pooling_window&) const = default;
};

/// The number of windows along one side of an image: (extent + 2 padding - window) / stride + 1, rounded as `rounding`
/// says. If it is rounded up, no window begins behind the image. The result is 0 if no window fits.
constexpr std::int64_t pooled_extent(std::int64_t extent, std::int64_t window, std::int64_t stride,
                                     std::int64_t padding, window_rounding rounding) {
  const std::int64_t room = extent + 2 * padding - window;
  if (room < 0) return 0;
  const std::int64_t windows = room / stride + 1;
  const bool has_rest = room % stride != 0;
  // The window that would be added begins at windows * stride - padding.
  return rounding == window_rounding::up && has_rest && windows * stride < extent + padding ? windows + 1 : windows;
}

/// y(n, c, i, j) = the largest x of the window (i, j) in image n, channel c; NaN if the window holds one.
///
/// x: [images x channels x height x width] and y: [images x channels x rows x columns] have the same value type, and
/// any layouts and strides, so that images with the channels last are a view. rows and columns are pooled_extent() of
/// height and width. Of a window that reaches beyond the image, only the elements inside count. y may not overlap x.
/// Asynchronous. Throws argument_error, shape_error and alias_error.
void max_pool(instance_ref space, const array_ref& x, const array_ref& y, const pooling_window& window = {});
template <class Space, class X, class Y>
void max_pool(const Space& space, const X& x, const Y& y, const pooling_window& window = {}) {
  PRUMO_ASSERT_ARRAYS("prumo::max_pool", Space, X, Y);
  static_assert(detail::have_rank<4, X, Y> && detail::have_one_scalar_type<X, Y> && detail::is_writable<Y>(),
                "prumo::max_pool: x and y have rank 4 and the same value type, and y is not const");
  max_pool(instance_ref(space), array_ref(x), array_ref(y), window);
}

/// y(n, c, i, j) = the mean of the x of the window (i, j) in image n, channel c. It is the sum of the elements inside
/// the image over their number. The sum is computed in the compute type. Arguments and errors as in max_pool().
void average_pool(instance_ref space, const array_ref& x, const array_ref& y, const pooling_window& window = {});
template <class Space, class X, class Y>
void average_pool(const Space& space, const X& x, const Y& y, const pooling_window& window = {}) {
  PRUMO_ASSERT_ARRAYS("prumo::average_pool", Space, X, Y);
  static_assert(detail::have_rank<4, X, Y> && detail::have_one_scalar_type<X, Y> && detail::is_writable<Y>(),
                "prumo::average_pool: x and y have rank 4 and the same value type, and y is not const");
  average_pool(instance_ref(space), array_ref(x), array_ref(y), window);
}

}  // namespace prumo
