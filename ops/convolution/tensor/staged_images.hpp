// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images that a team of a convolution in matrix units brings to its scratch memory, as they lie in the device's memory
/// or with zeros beside them.

#include "convolution_problem.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Images and rows that a team computes at a time.
struct tensor_item {
  std::int64_t first_image;
  int images;
  int first_row;  ///< of y before pooling

  /// \param image the first one of the item, or its band, if images have several
  template <class Layout>
  KOKKOS_FORCEINLINE_FUNCTION static tensor_item at(const Layout& layout, std::int64_t image, int images) {
    const std::int64_t first_image = layout.bands == 1 ? image : image / layout.bands;
    return {first_image, images, static_cast<int>(image - first_image * layout.bands) * layout.band_rows()};
  }
};

/// T is f16, bf16 or float.
template <class T>
class staged_images {
  static constexpr int elements_of_word = 4 / static_cast<int>(sizeof(T));
  using index_divider = prumo::detail::index_divider;

 public:
  /// \param pitch from a row to the next in the scratch memory, in words
  /// \param plane_rows that are brought of a channel
  staged_images(const convolution_problem<T>& problem, int pitch, int plane_rows)
      : by_pitch_(pitch), by_plane_rows_(plane_rows), by_inputs_(static_cast<int>(problem.in_channels)) {}

  /// The channel, among those of all images, that a row belongs to.
  KOKKOS_FORCEINLINE_FUNCTION int plane_of(int row) const { return by_plane_rows_.quotient(row); }

  /// Begins to bring an item's images.
  /// \param pack_bytes what is copied at once of images that come without padding; 0 for others
  template <int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring(const convolution_problem<T>& problem, const tensor_item& item, int pack_bytes,
                                         int pitch, int plane_rows, T* to, int thread) const {
    switch (pack_bytes) {
      case 16: return bring_whole<16, Threads>(problem, item, plane_rows, to, thread);
      case 8: return bring_whole<8, Threads>(problem, item, plane_rows, to, thread);
      case 4: return bring_whole<4, Threads>(problem, item, plane_rows, to, thread);
      default: break;
    }
    const int words = item.images * static_cast<int>(problem.in_channels) * plane_rows * pitch;
    // Several loads are under way before the first word is stored.
    constexpr int at_once = 4;
    PRUMO_KEEP_LOOP
    for (int first = thread; first < words; first += at_once * Threads) {
      T elements[at_once][elements_of_word];
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) {
        const int at = first + which * Threads;
        if (at < words) read_word(problem, item, at, pitch, plane_rows, elements[which]);
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

 private:
  template <int Bytes, int Threads>
  KOKKOS_FORCEINLINE_FUNCTION void bring_whole(const convolution_problem<T>& problem, const tensor_item& item,
                                               int plane_rows, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T));
    const int elements = static_cast<int>(problem.in_channels) * plane_rows * static_cast<int>(problem.width);
    for (int image = 0; image < item.images; ++image) {
      const T* const from = problem.x.data + (item.first_image + image) * problem.x.image_stride;
      for (int at = thread * pack; at < elements; at += Threads * pack) {
        copy_pack_to_scratch<T, pack>(from + at, to + at);
      }
      to += elements;
    }
  }

  /// Reads the elements of a word of an item's images, with zeros beside the images.
  KOKKOS_FORCEINLINE_FUNCTION void read_word(const convolution_problem<T>& problem, const tensor_item& item, int at,
                                             int pitch, int plane_rows, T (&elements)[elements_of_word]) const {
    const int line = by_pitch_.quotient(at), plane = by_plane_rows_.quotient(line), image = by_inputs_.quotient(plane);
    const int channel = plane - image * static_cast<int>(problem.in_channels);
    const std::int64_t row = item.first_row * problem.row_stride - problem.row_padding + line - plane * plane_rows;
    const int column = (at - line * pitch) * elements_of_word - static_cast<int>(problem.column_padding);
    const bool has_row = row >= 0 && row < problem.height;
    const T* const from = problem.x.plane(item.first_image + image, channel) + row * problem.x.row_stride;
    PRUMO_UNROLL
    for (int i = 0; i < elements_of_word; ++i) {
      const bool is_there = has_row && column + i >= 0 && column + i < problem.width;
      elements[i] = is_there ? from[(column + i) * problem.x.column_stride] : T(0);
    }
  }

  index_divider by_pitch_;
  index_divider by_plane_rows_;
  index_divider by_inputs_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
