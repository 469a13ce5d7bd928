// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Weights in the order in which a warp takes them as the left operand of its matrix unit:
/// [part][slice][tile of 16 rows][step][lane][word].

#include "convolution_problem.hpp"
#include "tensor_elements.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a row of weights belongs to.
struct weight_row {
  int channel;  ///< of the output
  int stacked;  ///< row of the unit
  int stacked_column;

  /// Rows 8 apart are stacked neighbours, because a thread has both.
  KOKKOS_FORCEINLINE_FUNCTION static weight_row at(const tensor_layout& layout, int tile_row) {
    const int half = tile_row % tensor_layout::tile_rows / 8, of_half = tile_row % 8;
    const int rows = layout.rows_of_stacked();
    if (layout.stacked_columns == 2) return {of_half % rows, of_half / rows, half};
    if (layout.stacked_rows == 1) return {tile_row, 0, 0};
    return {of_half % rows, of_half / rows * 2 + half, 0};
  }
};

/// T is f16, bf16 or float.
template <class T>
class tensor_weights {
  using form = tensor_form<T>;
  static constexpr int lanes = prumo::detail::exchange_threads;

 public:
  KOKKOS_FORCEINLINE_FUNCTION tensor_weights(const convolution_problem<T>& problem, const tensor_layout& layout)
      : problem_(problem), layout_(layout) {}

  /// \param at the word of a slice of a part
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t word_at(int part, int slice, int at) const {
    const int which = at % 4, lane = at / 4 % lanes, step_of_part = at / tensor_layout::words_of_step;
    const int steps = layout_.steps(), tile = step_of_part / steps, step = step_of_part - tile * steps;
    const int row = (part * layout_.part_tiles + tile) * tensor_layout::tile_rows + lane / 4 + which % 2 * 8;
    const auto cell = tensor_cell::of(layout_, 2 * step + which / 2);
    const int element = lane % 4 * form::elements_of_word;
    std::uint32_t word = bits_at(row, slice, cell, element);
    if constexpr (form::elements_of_word == 2) word |= bits_at(row, slice, cell, element + 1) << 16;
    return word;
  }

 private:
  /// The weight that meets an element of a cell.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bits_at(int tile_row, int slice, const tensor_cell& cell,
                                                    int element) const {
    const int columns = form::elements_of_cell / layout_.cell_channels, of_cell = element / columns;
    const weight_row of_tile = weight_row::at(layout_, tile_row);
    const int input = (slice * layout_.slice_groups + cell.group) * layout_.cell_channels + of_cell;
    const int p = cell.line - of_tile.stacked * static_cast<int>(problem_.row_stride);
    const int q = cell.segment * columns + element - of_cell * columns -
                  of_tile.stacked_column * static_cast<int>(problem_.column_stride);
    const bool is_there = cell.is_there && input < problem_.in_channels && of_tile.channel < problem_.out_channels &&
                          p >= 0 && p < problem_.filter_rows && q >= 0 && q < problem_.filter_columns;
    if (!is_there) return 0;
    return bits_of_element(
        problem_.w.plane(of_tile.channel, input)[p * problem_.w.row_stride + q * problem_.w.column_stride]);
  }

  const convolution_problem<T>& problem_;
  const tensor_layout& layout_;
};

/// Arranges the weights of all parts and slices in the device's memory, from where teams bring one slice after the
/// other.
template <class T>
class arranging_kernel {
 public:
  arranging_kernel(const convolution_problem<T>& problem, const tensor_layout& layout, std::uint32_t* to)
      : problem_(problem), layout_(layout), to_(to) {}

  std::int64_t blocks() const { return std::int64_t{layout_.parts} * layout_.slices * layout_.weights_words(); }

  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const int words = layout_.weights_words();
    const std::int64_t slice_of_part = at / words;
    const int part = static_cast<int>(slice_of_part / layout_.slices);
    const int slice = static_cast<int>(slice_of_part) - part * layout_.slices;
    to_[at] = tensor_weights<T>(problem_, layout_).word_at(part, slice, static_cast<int>(at - slice_of_part * words));
  }

 private:
  convolution_problem<T> problem_;
  tensor_layout layout_;
  std::uint32_t* to_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
