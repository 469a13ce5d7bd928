// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A pixel of a resized image, in integers: the rule of `prumo data resize`, without its tables. Sides are at most
/// 65535, so places along an axis fit 32 bits, and sums fit 64.

#include <prumo/images.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace prumo::detail {

/// How one new pixel takes old ones along an axis: it takes `count` of them from `first` on.
struct pixel_shares {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t begin = 0;  ///< area: where the new pixel begins; bilinear: the weight of the second old pixel
  std::uint32_t from = 1;   ///< pixels of the old axis
  std::uint32_t to = 1;     ///< pixels of the new axis

  /// In units in which an old pixel is `to` long, a new one is `from` long.
  static KOKKOS_FUNCTION pixel_shares of_area(std::uint32_t which, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t begin = which * from;
    const std::uint32_t first = begin / to;
    const auto last = static_cast<std::uint32_t>((std::uint64_t{begin} + from - 1) / to);
    return {first, last - first + 1, begin, from, to};
  }

  /// The centre of a new pixel is at (2 i + 1) from / (2 to) - 1/2, in old pixels; pixels at the edge are repeated.
  static KOKKOS_FUNCTION pixel_shares of_bilinear(std::uint32_t which, std::uint32_t from, std::uint32_t to) {
    const std::int64_t centre = (2 * std::int64_t{which} + 1) * from - to, unit = 2 * std::int64_t{to};
    const std::int64_t last = (std::int64_t{from} - 1) * unit;
    const std::int64_t inside = centre < 0 ? 0 : centre > last ? last : centre;
    const auto rest = static_cast<std::uint32_t>(inside % unit);
    return {static_cast<std::uint32_t>(inside / unit), rest > 0 ? 2u : 1u, rest, from, to};
  }

  template <image_resizing How>
  static KOKKOS_FUNCTION pixel_shares of(std::uint32_t which, std::uint32_t from, std::uint32_t to) {
    return How == image_resizing::area ? of_area(which, from, to) : of_bilinear(which, from, to);
  }

  /// The weight of old pixel first + i. All weights sum up to total().
  template <image_resizing How>
  KOKKOS_FUNCTION std::uint32_t weight(std::uint32_t i) const {
    if constexpr (How == image_resizing::area) {
      const std::uint64_t old_begin = std::uint64_t{first + i} * to, old_end = old_begin + to;
      const std::uint64_t end = std::uint64_t{begin} + from;
      return static_cast<std::uint32_t>((end < old_end ? end : old_end) - (begin > old_begin ? begin : old_begin));
    } else {
      return i == 0 ? 2 * to - begin : begin;
    }
  }
  template <image_resizing How>
  KOKKOS_FUNCTION std::uint64_t total() const {
    return How == image_resizing::area ? from : 2 * std::uint64_t{to};
  }
};

/// The byte of a new pixel, from the plane of an old image.
template <image_resizing How>
KOKKOS_FUNCTION std::uint32_t resized_pixel(const std::uint8_t* plane, std::int64_t row_stride,
                                            std::int64_t column_stride, const pixel_shares& rows,
                                            const pixel_shares& columns) {
  const std::uint64_t total = rows.total<How>() * columns.total<How>();
  std::uint64_t sum = total / 2;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const std::uint8_t* const line = plane + (rows.first + i) * row_stride;
    std::uint64_t along = 0;
    for (std::uint32_t k = 0; k < columns.count; ++k) {
      along += std::uint64_t{line[(columns.first + k) * column_stride]} * columns.weight<How>(k);
    }
    sum += along * rows.weight<How>(i);
  }
  // A division of 32 bits takes a GPU a fraction of the time.
  if ((sum | total) <= 0xffffffffu) return static_cast<std::uint32_t>(sum) / static_cast<std::uint32_t>(total);
  return static_cast<std::uint32_t>(sum / total);
}

}  // namespace prumo::detail
