// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of windows over images are given.

#include <prumo/pooling.hpp>

#include <cstdint>

namespace prumo::detail {

/// What is computed of each window.
enum class pooling_kind : std::uint8_t { maximum, mean };

/// Images in memory, with strides in elements.
template <class T>
struct image_array {
  T* data = nullptr;
  std::int64_t image_stride = 0;
  std::int64_t channel_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  bool operator==(const image_array&) const = default;

  KOKKOS_FUNCTION T* plane(std::int64_t image, std::int64_t channel) const {
    return data + image * image_stride + channel * channel_stride;
  }
};

template <class T>
image_array<T> image_array_of(const array_ref& array) {
  return {array.as<T>(), array.strides[0], array.strides[1], array.strides[2], array.strides[3]};
}

/// X is the type of the input, T that of the output.
template <class X, class T>
struct pooling_problem {
  image_array<const X> x;
  image_array<T> y;
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;  ///< of x
  std::int64_t width = 0;
  std::int64_t rows = 0;  ///< of y
  std::int64_t columns = 0;
  pooling_window window;
};

/// The elements of a window along one side of an image: [begin, end).
struct window_range {
  std::int64_t begin;
  std::int64_t end;

  KOKKOS_FUNCTION window_range(std::int64_t first, std::int64_t last) : begin(first), end(last) {}
  KOKKOS_FUNCTION window_range(std::int64_t place, std::int64_t stride, std::int64_t padding, std::int64_t length,
                               std::int64_t extent)
      : begin(place * stride - padding), end(begin + length) {
    if (begin < 0) begin = 0;
    if (end > extent) end = extent;
  }

  KOKKOS_FUNCTION std::int64_t length() const { return end - begin; }
};

}  // namespace prumo::detail
