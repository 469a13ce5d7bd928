// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units has in its scratch memory: weights, images, and where places of the
/// filter and their results are.

#include "convolution_problem.hpp"
#include "staged_images.hpp"
#include "tensor_elements.hpp"
#include "tensor_unit.hpp"
#include "tensor_weights.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where the results of a place go.
struct alignas(8) tensor_target {
  unsigned distance;  ///< from the first result of an item and a channel, in bytes
  int row_column;     ///< of the convolution, among those of the item: 16 bits each

  KOKKOS_FORCEINLINE_FUNCTION int row() const { return row_column >> 16; }
  KOKKOS_FORCEINLINE_FUNCTION int column() const { return row_column & 0xffff; }
};

/// T is f16, bf16 or float.
/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
template <class T, int Window>
class tensor_inputs {
 protected:
  using word = std::uint32_t;
  using index_divider = prumo::detail::index_divider;
  using form = tensor_form<T>;
  static constexpr int lanes = prumo::detail::exchange_threads;
  static constexpr int threads = tensor_layout::threads;

  tensor_inputs(const convolution_problem<T>& problem, const tensor_layout& layout, const word* arranged_weights)
      : problem_(problem),
        layout_(layout),
        arranged_weights_(arranged_weights),
        staged_(layout),
        by_row_work_(works_of_row(layout)) {}

  struct scratch {
    word* weights;  ///< [buffer][tile of 16 rows][step][lane][4]
    word* cells;    ///< [image][group][row][column][4]
    word* stage;
    tensor_target* targets;  ///< of each place
    int* places;             ///< where the filter begins, in bytes
    int* distances;          ///< from there to the two cells of a step, in bytes
    float* bias;             ///< of each row of weights
    int* is_unusual;
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION scratch scratch_of(const Member& member) const {
    word* const weights = static_cast<word*>(
        member.team_scratch(0).get_shmem_aligned(static_cast<std::size_t>(layout_.scratch_words()) * sizeof(word), 16));
    word* const cells = weights + layout_.weights_buffers() * layout_.weights_words();
    word* const stage = cells + layout_.cells * 4;
    word* const targets = stage + layout_.staged_words;
    word* const places = targets + 2 * layout_.places;
    word* const distances = places + layout_.places;
    word* const bias = distances + 2 * layout_.steps();
    return {weights,
            cells,
            stage,
            reinterpret_cast<tensor_target*>(targets),
            reinterpret_cast<int*>(places),
            reinterpret_cast<int*>(distances),
            reinterpret_cast<float*>(bias),
            reinterpret_cast<int*>(bias + layout_.bias_words())};
  }

  /// Brings what stays the same for all items.
  KOKKOS_FORCEINLINE_FUNCTION void set_up(const scratch& memory, int part, int thread) const {
    for (int at = thread; at < layout_.places; at += threads) set_place(memory, at);
    for (int at = thread; at < 2 * layout_.steps(); at += threads) {
      memory.distances[at] = tensor_layout::bytes_of_cell *
                             tensor_cell::of(layout_, at)
                                 .distance(layout_, form::elements_of_cell / layout_.cell_channels, place_distance());
    }
    for (int at = thread; at < layout_.bias_words(); at += threads) {
      const int channel = weight_row::at(layout_, part * layout_.bias_words() + at).channel;
      const bool is_there = problem_.bias != nullptr && channel < problem_.out_channels;
      memory.bias[at] = is_there ? static_cast<float>(problem_.bias[channel * problem_.bias_stride]) : 0.0f;
    }
    if (thread == 0) *memory.is_unusual = 0;
    if (layout_.slices > 1) return;
    if (layout_.has_arranged_weights()) return bring_weights(memory, part, 0, 0, thread);
    const tensor_weights<T> weights(problem_, layout_);
    PRUMO_KEEP_LOOP
    for (int at = thread; at < layout_.weights_words(); at += threads)
      memory.weights[at] = weights.word_at(part, 0, at);
  }

