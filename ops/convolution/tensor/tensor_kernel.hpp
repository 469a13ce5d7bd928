// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution in a device's matrix units, without copies of the image for each place of the filter in the device's
/// memory.
///
/// A team keeps images in its scratch memory as cells of 16 bytes: the elements of some channels in some neighbouring
/// columns, which meet as many weights. A cell is aligned, wherever the filter lies. So a warp loads the matrix unit's
/// right operand as rows of 16 bytes (`ldmatrix`), and each step goes on by a distance that is the same for all places.
/// See tensor_layout.hpp for cells, steps, units and slices.
///
/// The weights behind a filter's last one are zero. They meet elements that do not belong to the sum, which changes it
/// only if these are infinite or no numbers. An item that has such an element is computed sum by sum.

#include "device/item_shares.hpp"
#include "tensor_inputs.hpp"
#include "tensor_products.hpp"
#include "tensor_results.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16, or float, whose elements the unit cuts to TF32.
/// \tparam WarpTiles tiles of weights that a warp multiplies with at a time
/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
template <class T, int WarpTiles, int Window>
class tensor_kernel : tensor_inputs<T, Window> {
  using inputs = tensor_inputs<T, Window>;
  using inputs::bring;
  using inputs::lanes;
  using inputs::layout_;
  using inputs::make_cells;
  using inputs::problem_;
  using inputs::scratch_of;
  using inputs::set_up;
  using typename inputs::scratch;
  using typename inputs::word;
  using results = tensor_results<T, WarpTiles, Window>;
  using sums_of_turn = tensor_sums<WarpTiles>;
  static_assert(Window == 1 || Window == 2 || Window == 4);

 public:
  static constexpr int most_threads = tensor_layout::threads;
  static constexpr int resident_teams = WarpTiles == 4 ? 1 : tensor_layout::most_resident_teams;
  static constexpr bool waits_itself = true;

  /// \param arranged_weights of all parts and slices, if the layout has them
  tensor_kernel(const convolution_problem<T>& problem, const tensor_layout& layout, const word* arranged_weights,
                std::int64_t teams)
      : inputs(problem, layout, arranged_weights),
        shares_(item_shares::of(layout.image_bands(problem.images), teams / layout.parts, layout.images)) {}

  std::int64_t blocks() const { return std::int64_t{shares_.teams} * layout_.parts; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(layout_.scratch_words()) * sizeof(word) + 16; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int thread = member.team_rank();
    const int part = member.league_rank() % layout_.parts;
    const int team = member.league_rank() / layout_.parts;
    const scratch memory = scratch_of(member);
    const auto item_at = [&](std::int64_t image) {
      return tensor_item::at(layout_, image, shares_.count(team, image));
    };
    const std::int64_t end = shares_.end(team);
    std::int64_t image = shares_.first(team);
    // Cells and staged elements that nothing is ever brought to are multiplied by zeros.
    for (int at = thread; at < layout_.staged_words; at += most_threads) memory.stage[at] = 0;
    clear_cells(memory, thread);
    member.team_barrier();
    prumo::detail::wait_for_work_before(member);
    tensor_item item{0, 0, 0, 0};
    if (image < end) {
      item = item_at(image);
      bring(memory, item, part, 0, 0, thread);
    }
    set_up(memory, part, thread);
    int slice = 0, buffer = 0;  // of the weights
    sums_of_turn sums;
    rows_of_thread rows;
    while (image < end) {
      wait_for_copies();
      member.team_barrier();
      make_cells(memory, item, thread);
      member.team_barrier();
      const bool is_last = slice + 1 == layout_.slices;
      const std::int64_t next = is_last ? shares_.after(team, image) : image;
      const int next_slice = is_last ? 0 : slice + 1;
      const bool is_unusual = *memory.is_unusual != 0;
      tensor_item next_item = item;
      if (next < end) {
        if (is_last) next_item = item_at(next);
        bring(memory, next_item, part, next_slice, 1 - buffer, thread);
      }
      if (!is_unusual) {
        compute(memory, item, part, buffer, slice == 0, is_last, thread, sums, rows);
      } else if (is_last) {
        compute_sums(item, part, thread);
        member.team_barrier();
        // Weights that are zero shall not meet its elements in a smaller item.
        clear_cells(memory, thread);
        if (thread == 0) *memory.is_unusual = 0;
      }
      image = next;
      item = next_item;
      slice = next_slice;
      if (layout_.slices > 1) buffer = 1 - buffer;
    }
  }

 private:
  /// What a thread knows of its rows of a group of weights.
  struct rows_of_thread {
    int group = -1;
    float bias[WarpTiles][4];
    typename results::targets targets;
  };

  KOKKOS_FORCEINLINE_FUNCTION void clear_cells(const scratch& memory, int thread) const {
    for (int at = thread; at < layout_.cells * 4; at += most_threads) memory.cells[at] = 0;
  }

