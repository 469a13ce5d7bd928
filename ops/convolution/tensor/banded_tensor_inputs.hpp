// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units copies into its scratch memory: weights in the order in which a warp
/// takes them, and images.

#include "convolution_problem.hpp"
#include "staged_images.hpp"
#include "tensor_elements.hpp"
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
        staged_(problem, layout.pitch / form::elements_of_word, layout.plane_rows) {}

  struct scratch {
    word* weights;  ///< [tile of 16 rows][step][lane][4]
    int* lines;     ///< where the halves of a step's taps begin, in words from the place of the filter
    word* images;
    float* bias;
    int* is_unusual;
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
    return bits_of_element(problem_.w.plane(channel, input)[p * problem_.w.row_stride + q * problem_.w.column_stride]);
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

  KOKKOS_FORCEINLINE_FUNCTION void copy_images(const scratch& memory, const tensor_item& item, int buffer,
                                               int thread) const {
    staged_.template bring<threads>(problem_, item, layout_.pack_bytes, layout_.pitch / form::elements_of_word,
                                    layout_.plane_rows,
                                    reinterpret_cast<T*>(memory.images + buffer * layout_.buffer_words), thread);
  }

  /// Makes the second copy of the images, and looks whether all elements are finite.
  KOKKOS_FORCEINLINE_FUNCTION void copy_again(const scratch& memory, int buffer, int thread) const {
    const word* const first = memory.images + buffer * layout_.buffer_words;
    word* const second = memory.images + layout_.second_begin();
    unusual_elements<T> unusual;
    for (int at = thread; at < layout_.buffer_words; at += threads) {
      const word here = first[at];
      if constexpr (form::elements_of_word == 2) {
        const word next = at + 1 < layout_.buffer_words ? first[at + 1] : 0;
        second[at] = (here >> 16) | (next << 16);
      }
      unusual.look_at(here);
    }
    if (unusual.are_there()) *memory.is_unusual = 1;
  }

  convolution_problem<T> problem_;
  banded_tensor_layout layout_;
  index_divider by_channels_;

 private:
  staged_images<T> staged_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
