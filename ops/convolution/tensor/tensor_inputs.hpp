// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units copies into its scratch memory: weights in the order in which a warp
/// takes them, and images.
///
/// Images arrive in a stage, from where they are copied several times. The stage is free then for the next item.

#include "convolution_problem.hpp"
#include "scratch_copies.hpp"
#include "tensor_lines.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16 or float.
template <class T>
class tensor_inputs {
 protected:
  using word = std::uint32_t;
  using index_divider = prumo::detail::index_divider;
  using form = tensor_form<T>;
  static constexpr int lanes = prumo::detail::exchange_threads;
  static constexpr int threads = tensor_layout::threads;

  tensor_inputs(const convolution_problem<T>& problem, const tensor_layout& layout)
      : problem_(problem),
        layout_(layout),
        by_staged_pitch_(layout.staged_pitch),
        by_plane_rows_(layout.plane_rows),
        by_inputs_(static_cast<int>(problem.in_channels)),
        by_chunks_(layout.row_chunks()) {}

  struct scratch {
    word* weights;  ///< [tile of 16 rows][run][step][lane][4]
    word* stage;
    word* copies;
    word* results;
    int* lines;   ///< where the lines of a run begin, in bytes from the place of the filter
    float* bias;  ///< of each row of weights
    int* is_unusual;
  };

