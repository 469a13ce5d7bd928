// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/math.hpp>

#include <cstdint>
#include <string>

namespace mine {

/// Images: batch, channels, height, width.
template <class T>
struct images {
  T* data;
  std::int64_t extents[4];
  std::int64_t strides[4];

  explicit images(const prumo::array_ref& array) : data(array.as<T>()) {
    for (int dimension = 0; dimension < 4; ++dimension) {
      extents[dimension] = array.extents[dimension];
      strides[dimension] = array.strides[dimension];
    }
  }
  KOKKOS_FUNCTION T* at(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t column) const {
    return data + image * strides[0] + channel * strides[1] + row * strides[2] + column * strides[3];
  }
};

/// The entry of y at every place, in any order of them.
template <class T>
struct window_maximum_kernel {
  images<const T> x;
  images<T> y;
  std::int64_t window, step;

  std::int64_t blocks() const { return y.extents[0] * y.extents[1] * y.extents[2] * y.extents[3]; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t column = index % y.extents[3], row = index / y.extents[3] % y.extents[2];
    const std::int64_t image_and_channel = index / y.extents[3] / y.extents[2];
    const std::int64_t channel = image_and_channel % y.extents[1], image = image_and_channel / y.extents[1];
    T largest = *x.at(image, channel, row * step, column * step);
    for (std::int64_t i = 0; i < window; ++i) {
      for (std::int64_t j = 0; j < window; ++j) {
        largest = prumo::maximum(largest, *x.at(image, channel, row * step + i, column * step + j));
      }
    }
    *y.at(image, channel, row, column) = largest;
  }
};

/// The number of windows along an axis.
inline std::int64_t windows_in(std::int64_t extent, std::int64_t window, std::int64_t step) {
  return extent < window || step < 1 ? 0 : (extent - window) / step + 1;
}

/// Why windows do not fit images of that height and width, or an empty string.
std::string why_no_windows(std::int64_t height, std::int64_t width, std::int64_t window, std::int64_t step);

/// y(b, c, i, j) = the maximum of x(b, c, step i ... step i + window - 1, step j ... step j + window - 1). Throws
/// argument_error where no window fits, shape_error where y has other extents than there are windows, unsupported_error
/// for other types than float and double. Views convert to array_ref.
void window_maximum(prumo::instance_ref space, std::int64_t window, std::int64_t step, const prumo::array_ref& x,
                    const prumo::array_ref& y);

}  // namespace mine
