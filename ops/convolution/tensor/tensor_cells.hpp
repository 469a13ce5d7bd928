// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The cells of images that a team of the convolution in matrix units has in its scratch memory.

#include "convolution_problem.hpp"
#include "staged_images.hpp"
#include "tensor_elements.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16 or float.
template <class T>
class tensor_cells {
 protected:
  using word = std::uint32_t;
  using index_divider = prumo::detail::index_divider;
  using form = tensor_form<T>;
  static constexpr int threads = tensor_layout::threads;

  tensor_cells(const convolution_problem<T>& problem, const tensor_layout& layout)
      : problem_(problem), layout_(layout), staged_(layout), by_row_work_(works_of_row(layout)) {}

  /// Makes the cells of a slice of images in the stage. Returns whether a thread met an element that is not finite.
  KOKKOS_FORCEINLINE_FUNCTION bool make(const word* stage, word* cells, const tensor_item& item, int thread) const {
    const memory_of_cells memory{stage, cells};
    unusual_elements<T> unusual;
    // Elsewhere there are zeros beside the image, or elements that are multiplied by zeros.
    const bool is_checked = layout_.stage != tensor_stage::rows && problem_.is_padded();
    if (!has_words(layout_)) {
      make_cells_by_elements(memory, item, thread, unusual);
    } else if (is_checked) {
      make_cells_by_words<true>(memory, item, thread, unusual);
    } else {
      make_cells_by_words<false>(memory, item, thread, unusual);
    }
    return unusual.are_there();
  }

  /// Columns of the input from a place to the next.
  KOKKOS_FORCEINLINE_FUNCTION int place_distance() const {
    return layout_.stacked_columns * static_cast<int>(problem_.column_stride);
  }

  convolution_problem<T> problem_;
  tensor_layout layout_;
  staged_images<T> staged_;

 private:
  struct memory_of_cells {
    const word* stage;
    word* cells;
  };

