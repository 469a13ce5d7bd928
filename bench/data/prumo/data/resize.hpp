// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/idx.hpp>

#include <cstdint>

namespace prumo::data {

/// How images get another size.
enum class resizing {
  area,     ///< each new pixel is the mean of the area that it covers
  bilinear  ///< each new pixel lies between the four nearest ones; pixels are at the centres of their squares
};

/// Images of another size, in integer arithmetic, so that the result is the same everywhere. Halves are rounded up.
/// \throws std::invalid_argument for a size that is not from 1 to 65535
[[nodiscard]] image_set resized(const image_set& images, std::int64_t height, std::int64_t width, resizing how);

}  // namespace prumo::data
