// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The images that a team of the convolution in matrix units computes at a time, and how it brings them to its scratch
/// memory.

#include "convolution_problem.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a team computes at a time: some whole images, or a band of rows and columns of one image.
struct tensor_item {
  std::int64_t first_image;
  int images;
  int first_row;  ///< of y before pooling
  int first_column;

  /// \param image the first one of the item, or its band, if images have several
  KOKKOS_FORCEINLINE_FUNCTION static tensor_item at(const tensor_layout& layout, std::int64_t image, int images) {
    const int bands = layout.bands * layout.column_bands;
    if (bands == 1) return {image, images, 0, 0};
    // A division of 32 bits takes a third of the time.
    const bool is_short = image <= UINT32_MAX;
    const std::int64_t first_image =
        is_short ? static_cast<std::uint32_t>(image) / static_cast<std::uint32_t>(bands) : image / bands;
    const int of_image = static_cast<int>(image - first_image * bands), band = of_image / layout.column_bands;
    return {first_image, images, band * layout.band_rows(),
            (of_image - band * layout.column_bands) * layout.band_columns};
  }
};

/// T is f16, bf16 or float.
template <class T>
class staged_images {
  static constexpr int elements_of_word = tensor_form<T>::elements_of_word;
  using index_divider = prumo::detail::index_divider;

 public:
  explicit staged_images(const tensor_layout& layout)
      : by_chunks_(chunks_of(layout)), by_rows_(layout.plane_rows), by_channels_(layout.staged_channels) {}

  /// The channel, among those of all images, that a row belongs to.
  KOKKOS_FORCEINLINE_FUNCTION int plane_of(int row) const { return by_rows_.quotient(row); }

  /// Begins to bring the channels of a slice of an item's images.
  template <int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring(const convolution_problem<T>& problem, const tensor_layout& layout,
                                         const tensor_item& item, int slice, T* to, int thread) const {
    switch (layout.pack_bytes) {
      case 16: return bring_packs<16, Threads>(problem, layout, item, slice, to, thread);
      case 8: return bring_packs<8, Threads>(problem, layout, item, slice, to, thread);
      case 4: return bring_packs<4, Threads>(problem, layout, item, slice, to, thread);
      default: return bring_elements<Threads>(problem, layout, item, slice, to, thread);
    }
  }

  /// The row of the image that the first row of an item meets; it may lie beside the image.
  KOKKOS_FORCEINLINE_FUNCTION static int first_row_of(const convolution_problem<T>& problem, const tensor_item& item) {
    return item.first_row * static_cast<int>(problem.row_stride) - static_cast<int>(problem.row_padding);
  }

  /// The place of an item's first row in a staged plane, in elements. A plane is brought from an aligned element on, so
  /// the row may begin behind the plane's first element.
  KOKKOS_FORCEINLINE_FUNCTION static int offset_of(const convolution_problem<T>& problem, const tensor_layout& layout,
                                                   const tensor_item& item) {
    const int first = first_row_of(problem, item) * layout.staged_pitch;
    if (layout.stage == tensor_stage::images) return first;
    if (layout.stage == tensor_stage::rows) return 0;
    return first & (layout.pack_bytes / static_cast<int>(sizeof(T)) - 1);
  }

 private:
  static int chunks_of(const tensor_layout& layout) {
    const int of_chunk = layout.pack_bytes > 0 ? layout.pack_bytes / static_cast<int>(sizeof(T)) : elements_of_word;
    return layout.staged_pitch / of_chunk;
  }

  template <int Bytes, int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_packs(const convolution_problem<T>& problem, const tensor_layout& layout,
                                               const tensor_item& item, int slice, T* to, int thread) const {
    switch (layout.stage) {
      case tensor_stage::images: return bring_images<Bytes, Threads>(problem, layout, item, slice, to, thread);
      case tensor_stage::planes: return bring_planes<Bytes, Threads>(problem, layout, item, slice, to, thread);
      default: return bring_rows<Bytes, Threads>(problem, layout, item, slice, to, thread);
    }
  }

