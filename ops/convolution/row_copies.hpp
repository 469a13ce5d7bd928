// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies of rows of images to the scratch memory of a team, where rows are as long as a kernel likes.

#include "scratch_copies.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
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
  int rows;
  int first_row;    ///< of the images
  int height;       ///< of an image
  int image_pitch;  ///< from an image to the next, where they go
  int plane_pitch;
  int row_pitch;
  bool clears_others;  ///< whether rows outside of the images become zero; or what is there stays

  /// Planes without gaps between them are one plane.
  KOKKOS_FORCEINLINE_FUNCTION void join_planes() {
    if (channel_stride == rows * row_stride && plane_pitch == rows * row_pitch) {
      rows *= channels;
      channels = 1;
    }
  }
};

/// Which packs of rows a thread copies: one in rows `row`, `row` + `rows_at_once` and so on. If rows have more packs
/// than a team has threads, also those `lanes` packs further.
struct row_lanes {
  int packs = 0;  ///< of a row; none: the thread copies nothing
  int lanes = 1;
  int rows_at_once = 1;
  int row = 0;
  int pack = 0;

  KOKKOS_FORCEINLINE_FUNCTION row_lanes(int width, int pack_elements, int thread, int threads) {
    const int packs_of_row = pack_elements == 4 ? width / 4 : pack_elements == 2 ? width / 2 : width;
    if (packs_of_row == 0) return;
    lanes = packs_of_row < threads ? packs_of_row : threads;
    rows_at_once = threads / lanes;
    row = thread / lanes;
    pack = thread - row * lanes;
    if (row < rows_at_once) packs = packs_of_row;
  }
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
  if (array.column_stride != 1) return 1;
  const std::int64_t distances[] = {images > 1 ? array.image_stride : 0, channels > 1 ? array.channel_stride : 0,
                                    rows > 1 ? array.row_stride : 0, columns, padding};
  for (const std::int64_t pack : {std::int64_t{prumo::detail::device_pack_elements<C>}, std::int64_t{2}}) {
    if (has_packs(array.data, element_bytes, pack, distances)) return static_cast<int>(pack);
  }
  return 1;
}

/// Calls visit(source, place) for a thread's packs of some rows, which all have the same column. What a thread copies
/// next follows by additions: it has no more to do between two copies, however few rows a channel has.
/// \param source, place the first row's
template <class T, class C, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void for_each_row(const T* source, C* place, const copied_rows& what, const row_lanes& own,
                                              const Visitor& visit) {
  const std::int64_t step = own.rows_at_once * what.row_stride;
  const std::int64_t to_next_plane = what.channel_stride - what.rows * what.row_stride;
  const int place_step = own.rows_at_once * what.row_pitch;
  const int place_to_next_plane = what.plane_pitch - what.rows * what.row_pitch;
  source += own.row * what.row_stride;
  place += own.row * what.row_pitch;
  int row = own.row, channel = 0, image = 0;
  PRUMO_KEEP_LOOP
  while (true) {
    PRUMO_KEEP_LOOP
    while (row >= what.rows) {
      row -= what.rows;
      source += to_next_plane;
      place += place_to_next_plane;
      if (++channel < what.channels) continue;
      channel = 0;
      if (++image == what.images) return;
      source += what.image_stride - what.channels * what.channel_stride;
      place += what.image_pitch - what.channels * what.plane_pitch;
    }
    visit(source, place);
    row += own.rows_at_once;
    source += step;
    place += place_step;
  }
}

/// Copies rows, all of which lie in the images, in packs of `Pack` neighbours. Elements are converted on the way.
/// \param from the first element of the first row
template <int Pack, class T, class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows(const T* from, const copied_rows& what, C* to, const row_lanes& own) {
  PRUMO_KEEP_LOOP
  for (int pack = own.pack; pack < own.packs; pack += own.lanes) {
    const T* const source = from + pack * (Pack == 1 ? what.column_stride : Pack);
    for_each_row(source, to + pack * Pack, what, own, [](const T* each, C* place) {
      if constexpr (Pack == 1) {
        copy_element_to_scratch<C>(each, true, place);
      } else {
        copy_pack_to_scratch<C, Pack>(each, place);
      }
    });
  }
}

/// Sets rows to zero.
template <int Pack, class C>
KOKKOS_FORCEINLINE_FUNCTION void clear_rows(const copied_rows& what, C* to, const row_lanes& own) {
  using pack_type = prumo::detail::device_pack<C, Pack>;
  if (what.rows <= 0) return;
  PRUMO_KEEP_LOOP
  for (int pack = own.pack; pack < own.packs; pack += own.lanes) {
    for_each_row(to, to + pack * Pack, what, own,
                 [](const C*, C* place) { *reinterpret_cast<pack_type*>(place) = pack_type{}; });
  }
}

/// Calls visit(std::integral_constant<int, pack>), for a pack that most_row_pack() tells.
template <class C, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void with_row_pack(int pack, const Visitor& visit) {
  constexpr int most = prumo::detail::device_pack_elements<C>;
  if (pack == most) {
    visit(std::integral_constant<int, most>{});
  } else if (most > 2 && pack == 2) {
    visit(std::integral_constant<int, 2>{});
  } else {
    visit(std::integral_constant<int, 1>{});
  }
}

/// Copies the rows of elements of `type` that lie in the images, `pack` elements at once, as most_row_pack() tells.
/// \param offset that of row 0 of the first channel
template <class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows_of(dtype type, const C* data, std::int64_t offset, int pack,
                                              copied_rows what, C* to, const row_lanes& own) {
  if (what.channels <= 0 || what.images <= 0) return;
  const int above = what.first_row < 0 ? -what.first_row : 0, below = what.height - what.first_row;
  const int first = above < what.rows ? above : what.rows, end = below < what.rows ? below : what.rows;
  if (what.clears_others && (first > 0 || end < what.rows)) {
    copied_rows others = what;
    with_row_pack<C>(pack, [&]<int Pack>(std::integral_constant<int, Pack>) {
      others.rows = first;
      clear_rows<Pack>(others, to, own);
      const int begin = end > first ? end : first;
      others.rows = what.rows - begin;
      clear_rows<Pack>(others, to + begin * what.row_pitch, own);
    });
  }
  if (first >= end) return;
  to += first * what.row_pitch;
  offset += (what.first_row + first) * what.row_stride;
  what.rows = end - first;
  what.join_planes();
  with_elements_of(type, data, [&](const auto* elements) {
    with_row_pack<C>(
        pack, [&]<int Pack>(std::integral_constant<int, Pack>) { copy_rows<Pack>(elements + offset, what, to, own); });
  });
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
