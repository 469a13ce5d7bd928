// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images of bytes become numbers.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>
#include <optional>

namespace prumo {

/// How images get the rows and columns of y. Both are computed in integers, and halves are rounded up.
enum class image_resizing : std::uint8_t {
  none,      ///< y has the rows and columns of the images
  area,      ///< each new pixel is the mean of the area that it covers
  bilinear,  ///< each new pixel lies between the four nearest ones; pixels are at the centres of their squares
};

/// The largest number of rows, and of columns, of images that are resized.
inline constexpr std::int64_t largest_resized_side = 65535;

struct image_options {
  double scale = 1.0 / 255;
  double shift = 0;
  image_resizing resizing = image_resizing::none;
  /// [n] of std::int64_t or std::int32_t: image i of y is made of image index(i), or of image i if there is no index.
  std::optional<array_ref> index = {};
};

/// y(i, c, r, k) = images(index(i), c, r, k) * scale + shift, resized first if `resizing` says so.
///
/// images: [m x channels x height x width] of std::uint8_t, and y: [n x channels x rows x columns], with any layouts
/// and strides. Without an index, n is m. The value is computed in double as fma(byte, scale, shift), and rounded once
/// to the type of y. If an index is negative or not below m, nothing is read, and its image of y becomes NaN, because a
/// kernel cannot throw. y may overlap neither the images nor the index. Asynchronous. Throws argument_error,
/// shape_error and alias_error.
void convert_images(instance_ref space, const array_ref& images, const array_ref& y, const image_options& options = {});
template <class Space, class Images, class Y>
void convert_images(const Space& space, const Images& images, const Y& y, const image_options& options = {}) {
  PRUMO_ASSERT_ARRAYS("prumo::convert_images", Space, Images, Y);
  static_assert(detail::have_rank<4, Images, Y> && detail::is_writable<Y>(),
                "prumo::convert_images: images and y have rank 4, and y is not const");
  static_assert(detail::is_array_ref<Images> || pixel_scalar<detail::element_of_t<Images>>,
                "prumo::convert_images: images have elements of std::uint8_t");
  convert_images(instance_ref(space), array_ref(images), array_ref(y), options);
}

}  // namespace prumo