  template <int Bytes, int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_images(const convolution_problem<T>& problem, const tensor_layout& layout,
                                                const tensor_item& item, int slice, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T));
    const int first = slice * layout.staged_channels, left = static_cast<int>(problem.in_channels) - first;
    const int channels = left < layout.staged_channels ? left : layout.staged_channels;
    const int plane = static_cast<int>(problem.height * problem.width);
    const T* from = problem.x.plane(item.first_image, first);
    for (int image = 0; image < item.images; ++image) {
      PRUMO_KEEP_LOOP
      for (int at = thread * pack; at < channels * plane; at += Threads * pack) {
        copy_pack_to_scratch<T, pack>(from + at, to + at);
      }
      from += problem.x.image_stride;
      to += layout.staged_channels * plane;
    }
  }

  template <int Bytes, int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_planes(const convolution_problem<T>& problem, const tensor_layout& layout,
                                                const tensor_item& item, int slice, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T)), lanes = prumo::detail::exchange_threads;
    const int first = first_row_of(problem, item) * layout.staged_pitch & ~(pack - 1);
    const int end = static_cast<int>(problem.height * problem.width);
    const int first_channel = slice * layout.staged_channels, planes = item.images * layout.staged_channels;
    // Each warp brings planes of its own. If there are fewer planes than warps, all warps bring each plane together.
    const bool are_many = planes >= Threads / lanes;
    const int first_pack = (are_many ? thread % lanes : thread) * pack, distance = (are_many ? lanes : Threads) * pack;
    PRUMO_KEEP_LOOP
    for (int plane = are_many ? thread / lanes : 0; plane < planes; plane += are_many ? Threads / lanes : 1) {
      const int image = by_channels_.quotient(plane);
      const int channel = first_channel + plane - image * layout.staged_channels;
      const bool has_channel = channel < problem.in_channels;
      const T* const from = problem.x.plane(item.first_image + image, has_channel ? channel : 0);
      T* const to_plane = to + plane * layout.staged_plane;
      PRUMO_KEEP_LOOP
      for (int at = first_pack; at < layout.staged_plane; at += distance) {
        const int element = first + at;
        const bool is_there = has_channel && element >= 0 && element < end;
        copy_pack_or_zeros<Bytes>(from + (is_there ? element : 0), is_there, to_plane + at);
      }
    }
  }

  /// Where something staged by rows comes from.
  struct source {
    const T* row;
    int column;  ///< of the image, may lie outside
    bool has_row;
  };

  KOKKOS_FORCEINLINE_FUNCTION source find(const convolution_problem<T>& problem, const tensor_layout& layout,
                                          const tensor_item& item, int slice, int at, int elements_of_chunk) const {
    const int line = by_chunks_.quotient(at), plane = by_rows_.quotient(line), image = by_channels_.quotient(plane);
    const int channel = (slice - image) * layout.staged_channels + plane;
    const int row = first_row_of(problem, item) + line - plane * layout.plane_rows;
    const int column = item.first_column * static_cast<int>(problem.column_stride) -
                       static_cast<int>(problem.column_padding) - layout.first_cell - layout.first_staged +
                       at * elements_of_chunk - line * layout.staged_pitch;
    const bool has_row = row >= 0 && row < problem.height && channel < problem.in_channels;
    return {problem.x.plane(item.first_image + image, channel) + row * problem.x.row_stride, column, has_row};
  }

  template <int Bytes, int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_rows(const convolution_problem<T>& problem, const tensor_layout& layout,
                                              const tensor_item& item, int slice, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T));
    const int lines = item.images * layout.staged_channels * layout.plane_rows;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < lines * (layout.staged_pitch / pack); at += Threads) {
      const source from = find(problem, layout, item, slice, at, pack);
      const bool is_there = from.has_row && from.column >= 0 && from.column < problem.width;
      copy_pack_or_zeros<Bytes>(is_there ? from.row + from.column : problem.x.data, is_there, to + at * pack);
    }
  }

  template <int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_elements(const convolution_problem<T>& problem, const tensor_layout& layout,
                                                  const tensor_item& item, int slice, T* to, int thread) const {
    const int lines = item.images * layout.staged_channels * layout.plane_rows;
    const int words = lines * (layout.staged_pitch / elements_of_word);
    // Several loads are under way before the first word is stored.
    constexpr int at_once = 4;
    PRUMO_KEEP_LOOP
    for (int first = thread; first < words; first += at_once * Threads) {
      T elements[at_once][elements_of_word] = {};
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) {
        const int at = first + which * Threads;
        if (at >= words) break;
        const source from = find(problem, layout, item, slice, at, elements_of_word);
        PRUMO_UNROLL
        for (int i = 0; i < elements_of_word; ++i) {
          const int column = from.column + i;
          const bool is_there = from.has_row && column >= 0 && column < problem.width;
          elements[which][i] = is_there ? from.row[column * problem.x.column_stride] : T(0);
        }
      }
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) {
        const int at = first + which * Threads;
        if (at >= words) break;
        PRUMO_UNROLL
        for (int i = 0; i < elements_of_word; ++i) to[at * elements_of_word + i] = elements[which][i];
      }
    }
  }

  index_divider by_chunks_;
  index_divider by_rows_;
  index_divider by_channels_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
