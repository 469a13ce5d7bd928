// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies of rows of images to the scratch memory of a team, where rows are as long as a kernel likes.

#include "scratch_copies.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The same rows of some channels of some images, and where they go. Distances are in elements.
struct copied_rows {
  std::int64_t image_stride;
  std::int64_t channel_stride;
  std::int64_t row_stride;
  std::int64_t column_stride;
  int images;
  int channels;
  int rows;       ///< that are copied
  int first_row;  ///< of the images; rows outside of them are zero
  int height;     ///< of an image
  int width;
  int image_pitch;  ///< from an image to the next, where they go
  int plane_pitch;
  int row_pitch;
};

/// Calls visit(pointer), where the pointer has the elements' type. The compute type of `type` is C.
template <class C, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void with_elements_of(dtype type, const C* data, const Visitor& visit) {
  if constexpr (std::is_same_v<C, double>) {
    visit(data);
  } else {
    switch (type) {
      case dtype::f16: return visit(reinterpret_cast<const f16*>(data));
      case dtype::bf16: return visit(reinterpret_cast<const bf16*>(data));
      default: return visit(data);
    }
  }
}

/// Whether packs of so many elements begin at `data`, and at these distances from it.
template <class C, class Distances>
bool has_packs(const C* data, std::int64_t element_bytes, std::int64_t elements, const Distances& distances) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(elements * element_bytes) == 0 &&
         std::ranges::all_of(distances, [&](std::int64_t distance) { return distance % elements == 0; });
}

/// The most neighbours in rows of an array that can be copied at once, to `padding` elements behind an aligned place:
/// those of 16 bytes of the compute type C, two, or one.
/// \param array its pointer has the address of elements of `element_bytes` bytes
/// \param images, channels, rows, columns its extents
template <class C, class Array>
int most_row_pack(const Array& array, std::int64_t element_bytes, std::int64_t images, std::int64_t channels,
                  std::int64_t rows, std::int64_t columns, std::int64_t padding) {
  // copy_rows() has offsets of 32 bits in a plane then.
  const bool is_near = rows == 0 || std::abs(array.row_stride) <= std::numeric_limits<int>::max() / 2 / rows;
  if (array.column_stride != 1 || !is_near) return 1;
  const std::int64_t distances[] = {images > 1 ? array.image_stride : 0, channels > 1 ? array.channel_stride : 0,
                                    rows > 1 ? array.row_stride : 0, columns, padding};
  for (const std::int64_t pack : {std::int64_t{prumo::detail::device_pack_elements<C>}, std::int64_t{2}}) {
    if (has_packs(array.data, element_bytes, pack, distances)) return static_cast<int>(pack);
  }
  return 1;
}

/// Copies the rows in packs of `Pack` neighbours. Elements are converted on the way. A thread takes packs one below the
/// other, so that it has little to compute between two copies.
/// \param from the first element of row 0 of the first channel
template <int Pack, class T, class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows(const T* from, const copied_rows& what, C* to, int thread, int threads) {
  // Inside a plane, unless its elements are far from each other.
  using offset = std::conditional_t<Pack == 1, std::int64_t, int>;
  const int packs = what.width / Pack;
  if (what.rows <= 0 || what.channels <= 0 || what.images <= 0 || packs == 0) return;
  const int lanes = packs < threads ? packs : threads, rows_at_once = threads / lanes;
  const int lane_row = thread / lanes;
  if (lane_row >= rows_at_once) return;
  const auto row_stride = static_cast<offset>(what.row_stride);
  const bool has_all_rows = what.first_row >= 0 && what.first_row + what.rows <= what.height;
  PRUMO_KEEP_LOOP
  for (int pack = thread - lane_row * lanes; pack < packs; pack += lanes) {
    const auto column = pack * static_cast<offset>(Pack == 1 ? what.column_stride : Pack);
    const T* plane = from + what.first_row * row_stride + column;
    C* target = to + pack * Pack;
    int row = lane_row, channel = 0, image = 0;
    PRUMO_KEEP_LOOP
    while (true) {
      const T* source = plane + row * row_stride;
      C* place = target + row * what.row_pitch;
      PRUMO_KEEP_LOOP
      for (; row < what.rows; row += rows_at_once) {
        const bool is_there = has_all_rows || (what.first_row + row >= 0 && what.first_row + row < what.height);
        if constexpr (Pack == 1) {
          copy_element_to_scratch<C>(is_there ? source : from, is_there, place);
        } else if (is_there) {
          copy_pack_to_scratch<C, Pack>(source, place);
        } else {
          *reinterpret_cast<prumo::detail::device_pack<C, Pack>*>(place) = {};
        }
        source += rows_at_once * row_stride;
        place += rows_at_once * what.row_pitch;
      }
      row -= what.rows;
      plane += what.channel_stride;
      target += what.plane_pitch;
      if (++channel == what.channels) {
        channel = 0;
        if (++image == what.images) break;
        plane += what.image_stride - what.channels * what.channel_stride;
        target += what.image_pitch - what.channels * what.plane_pitch;
      }
    }
  }
}

/// Copies rows of elements of `type`, `pack` at once, as most_row_pack() tells. `offset` is that of the first element.
template <class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows_of(dtype type, const C* data, std::int64_t offset, int pack,
                                              const copied_rows& what, C* to, int thread, int threads) {
  constexpr int most = prumo::detail::device_pack_elements<C>;
  with_elements_of(type, data, [&](const auto* elements) {
    if (pack == most) {
      copy_rows<most>(elements + offset, what, to, thread, threads);
    } else if (most > 2 && pack == 2) {
      copy_rows<2>(elements + offset, what, to, thread, threads);
    } else {
      copy_rows<1>(elements + offset, what, to, thread, threads);
    }
  });
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
