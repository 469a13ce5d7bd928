// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the convolution in matrix units has in its scratch memory: weights, images, and where places of the
/// filter and their results are.

#include "convolution_problem.hpp"
#include "tensor_cells.hpp"
#include "tensor_targets.hpp"
#include "tensor_weights.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16 or float.
/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
template <class T, int Window>
class tensor_inputs : protected tensor_cells<T> {
  using base = tensor_cells<T>;

 protected:
  using base::layout_;
  using base::place_distance;
  using base::problem_;
  using base::staged_;
  using base::threads;
  using typename base::form;
  using typename base::word;
  static constexpr int lanes = prumo::detail::exchange_threads;

  tensor_inputs(const convolution_problem<T>& problem, const tensor_layout& layout, const word* arranged_weights)
      : base(problem, layout), arranged_weights_(arranged_weights) {}

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
    if (base::make(memory.stage, memory.cells, item, thread)) *memory.is_unusual = 1;
  }

  /// Unit rows that are neighbours among the places of a window.
  KOKKOS_FORCEINLINE_FUNCTION int units_of_window() const {
    return tensor_layout::units_of_window(Window, layout_.stacked_rows);
  }

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

  const word* arranged_weights_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
