// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units copies into its scratch memory: weights in the order in which a warp
/// takes them, and images.

#include "convolution_problem.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16 or float.
template <class T>
class banded_tensor_inputs {
 protected:
  using word = std::uint32_t;
  using index_divider = prumo::detail::index_divider;
  using form = banded_tensor_form<T>;
  static constexpr int lanes = prumo::detail::exchange_threads;
  static constexpr int threads = banded_tensor_layout::threads;

  banded_tensor_inputs(const convolution_problem<T>& problem, const banded_tensor_layout& layout)
      : problem_(problem),
        layout_(layout),
        by_channels_(static_cast<int>(problem.out_channels)),
        by_pitch_(layout.pitch / form::elements_of_word),
        by_plane_rows_(layout.plane_rows),
        by_inputs_(static_cast<int>(problem.in_channels)) {}

  struct scratch {
    word* weights;  ///< [tile of 16 rows][step][lane][4]
    int* lines;     ///< where the halves of a step's taps begin, in words from the place of the filter
    word* images;
    float* bias;
    int* is_unusual;
  };

  /// Images and rows of an item.
  struct item_place {
    std::int64_t first_image;
    int images;
    int first_row;
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION scratch scratch_of(const Member& member) const {
    word* const memory = static_cast<word*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(layout_.scratch_words()) * sizeof(word) + 16, 16));
    word* const lines = memory + layout_.weights_words();
    word* const images = lines + layout_.lines_words();
    word* const bias = images + layout_.images_words();
    return {memory, reinterpret_cast<int*>(lines), images, reinterpret_cast<float*>(bias),
            reinterpret_cast<int*>(bias + layout_.bias_words())};
  }

  /// \param image the first one of the item, or its band, if images have several
  KOKKOS_FORCEINLINE_FUNCTION item_place place_of(std::int64_t image, int images) const {
    const std::int64_t first_image = layout_.bands == 1 ? image : image / layout_.bands;
    return {first_image, images, static_cast<int>(image - first_image * layout_.bands) * layout_.band_rows()};
  }

  /// The weight of a row of the left operand: a channel of y and a stacked row.
  KOKKOS_FORCEINLINE_FUNCTION word weight_bits(int unit_row, int line, int tap) const {
    const int channels = static_cast<int>(problem_.out_channels);
    const int stacked = unit_row / channels, channel = unit_row - stacked * channels;
    const int segment = line % layout_.segments, rest = line / layout_.segments;
    const int input = rest / layout_.filter_lines;
    const int p = rest - input * layout_.filter_lines - stacked * static_cast<int>(problem_.row_stride);
    const int q = segment * banded_tensor_layout::line_taps + tap;
    const bool is_there = stacked < layout_.stacked_rows && input < problem_.in_channels && p >= 0 &&
                          p < problem_.filter_rows && q < problem_.filter_columns;
    if (!is_there) return 0;
    const T weight = problem_.w.plane(channel, input)[p * problem_.w.row_stride + q * problem_.w.column_stride];
    if constexpr (std::is_same_v<T, float>) {
      return Kokkos::bit_cast<word>(weight);
    } else {
      return weight.bits;
    }
  }

  /// Also the places of the lines, and the bias.
  KOKKOS_FORCEINLINE_FUNCTION void copy_weights(const scratch& memory, int part, int thread) const {
    const int first_row = part * layout_.part_blocks * banded_tensor_layout::unit_rows;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < layout_.weights_words(); at += threads) {
      const int which = at % 4, lane = at / 4 % lanes, tile = at / (4 * lanes);
      const int block = tile / layout_.steps, step = tile - block * layout_.steps;
      const int row = first_row + block * banded_tensor_layout::unit_rows + lane / 4 + which % 2 * 8;
      if constexpr (form::elements_of_word == 2) {
        const int line = 2 * step + which / 2, tap = lane % 4 * 2;
        memory.weights[at] = weight_bits(row, line, tap) | (weight_bits(row, line, tap + 1) << 16);
      } else {
        memory.weights[at] = weight_bits(row, step, lane % 4 + which / 2 * 4);
      }
    }
    PRUMO_KEEP_LOOP
    for (int at = thread; at < 2 * layout_.steps; at += threads) {
      const int line = at * form::lines_of_step / 2;
      const int segment = line % layout_.segments, rest = line / layout_.segments;
      const int input = rest / layout_.filter_lines, row = rest - input * layout_.filter_lines;
      const int place =
          input * layout_.plane_elements + row * layout_.pitch + segment * banded_tensor_layout::line_taps;
      const int half = form::lines_of_step == 1 ? at % 2 * banded_tensor_layout::line_taps / 2 : 0;
      memory.lines[at] = input < problem_.in_channels ? place / form::elements_of_word + half : 0;
    }
    for (int at = thread; at < layout_.bias_words(); at += threads) {
      const int row = first_row + at;
      const int channel = row - by_channels_.quotient(row) * static_cast<int>(problem_.out_channels);
      memory.bias[at] =
          problem_.bias == nullptr ? 0.0f : static_cast<float>(problem_.bias[channel * problem_.bias_stride]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void copy_images(const scratch& memory, const item_place& place, int buffer,
                                               int thread) const {
    T* const to = reinterpret_cast<T*>(memory.images + buffer * layout_.buffer_words);
    if (layout_.has_whole_images()) {
      switch (layout_.pack_bytes) {
        case 16: return copy_whole_images<16>(place, to, thread);
        case 8: return copy_whole_images<8>(place, to, thread);
        default: return copy_whole_images<4>(place, to, thread);
      }
    }
    const int pitch = layout_.pitch / form::elements_of_word;
    const int words = place.images * static_cast<int>(problem_.in_channels) * layout_.plane_rows * pitch;
    // Several loads are under way before the first word is stored.
    constexpr int at_once = 4;
    PRUMO_KEEP_LOOP
    for (int first = thread; first < words; first += at_once * threads) {
      T elements[at_once][form::elements_of_word];
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) {
        const int at = first + which * threads;
        if (at < words) read_word(place, at, pitch, elements[which]);
      }
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) {
        const int at = first + which * threads;
        if (at >= words) break;
        PRUMO_UNROLL
        for (int i = 0; i < form::elements_of_word; ++i) to[at * form::elements_of_word + i] = elements[which][i];
      }
    }
  }

  template <int Bytes>
  KOKKOS_FORCEINLINE_FUNCTION void copy_whole_images(const item_place& place, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T));
    const int packs = layout_.image_elements / pack;
    for (int image = 0; image < place.images; ++image) {
      const T* const from = problem_.x.data + (place.first_image + image) * problem_.x.image_stride;
      for (int at = thread; at < packs; at += threads) {
        copy_pack_to_scratch<T, pack>(from + at * pack, to + image * layout_.image_elements + at * pack);
      }
    }
  }

  /// Reads the elements of a word of an item's images, with zeros beside the images.
  KOKKOS_FORCEINLINE_FUNCTION void read_word(const item_place& place, int at, int pitch,
                                             T (&elements)[form::elements_of_word]) const {
    const int line = by_pitch_.quotient(at), plane = by_plane_rows_.quotient(line), image = by_inputs_.quotient(plane);
    const int channel = plane - image * static_cast<int>(problem_.in_channels);
    const std::int64_t row =
        place.first_row * problem_.row_stride - problem_.row_padding + line - plane * layout_.plane_rows;
    const int column = (at - line * pitch) * form::elements_of_word - static_cast<int>(problem_.column_padding);
    const bool has_row = row >= 0 && row < problem_.height;
    const T* const from = problem_.x.plane(place.first_image + image, channel) + row * problem_.x.row_stride;
    PRUMO_UNROLL
    for (int i = 0; i < form::elements_of_word; ++i) {
      const bool is_there = has_row && column + i >= 0 && column + i < problem_.width;
      elements[i] = is_there ? from[(column + i) * problem_.x.column_stride] : T(0);
    }
  }

  /// Makes the second copy of the images, and looks whether all elements are finite.
  KOKKOS_FORCEINLINE_FUNCTION void copy_again(const scratch& memory, int buffer, int thread) const {
    // The exponent of an element that is not finite has ones alone. Adding a one carries into the sign's place.
    constexpr bool is_f32 = std::is_same_v<T, float>;
    constexpr word exponents = is_f32 ? 0x7f800000u : std::is_same_v<T, f16> ? 0x7c007c00u : 0x7f807f80u;
    constexpr word ones = is_f32 ? 0x00800000u : std::is_same_v<T, f16> ? 0x04000400u : 0x00800080u;
    const word* const first = memory.images + buffer * layout_.buffer_words;
    word* const second = memory.images + layout_.second_begin();
    word carries = 0;
    for (int at = thread; at < layout_.buffer_words; at += threads) {
      const word here = first[at];
      if constexpr (form::elements_of_word == 2) {
        const word next = at + 1 < layout_.buffer_words ? first[at + 1] : 0;
        second[at] = (here >> 16) | (next << 16);
      }
      carries |= (here & exponents) + ones;
    }
    if ((carries & (is_f32 ? 0x80000000u : 0x80008000u)) != 0) *memory.is_unusual = 1;
  }

  convolution_problem<T> problem_;
  banded_tensor_layout layout_;
  index_divider by_channels_;

 private:
  index_divider by_pitch_;
  index_divider by_plane_rows_;
  index_divider by_inputs_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