  /// Images and rows of an item.
  struct item_place {
    std::int64_t first_image;
    int images;
    int first_row;  ///< of y before pooling
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION scratch scratch_of(const Member& member) const {
    word* const weights = static_cast<word*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(layout_.template scratch_words<T>()) * sizeof(word) + 16, 16));
    word* const stage = weights + layout_.weights_words();
    word* const copies = stage + layout_.staged_words;
    word* const results = copies + form::copies * layout_.copy_words;
    word* const lines = results + layout_.result_words;
    word* const bias = lines + layout_.lines_words();
    return {weights,
            stage,
            copies,
            results,
            reinterpret_cast<int*>(lines),
            reinterpret_cast<float*>(bias),
            reinterpret_cast<int*>(bias + layout_.bias_words())};
  }

  /// \param image the first one of the item, or its band, if images have several
  KOKKOS_FORCEINLINE_FUNCTION item_place place_of(std::int64_t image, int images) const {
    const std::int64_t first_image = layout_.bands == 1 ? image : image / layout_.bands;
    return {first_image, images, static_cast<int>(image - first_image * layout_.bands) * layout_.band_rows()};
  }

  /// The rows of the input from a unit of rows to the next.
  KOKKOS_FORCEINLINE_FUNCTION int unit_distance() const {
    return layout_.stacked_rows * static_cast<int>(problem_.row_stride);
  }

  /// The output channel and the stacked row of a row of weights.
  struct weight_row {
    int channel;
    int stacked;
  };

  /// Rows 8 apart are stacked neighbours, because a thread has both.
  KOKKOS_FORCEINLINE_FUNCTION weight_row row_at(int unit_row) const {
    if (layout_.stacked_rows == 1) return {unit_row, 0};
    const int rows = tensor_layout::unit_rows / layout_.stacked_rows, of_half = unit_row % 8;
    return {of_half % rows, of_half / rows * 2 + unit_row / 8};
  }

  /// The weight of a row of the left operand: a channel of y and a stacked row.
  KOKKOS_FORCEINLINE_FUNCTION word weight_bits(int unit_row, const tensor_line& line, int step, int tap) const {
    const weight_row of_unit = row_at(unit_row);
    const int p = line.row + step * unit_distance() - of_unit.stacked * static_cast<int>(problem_.row_stride);
    const int q = line.segment * form::line_taps + tap;
    const bool is_there = line.is_there && of_unit.channel < problem_.out_channels && p >= 0 &&
                          p < problem_.filter_rows && q < problem_.filter_columns;
    if (!is_there) return 0;
    const T weight =
        problem_.w.plane(of_unit.channel, line.input)[p * problem_.w.row_stride + q * problem_.w.column_stride];
    if constexpr (std::is_same_v<T, float>) {
      return Kokkos::bit_cast<word>(weight);
    } else {
      return weight.bits;
    }
  }

  /// Also the bias, and where lines begin. The columns of a matrix unit's operand may come in any order, if those of
  /// the other one come in the same: a thread has those of one line.
  KOKKOS_FORCEINLINE_FUNCTION void copy_weights(const scratch& memory, int part, int thread) const {
    const int first_row = part * layout_.part_tiles * tensor_layout::unit_rows;
    const int inputs = static_cast<int>(problem_.in_channels);
    PRUMO_KEEP_LOOP
    for (int at = thread; at < layout_.part_tiles * layout_.steps() * 128; at += threads) {
      const int which = at % 4, lane = at / 4 % lanes, tile = at / (4 * lanes);
      const int tile_of_part = tile / layout_.steps(), of_tile = tile - tile_of_part * layout_.steps();
      const int run = of_tile / layout_.run_steps, step = of_tile - run * layout_.run_steps;
      const int row = first_row + tile_of_part * tensor_layout::unit_rows + lane / 4 + which % 2 * 8;
      const auto line = tensor_line::of(layout_, inputs, unit_distance(), run, lane % 4);
      const int tap = which / 2 * form::elements_of_word;
      word weights = weight_bits(row, line, step, tap);
      if constexpr (form::elements_of_word == 2) weights |= weight_bits(row, line, step, tap + 1) << 16;
      memory.weights[at] = weights;
    }
    PRUMO_KEEP_LOOP
    for (int at = thread; at < layout_.lines_words(); at += threads) {
      const int run = at / tensor_layout::lines_of_step, which = at % tensor_layout::lines_of_step;
      memory.lines[at] =
          line_element(tensor_line::of(layout_, inputs, unit_distance(), run, which)) * static_cast<int>(sizeof(T));
    }
    for (int at = thread; at < layout_.bias_words(); at += threads) {
      const int channel = row_at(first_row + at).channel;
      const bool is_there = problem_.bias != nullptr && channel < problem_.out_channels;
      memory.bias[at] = is_there ? static_cast<float>(problem_.bias[channel * problem_.bias_stride]) : 0.0f;
    }
  }

  /// The elements from a place to a line.
  KOKKOS_FORCEINLINE_FUNCTION int line_element(const tensor_line& line) const {
    if (!line.is_there) return 0;
    return line.input * layout_.plane_elements + line.row * layout_.pitch + line.segment * form::line_taps;
  }

  /// Begins to bring an item's images into the stage.
  KOKKOS_FORCEINLINE_FUNCTION void stage_images(const scratch& memory, const item_place& place, int thread) const {
    T* const to = reinterpret_cast<T*>(memory.stage);
    if (layout_.has_whole_images()) {
      switch (layout_.pack_bytes) {
        case 16: return stage_whole_images<16>(place, to, thread);
        case 8: return stage_whole_images<8>(place, to, thread);
        default: return stage_whole_images<4>(place, to, thread);
      }
    }
    const int pitch = layout_.staged_pitch;
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
  KOKKOS_FORCEINLINE_FUNCTION void stage_whole_images(const item_place& place, T* to, int thread) const {
    constexpr int pack = Bytes / static_cast<int>(sizeof(T));
    const int elements = static_cast<int>(problem_.in_channels) * layout_.plane_rows * static_cast<int>(problem_.width);
    for (int image = 0; image < place.images; ++image) {
      const T* const from = problem_.x.data + (place.first_image + image) * problem_.x.image_stride;
      for (int at = thread * pack; at < elements; at += threads * pack) {
        copy_pack_to_scratch<T, pack>(from + at, to + at);
      }
      to += elements;
    }
  }

  /// Reads the elements of a word of an item's images, with zeros beside the images.
  KOKKOS_FORCEINLINE_FUNCTION void read_word(const item_place& place, int at, int pitch,
                                             T (&elements)[form::elements_of_word]) const {
    const int line = by_staged_pitch_.quotient(at), plane = by_plane_rows_.quotient(line),
              image = by_inputs_.quotient(plane);
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

  /// Makes the copies of the images in the stage, and looks whether all elements are finite.
  KOKKOS_FORCEINLINE_FUNCTION void copy_images(const scratch& memory, int images, int thread) const {
    // The exponent of an element that is not finite has ones alone. Adding a one carries into the sign's place.
    constexpr bool is_f32 = std::is_same_v<T, float>;
    constexpr word exponents = is_f32 ? 0x7f800000u : std::is_same_v<T, f16> ? 0x7c007c00u : 0x7f807f80u;
    constexpr word ones = is_f32 ? 0x00800000u : std::is_same_v<T, f16> ? 0x04000400u : 0x00800080u;
    // With the first element of the last copy's next chunk. Behind the last row they may be those of an earlier item.
    constexpr int needed = 4 + (form::copies - 1 + form::elements_of_word - 1) / form::elements_of_word;
    const int chunks_of_row = layout_.row_chunks();
    const int chunks = images * static_cast<int>(problem_.in_channels) * layout_.plane_rows * chunks_of_row;
    word carries = 0;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < chunks; at += threads) {
      const int row = by_chunks_.quotient(at), of_row = at - row * chunks_of_row;
      const word* const from = memory.stage + row * layout_.staged_pitch + of_row * 4;
      word here[needed];
      PRUMO_UNROLL
      for (int i = 0; i < needed; ++i) here[i] = from[i];
      const int plane = by_plane_rows_.quotient(row);
      const int element = plane * layout_.plane_elements + (row - plane * layout_.plane_rows) * layout_.pitch;
      scratch_place to = scratch_place(memory.copies) + element * static_cast<int>(sizeof(T)) + of_row * 16;
      PRUMO_UNROLL
      for (int copy = 0; copy < form::copies; ++copy) {
        word shifted[4];
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) {
          if constexpr (is_f32) {
            shifted[i] = here[i + copy];
          } else {
            const int first = i + copy / 2;
            shifted[i] = copy % 2 == 0 ? here[first] : (here[first] >> 16) | (here[first + 1] << 16);
          }
        }
        to.store(shifted);
        to = to + layout_.copy_words * 4;
      }
      PRUMO_UNROLL
      for (int i = 0; i < needed; ++i) carries |= (here[i] & exponents) + ones;
    }
    if ((carries & (is_f32 ? 0x80000000u : 0x80008000u)) != 0) *memory.is_unusual = 1;
  }

  convolution_problem<T> problem_;
  tensor_layout layout_;

 private:
  index_divider by_staged_pitch_;
  index_divider by_plane_rows_;
  index_divider by_inputs_;
  index_divider by_chunks_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