  /// Begins to bring a slice of an item's images into the stage, and its weights.
  KOKKOS_FORCEINLINE_FUNCTION void bring(const scratch& memory, const tensor_item& item, int part, int slice,
                                         int buffer, int thread) const {
    staged_.template bring<threads>(problem_, layout_, item, slice, reinterpret_cast<T*>(memory.stage), thread);
    if (layout_.slices > 1) bring_weights(memory, part, slice, buffer, thread);
  }

  /// Makes the cells of a slice of images in the stage, and looks whether all elements are finite.
  KOKKOS_FORCEINLINE_FUNCTION void make_cells(const scratch& memory, const tensor_item& item, int thread) const {
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
    if (unusual.are_there()) *memory.is_unusual = 1;
  }

  /// Columns of the input from a place to the next.
  KOKKOS_FORCEINLINE_FUNCTION int place_distance() const {
    return layout_.stacked_columns * static_cast<int>(problem_.column_stride);
  }

  /// Unit rows that are neighbours among the places of a window.
  KOKKOS_FORCEINLINE_FUNCTION int units_of_window() const {
    return tensor_layout::units_of_window(Window, layout_.stacked_rows);
  }

  convolution_problem<T> problem_;
  tensor_layout layout_;
  const word* arranged_weights_;

 private:
  KOKKOS_FORCEINLINE_FUNCTION void bring_weights(const scratch& memory, int part, int slice, int buffer,
                                                 int thread) const {
    const int words = layout_.weights_words();
    const word* const from = arranged_weights_ + (std::int64_t{part} * layout_.slices + slice) * words;
    word* const to = memory.weights + buffer * words;
    PRUMO_KEEP_LOOP
    for (int at = thread * 4; at < words; at += threads * 4) copy_pack_to_scratch<word, 4>(from + at, to + at);
  }

  /// Places are the columns of a row of units, and so on with the next row. Those of a window are in tiles of columns
  /// that follow one another, where a thread has all rows of the window.
  KOKKOS_FORCEINLINE_FUNCTION void set_place(const scratch& memory, int at) const {
    const int units = units_of_window();
    const int columns = layout_.place_columns(), of_image = layout_.places_of_image(Window);
    const int of_row = of_image / (layout_.band_units / units);
    const int image = at / of_image, row = (at - image * of_image) / of_row;
    int column = at - image * of_image - row * of_row, unit = row;
    if constexpr (Window > 1) {
      const int tile = column / tensor_layout::tile_columns, of_tile = column % tensor_layout::tile_columns;
      unit = row * units + tile % units;
      column = tile / units * tensor_layout::tile_columns + of_tile;
    }
    const int first_row = unit * layout_.stacked_rows;
    // Columns behind the last one read the elements of that one, and are not stored.
    const int last = columns - 1;
    const int cell = image * layout_.image_cells() + first_row * static_cast<int>(problem_.row_stride) * layout_.pitch +
                     (column < last ? column : last);
    memory.places[at] = image < layout_.images ? cell * tensor_layout::bytes_of_cell : 0;
    const int first_column = column * layout_.stacked_columns;
    const int distance = image * static_cast<int>(problem_.y.image_stride) +
                         first_row / Window * static_cast<int>(problem_.y.row_stride) +
                         first_column / Window * static_cast<int>(problem_.y.column_stride);
    constexpr int behind_all_rows = 0x7fff0000;
    memory.targets[at] = {static_cast<unsigned>(distance) * static_cast<unsigned>(sizeof(T)),
                          image < layout_.images ? (first_row << 16) + first_column : behind_all_rows};
  }

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
  KOKKOS_FORCEINLINE_FUNCTION void make_cells_by_words(const scratch& memory, const tensor_item& item, int thread,
                                                       unusual_elements<T>& unusual) const {
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
  KOKKOS_FORCEINLINE_FUNCTION void make_cells_of(const scratch& memory, const tensor_item& item, int thread,
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

  KOKKOS_FORCEINLINE_FUNCTION void make_cells_by_elements(const scratch& memory, const tensor_item& item, int thread,
                                                          unusual_elements<T>& unusual) const {
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

  staged_images<T> staged_;
  index_divider by_row_work_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