  /// Whether staged rows begin with words, so that a thread makes the cells which begin in a word.
  KOKKOS_FORCEINLINE_FUNCTION static bool has_words(const tensor_layout& layout) {
    return layout.staged_pitch % form::elements_of_word == 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int works_of_row(const tensor_layout& layout) {
    constexpr int cells = tensor_layout::words_of_work * form::elements_of_word;
    return has_words(layout) ? layout.row_cells / cells : layout.row_cells;
  }

  /// Where a thread makes cells, and of what.
  struct cell_work {
    int row;   ///< the staged row of the first channel of the group, in elements
    int cell;  ///< of the first column
    bool has_row;
    int of_row;  ///< among the works of the row
  };

  /// \param at the number of the work
  KOKKOS_FORCEINLINE_FUNCTION cell_work find_cells(const tensor_item& item, int at, int works, int offset) const {
    const int line = by_row_work_.quotient(at), plane = staged_.plane_of(line);
    const int row = line - plane * layout_.plane_rows, x_row = staged_.first_row_of(problem_, item) + row;
    return {offset + plane * layout_.cell_channels * layout_.staged_plane + row * layout_.staged_pitch,
            plane * layout_.plane_cells() + row * layout_.pitch,
            layout_.stage == tensor_stage::rows || (x_row >= 0 && x_row < problem_.height), at - line * works};
  }

  /// The elements of a staged row that are those of the image.
  KOKKOS_FORCEINLINE_FUNCTION int staged_columns() const {
    return layout_.stage == tensor_stage::rows ? layout_.staged_pitch : static_cast<int>(problem_.width);
  }

  template <bool IsChecked>
  KOKKOS_FORCEINLINE_FUNCTION void make_cells_by_words(const memory_of_cells& memory, const tensor_item& item,
                                                       int thread, unusual_elements<T>& unusual) const {
    switch (layout_.cell_channels) {
      case 1: return make_cells_of<1, IsChecked>(memory, item, thread, unusual);
      case 2: return make_cells_of<2, IsChecked>(memory, item, thread, unusual);
      case 4: return make_cells_of<4, IsChecked>(memory, item, thread, unusual);
      default:
        if constexpr (form::elements_of_cell == 8) make_cells_of<8, IsChecked>(memory, item, thread, unusual);
    }
  }

  /// \tparam IsChecked whether words beside the image are zeros
  template <int Channels, bool IsChecked>
  KOKKOS_FORCEINLINE_FUNCTION void make_cells_of(const memory_of_cells& memory, const tensor_item& item, int thread,
                                                 unusual_elements<T>& unusual) const {
    constexpr int of_word = form::elements_of_word;
    const int offset = staged_.offset_of(problem_, layout_, item) + layout_.first_staged;
    const int works = works_of_row(layout_),
              all_works = item.images * layout_.slice_groups * layout_.plane_rows * works;
    const int column_stride = place_distance();
    PRUMO_KEEP_LOOP
    for (int at = thread; at < all_works; at += threads) {
      const cell_work work = find_cells(item, at, works, offset);
      const word* const row = memory.stage + work.row / of_word;  // even numbers are divided
      const scratch_place cells = scratch_place(memory.cells) + work.cell * tensor_layout::bytes_of_cell;
      PRUMO_UNROLL
      for (int part = 0; part < tensor_layout::words_of_work; ++part) {
        make_cells_of_word<Channels, IsChecked>(row, work.has_row, work.of_row + part * works, column_stride, cells,
                                                unusual);
      }
    }
  }

  /// Makes the cells that begin in a word of a row.
  /// \param row where the word of the first cell is, or would be
  template <int Channels, bool IsChecked>
  KOKKOS_FORCEINLINE_FUNCTION void make_cells_of_word(const word* row, bool has_row, int which, int column_stride,
                                                      const scratch_place& cells, unusual_elements<T>& unusual) const {
    constexpr int columns = form::elements_of_cell / Channels, of_word = form::elements_of_word;
    constexpr int needed = (columns + 2 * (of_word - 1)) / of_word;
    constexpr int words_of_channel = 4 / Channels > 0 ? 4 / Channels : 1;
    const int plane_words = layout_.staged_plane / of_word;
    word here[Channels][needed];
    PRUMO_UNROLL
    for (int i = 0; i < needed; ++i) {
      const auto of_image = static_cast<unsigned>(which + i + layout_.first_staged / of_word);
      const bool is_there = !IsChecked || (has_row && of_image < static_cast<unsigned>(staged_columns() / of_word));
      PRUMO_UNROLL
      for (int channel = 0; channel < Channels; ++channel) {
        here[channel][i] = is_there ? row[which + channel * plane_words + i] : 0;
      }
    }
    word even[4], odd[4];
    if constexpr (of_word == 1) {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) even[i] = here[i / columns][i % columns];
    } else if constexpr (columns == 1) {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        even[i] = lower_halves(here[2 * i][0], here[2 * i + 1][0]);
        odd[i] = upper_halves(here[2 * i][0], here[2 * i + 1][0]);
      }
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        const word(&of_channel)[needed] = here[i / words_of_channel];
        even[i] = of_channel[i % words_of_channel];
        odd[i] = (even[i] >> 16) | (of_channel[i % words_of_channel + 1] << 16);
      }
    }
    // With a distance of two columns and one cell for each row of the filter, places meet those of every other column.
    const bool are_all_met = column_stride != 2 || layout_.column_distance > 0;
    if (of_word == 1 || are_all_met || layout_.first_cell == 0) {
      store_cell(cells, of_word * which, column_stride, even);
    }
    if constexpr (of_word == 2) {
      if (are_all_met || layout_.first_cell != 0) store_cell(cells, of_word * which + 1, column_stride, odd);
    }
    // The last words are the first ones of other cells, but for the last cell of a row.
    PRUMO_UNROLL
    for (int channel = 0; channel < Channels; ++channel) {
      unusual.look_at(here[channel][0]);
      if constexpr (needed > 1) unusual.look_at(here[channel][needed - 1]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void make_cells_by_elements(const memory_of_cells& memory, const tensor_item& item,
                                                          int thread, unusual_elements<T>& unusual) const {
    const T* const staged = reinterpret_cast<const T*>(memory.stage);
    const int columns = form::elements_of_cell / layout_.cell_channels, row_end = staged_columns();
    const int offset = staged_.offset_of(problem_, layout_, item), works = works_of_row(layout_);
    const int all_works = item.images * layout_.slice_groups * layout_.plane_rows * works;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < all_works; at += threads) {
      const cell_work work = find_cells(item, at, works, offset);
      word words[4] = {};
      int channel = 0, of_channel = 0;
      PRUMO_UNROLL
      for (int i = 0; i < form::elements_of_cell; ++i) {
        const int column = work.of_row + layout_.first_staged + of_channel;
        const bool is_there = work.has_row && static_cast<unsigned>(column) < static_cast<unsigned>(row_end);
        const T element = is_there ? staged[work.row + channel * layout_.staged_plane + column] : T(0);
        words[i / form::elements_of_word] |= bits_of_element(element) << (i % form::elements_of_word * 16);
        if (++of_channel == columns) {
          of_channel = 0;
          ++channel;
        }
      }
      store_cell(scratch_place(memory.cells) + work.cell * tensor_layout::bytes_of_cell, work.of_row, place_distance(),
                 words);
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) unusual.look_at(words[i]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_cell(const scratch_place& row, int column, int column_stride,
                                              const word (&words)[4]) const {
    (row + position_of(column, column_stride) * tensor_layout::bytes_of_cell).store(words);
  }

  KOKKOS_FORCEINLINE_FUNCTION static word lower_halves(word first, word second) {
    return (first & 0xffffu) | (second << 16);
  }
  KOKKOS_FORCEINLINE_FUNCTION static word upper_halves(word first, word second) {
    return (first >> 16) | (second & 0xffff0000u);
  }

  /// Where a column's cell is in a row.
  KOKKOS_FORCEINLINE_FUNCTION int position_of(int column, int column_stride) const {
    if (column_stride == 1) return column;
    if (column_stride == 2) return column % 2 * layout_.column_distance + column / 2;
    const int stretch = column / column_stride;
    return (column - stretch * column_stride) * layout_.column_distance + stretch;
  }

  index_divider by_row_work_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