  /// The results of an item's first place, of channel 0.
  KOKKOS_FORCEINLINE_FUNCTION T* first_result(const tensor_item& item) const {
    return problem_.y.plane(item.first_image, 0) + item.first_row / Window * problem_.y.row_stride +
           item.first_column / Window * problem_.y.column_stride;
  }

  KOKKOS_FORCEINLINE_FUNCTION item_extents extents_of(const tensor_item& item) const {
    return item_extents::of<Window>(problem_, layout_, item);
  }

  /// Adds the products of a slice. With several slices a warp has one turn at most, whose sums are kept.
  KOKKOS_FORCEINLINE_FUNCTION void compute(const scratch& memory, const tensor_item& item, int part, int buffer,
                                           bool is_first, bool is_last, int thread, sums_of_turn& sums,
                                           rows_of_thread& rows) const {
    const int lane = thread % lanes, groups = layout_.part_tiles / WarpTiles, steps = layout_.steps();
    const item_extents there = extents_of(item);
    const int turns = (there.places + tensor_layout::places_of_turn - 1) / tensor_layout::places_of_turn;
    const results to_store(problem_, layout_, memory.targets);
    const scratch_place cells(memory.cells);
    const int tile_bytes = steps * tensor_layout::words_of_step * static_cast<int>(sizeof(word));
    const scratch_place weights =
        scratch_place(memory.weights) + (buffer * layout_.part_tiles * tile_bytes + lane * 16);
    // With more tiles, there are no registers to keep what is known of their rows.
    if (WarpTiles > 1 || layout_.slices > 1) rows.group = -1;
    T* const first = first_result(item);
    PRUMO_KEEP_LOOP
    for (int work = thread / lanes; work < turns * groups; work += tensor_layout::warps) {
      const int turn = groups == 1 ? work : work / groups, group = work - turn * groups;
      const bool is_other = group != rows.group;
      rows.group = group;
      if (is_other && is_first) {
        const int first_bias = group * WarpTiles * tensor_layout::tile_rows + lane / 4;
        const float* const bias = memory.bias + first_bias;
        PRUMO_UNROLL
        for (int i = 0; i < WarpTiles * 4; ++i) {
          const int half = i / 2 * (tensor_layout::tile_rows / 2);
          rows.bias[i / 4][i % 4] = bias[half];
        }
      }
      if (is_other && is_last) {
        const int first_row = (part * layout_.part_tiles + group * WarpTiles) * tensor_layout::tile_rows + lane / 4;
        to_store.find_targets(first_row, rows.targets);
      }
      const int first_place = turn * tensor_layout::places_of_turn + lane / 16 * 8 + lane % 8;
      const int* const place = memory.places + first_place;
      const tensor_operands_place from = {weights + group * WarpTiles * tile_bytes,
                                          tile_bytes,
                                          {cells + place[0], cells + place[16], cells + place[32], cells + place[48]},
                                          memory.distances + lane / 8 % 2};
      add_products<T, WarpTiles>(from, steps, is_first, rows.bias, sums);
      if (!is_last) continue;
      to_store.finish(rows.targets, first, there, turn, lane, sums);
    }
  }

  /// The results of an item sum by sum.
  KOKKOS_FUNCTION void compute_sums(const tensor_item& item, int part, int thread) const {
    const int first_channel = layout_.stacked_rows == 1 ? part * layout_.bias_words() : 0;
    const int left = static_cast<int>(problem_.out_channels) - first_channel;
    const int channels = layout_.stacked_rows == 1 && left > layout_.bias_words() ? layout_.bias_words() : left;
    const item_extents there = extents_of(item);
    const int rows = (there.rows + Window - 1) / Window, columns = (there.columns + Window - 1) / Window;
    PRUMO_KEEP_LOOP
    for (int work = thread; work < item.images * channels * rows * columns; work += most_threads) {
      const int column = work % columns, of_row = work / columns, row = of_row % rows, of_plane = of_row / rows;
      const int channel = first_channel + of_plane % channels, image = of_plane / channels;
      float result = 0;
      PRUMO_KEEP_LOOP
      for (int i = 0; i < Window * Window; ++i) {
        const int r = row * Window + i / Window, c = column * Window + i % Window;
        if (r >= there.rows || c >= there.columns) continue;
        const float sum =
            filter_sum(problem_, item.first_image + image, channel, item.first_row + r, item.first_column + c);
        result = i == 0 ? sum : prumo::detail::joined_in_window<prumo::detail::pooling_kind::maximum>(result, sum);
      }
      T* const to = first_result(item) + image * problem_.y.image_stride + channel * problem_.y.channel_stride +
                    row * problem_.y.row_stride + column * problem_.y.column_stride;
      *to = T(activated_result(problem_, result));
    }
  }

  item_shares shares_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
