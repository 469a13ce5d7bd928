// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units copies into its scratch memory: weights in the order in which a warp
/// takes them, and images.
///
/// Images arrive in a stage, from where they are copied several times. The stage is free then for the next item.

#include "convolution_problem.hpp"
#include "staged_images.hpp"
#include "tensor_elements.hpp"
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
        staged_(problem, layout.staged_pitch, layout.plane_rows),
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
    return bits_of_element(
        problem_.w.plane(of_unit.channel, line.input)[p * problem_.w.row_stride + q * problem_.w.column_stride]);
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
  KOKKOS_FORCEINLINE_FUNCTION void stage_images(const scratch& memory, const tensor_item& item, int thread) const {
    staged_.template bring<threads>(problem_, item, layout_.pack_bytes, layout_.staged_pitch, layout_.plane_rows,
                                    reinterpret_cast<T*>(memory.stage), thread);
  }

  /// Makes the copies of the images in the stage, and looks whether all elements are finite.
  KOKKOS_FORCEINLINE_FUNCTION void copy_images(const scratch& memory, int images, int thread) const {
    // With the first element of the last copy's next chunk. Behind the last row they may be those of an earlier item.
    constexpr int needed = 4 + (form::copies - 1 + form::elements_of_word - 1) / form::elements_of_word;
    const int chunks_of_row = layout_.row_chunks();
    const int chunks = images * static_cast<int>(problem_.in_channels) * layout_.plane_rows * chunks_of_row;
    unusual_elements<T> unusual;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < chunks; at += threads) {
      const int row = by_chunks_.quotient(at), of_row = at - row * chunks_of_row;
      const word* const from = memory.stage + row * layout_.staged_pitch + of_row * 4;
      word here[needed];
      PRUMO_UNROLL
      for (int i = 0; i < needed; ++i) here[i] = from[i];
      const int plane = staged_.plane_of(row);
      const int element = plane * layout_.plane_elements + (row - plane * layout_.plane_rows) * layout_.pitch;
      scratch_place to = scratch_place(memory.copies) + element * static_cast<int>(sizeof(T)) + of_row * 16;
      PRUMO_UNROLL
      for (int copy = 0; copy < form::copies; ++copy) {
        word shifted[4];
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) {
          if constexpr (std::is_same_v<T, float>) {
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
      for (int i = 0; i < needed; ++i) unusual.look_at(here[i]);
    }
    if (unusual.are_there()) *memory.is_unusual = 1;
  }

  convolution_problem<T> problem_;
  tensor_layout layout_;

 private:
  staged_images<T> staged_;
  index_divider by_chunks_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
