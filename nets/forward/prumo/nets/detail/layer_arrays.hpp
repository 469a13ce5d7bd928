// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layers and their arrays as operations take them.

#include <prumo/array_ref.hpp>
#include <prumo/convolution.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/nets/description.hpp>
#include <prumo/pooling.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <variant>

namespace prumo::nets::layer_arrays {

/// Elements, rounded up so that what follows begins at a multiple of 128 bytes, in every type.
constexpr std::int64_t aligned(std::int64_t elements) {
  constexpr std::int64_t aligned_elements = 64;
  return prumo::detail::round_up(elements, aligned_elements);
}

inline activation_function function_of(activation which) {
  switch (which) {
    case activation::none: break;
    case activation::relu: return activation_function::relu;
    case activation::sigmoid: return activation_function::sigmoid;
    case activation::tanh: return activation_function::tanh;
  }
  return activation_function::none;
}

inline pooling_window window_of(const pooling& it) {
  return {it.window.height,
          it.window.width,
          it.stride.height,
          it.stride.width,
          it.padding.height,
          it.padding.width,
          it.round == rounding::up ? window_rounding::up : window_rounding::down};
}

/// A row-major array that begins at an element of an array without gaps.
inline array_ref array_at(const array_ref& memory, std::int64_t offset, std::span<const std::int64_t> extents) {
  auto* const begin =
      static_cast<std::byte*>(memory.data) + offset * static_cast<std::int64_t>(dtype_size(memory.type));
  array_ref result;
  result.data = begin;
  result.type = memory.type;
  result.memory = memory.memory;
  result.read_only = memory.read_only;
  result.rank = static_cast<int>(extents.size());
  std::int64_t stride = 1;
  for (int axis = result.rank; axis-- > 0;) {
    result.extents[axis] = extents[static_cast<std::size_t>(axis)];
    result.strides[axis] = stride;
    stride *= result.extents[axis];
  }
  return result;
}
inline array_ref array_at(const array_ref& memory, std::int64_t offset, std::initializer_list<std::int64_t> extents) {
  return array_at(memory, offset, std::span(extents.begin(), extents.size()));
}

/// The channels of images as images of one channel.
inline array_ref channels_as_images(const array_ref& images) {
  const std::int64_t plane = images.extents[2] * images.extents[3];
  array_ref result = images;
  result.extents[0] = images.extents[0] * images.extents[1];
  result.extents[1] = 1;
  result.strides[0] = result.strides[1] = plane;
  return result;
}

/// A matrix as the filter of one channel.
inline array_ref as_filter(const array_ref& matrix) {
  return {matrix.data, matrix.type, {1, 1, matrix.extents[0], matrix.extents[1]}, {}, matrix.memory};
}

/// Whether a layer makes a row of numbers of each image.
inline bool is_flat(const layer& which) {
  return std::holds_alternative<dense>(which) || std::holds_alternative<softmax>(which);
}

/// The results of a layer for some images, at an element of an array without gaps.
inline array_ref results_at(const array_ref& memory, std::int64_t offset, const layer& which, const image_shape& shape,
                            std::int64_t images) {
  if (is_flat(which)) return array_at(memory, offset, {images, shape.channels});
  return array_at(memory, offset, {images, shape.channels, shape.height, shape.width});
}

}  // namespace prumo::nets::layer_arrays
