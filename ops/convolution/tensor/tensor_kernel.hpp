// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution in a device's matrix units, without copies of the image for each place of the filter.
///
/// A team keeps the weights in its scratch memory, in the order in which a warp takes them as the left operand of its
/// matrix unit, and copies of the images, each of which begins an element further: a thread reads the neighbouring
/// elements that it needs of the right operand at once, and they are aligned in one of the copies. What limits such a
/// kernel are the reads of the scratch memory. So most elements stay in registers from a step to the next. See
/// tensor_layout.hpp for lines, steps, runs and blocks.
///
/// The weights behind a filter's last one are zero. They meet elements that do not belong to the sum, which changes it
/// only if these are infinite or no numbers. An item that has such an element is computed sum by sum.

#include "item_shares.hpp"
#include "tensor_products.hpp"
#include "tensor_results.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16, or float, whose elements the unit cuts to TF32.
/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
template <class T, int Window>
class tensor_kernel : tensor_products<T> {
  using inputs = tensor_products<T>;
  using inputs::add_products;
  using inputs::copy_images;
  using inputs::copy_weights;
  using inputs::lanes;
  using inputs::layout_;
  using inputs::problem_;
  using inputs::row_at;
  using inputs::scratch_of;
  using inputs::stage_images;
  using typename inputs::block_place;
  using typename inputs::form;
  using typename inputs::index_divider;
  using typename inputs::scratch;
  using typename inputs::word;
  static_assert(Window == 1 || Window == 2 || Window == 4);

 public:
  static constexpr int most_threads = tensor_layout::threads;
  static constexpr int resident_teams = tensor_layout::resident_teams;

  tensor_kernel(const convolution_problem<T>& problem, const tensor_layout& layout, std::int64_t teams)
      : inputs(problem, layout),
        shares_(item_shares::of(layout.image_bands(problem.images), teams / layout.parts, layout.images)),
        by_blocks_(layout.blocks()),
        by_block_columns_(layout.block_columns_of_row) {}

  std::int64_t blocks() const { return std::int64_t{shares_.teams} * layout_.parts; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.template scratch_words<T>()) * sizeof(word) + 16;
  }

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
    for (int at = thread; at < layout_.staged_words; at += most_threads) memory.stage[at] = 0;
    member.team_barrier();
    if (image < end) stage_images(memory, item_at(image), thread);
    clear(memory, thread);
    copy_weights(memory, part, thread);
    if (thread == 0) *memory.is_unusual = 0;
    const bool writes_whole_images = has_whole_results();
    tensor_item written{0, 0, 0};
    while (image < end) {
      wait_for_copies();
      member.team_barrier();
      const tensor_item item = item_at(image);
      if (written.images > 0) write_whole_images(memory, written, thread);
      written.images = 0;
      copy_images(memory, item.images, thread);
      member.team_barrier();
      image = shares_.after(team, image);
      if (image < end) stage_images(memory, item_at(image), thread);
      if (*memory.is_unusual != 0) {
        compute_sums(memory, item, part, thread);
        member.team_barrier();
        // Weights that are zero shall not meet its elements in a smaller item.
        clear(memory, thread);
        if (thread == 0) *memory.is_unusual = 0;
      } else if (writes_whole_images) {
        compute(memory, item, 0, layout_.block_rows, result_in_scratch<T>{scratch_place(memory.results)}, problem_.y, 0,
                part, thread);
        written = item;
      } else if (layout_.result_rows > 0) {
        compute_by_rows(member, memory, item, part, thread);
      } else {
        T* const y = problem_.y.plane(item.first_image, 0) + item.first_row / Window * problem_.y.row_stride;
        compute(memory, item, 0, layout_.block_rows, result_in_memory<T>{y}, problem_.y, 0, part, thread);
      }
    }
    if (written.images == 0) return;
    member.team_barrier();
    write_whole_images(memory, written, thread);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void clear(const scratch& memory, int thread) const {
    for (int at = thread; at < form::copies * layout_.copy_words; at += most_threads) memory.copies[at] = 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION int first_channel_of(int part) const {
    return part * layout_.part_tiles * tensor_layout::unit_rows;
  }

  /// Whether results are collected in the scratch memory for whole images, which are one stretch of memory.
  KOKKOS_FORCEINLINE_FUNCTION bool has_whole_results() const {
    return layout_.result_rows == layout_.block_rows && layout_.bands == 1 && layout_.parts == 1 &&
           problem_.has_results_without_gaps();
  }

  /// Writes an item's results from the scratch memory: whole sectors of memory, which rows that end within one and are
  /// stored by several warps would fill piece by piece.
  KOKKOS_FORCEINLINE_FUNCTION void write_whole_images(const scratch& memory, const tensor_item& place,
                                                      int thread) const {
    write(memory.results, problem_.y.plane(place.first_image, 0),
          place.images * static_cast<int>(problem_.y.image_stride), thread, most_threads);
  }

  /// Computes some rows of blocks in the scratch memory, writes them, and so on with the next ones.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute_by_rows(const Member& member, const scratch& memory,
                                                   const tensor_item& place, int part, int thread) const {
    const int rows = layout_.result_rows * layout_.rows_of_block() / Window;
    const std::int64_t plane = rows * problem_.y_columns;
    const image_array<T> strides{nullptr, problem_.out_channels * plane, plane, problem_.y_columns, 1};
    PRUMO_KEEP_LOOP
    for (int first = 0; first < layout_.block_rows; first += layout_.result_rows) {
      const int behind = first + layout_.result_rows;
      const int end = behind < layout_.block_rows ? behind : layout_.block_rows;
      compute(memory, place, first, end, result_in_scratch<T>{scratch_place(memory.results)}, strides,
              first_channel_of(part), part, thread);
      member.team_barrier();
      const int first_y_row = place.first_row / Window + first * layout_.rows_of_block() / Window;
      const int left = static_cast<int>(problem_.y_rows) - first_y_row;
      write_channels(memory.results, place.first_image, first_y_row, left < rows ? left : rows, plane, part, thread);
      if (end < layout_.block_rows) member.team_barrier();
    }
  }

  /// Writes some rows of each channel of a part. A warp writes those of a channel.
  KOKKOS_FORCEINLINE_FUNCTION void write_channels(const word* results, std::int64_t image, int first_row, int rows,
                                                  std::int64_t plane, int part, int thread) const {
    const int first_channel = first_channel_of(part);
    const int left = static_cast<int>(problem_.out_channels) - first_channel;
    const int of_part = layout_.part_tiles * tensor_layout::unit_rows, channels = left < of_part ? left : of_part;
    PRUMO_KEEP_LOOP
    for (int channel = thread / lanes; channel < channels; channel += tensor_layout::warps) {
      T* const to = problem_.y.plane(image, first_channel + channel) + first_row * problem_.y.row_stride;
      write(reinterpret_cast<const T*>(results) + channel * plane, to, rows * static_cast<int>(problem_.y_columns),
            thread % lanes, lanes);
    }
  }

  /// Writes neighbouring elements by some threads: in packs, if both addresses are aligned for them.
  template <class From>
  KOKKOS_FORCEINLINE_FUNCTION static void write(const From* from, T* to, int elements, int thread, int of_threads) {
    const T* const results = reinterpret_cast<const T*>(from);
    const auto addresses = reinterpret_cast<std::uintptr_t>(results) | reinterpret_cast<std::uintptr_t>(to);
    int written = 0;
    if (addresses % 16 == 0) {
      written = write_packs<16>(results, to, elements, thread, of_threads);
    } else if (addresses % 4 == 0) {
      written = write_packs<4>(results, to, elements, thread, of_threads);
    }
    for (int at = written + thread; at < elements; at += of_threads) to[at] = results[at];
  }

  template <int Bytes>
  KOKKOS_FORCEINLINE_FUNCTION static int write_packs(const T* from, T* to, int elements, int thread, int of_threads) {
    constexpr int of_pack = Bytes / static_cast<int>(sizeof(T));
    using pack = prumo::detail::device_pack<T, of_pack>;
    const int packs = elements / of_pack;
    PRUMO_KEEP_LOOP
    for (int at = thread; at < packs; at += of_threads) {
      store_at_once<true>(to + at * of_pack, *reinterpret_cast<const pack*>(from + at * of_pack));
    }
    return packs * of_pack;
  }

  /// Computes the results of some rows of blocks.
  /// \param y where those of the first row and of `first_channel` are
  template <class Place>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const scratch& memory, const tensor_item& place, int first_block_row,
                                           int end_block_row, const Place& y, const image_array<T>& strides,
                                           int first_channel, int part, int thread) const {
    using results = tensor_results<T, Window, Place>;
    const int lane = thread % lanes, first_row = first_block_row * layout_.rows_of_block();
    const int of_image = (end_block_row - first_block_row) * layout_.block_columns_of_row;
    const int blocks = place.images * of_image;
    const int turns = (blocks + tensor_layout::blocks_of_warp - 1) / tensor_layout::blocks_of_warp;
    const results to_store(problem_, layout_, strides);
    typename results::target targets[2] = {{y, 0, 0}, {y, 0, 0}};
    float bias[4] = {};  // as of a tile
    int tile_of_targets = -1;
    PRUMO_KEEP_LOOP
    for (int work = thread / lanes; work < turns * layout_.part_tiles; work += tensor_layout::warps) {
      const int turn = layout_.part_tiles == 1 ? work : work / layout_.part_tiles;
      const int tile = work - turn * layout_.part_tiles;
      if (tile != tile_of_targets) {
        PRUMO_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int row = tile * tensor_layout::unit_rows + lane / 4 + half * 8;
          const auto of_unit = row_at(part * layout_.part_tiles * tensor_layout::unit_rows + row);
          targets[half] =
              to_store.target_of(y, of_unit.channel, first_channel, of_unit.stacked, place.first_row + first_row);
          bias[2 * half] = bias[2 * half + 1] = memory.bias[row];
        }
        tile_of_targets = tile;
      }
      const int first = turn * tensor_layout::blocks_of_warp;
      tensor_sums sums;
      block_place from = block_at(first + lane / 8, blocks, of_image);
      from.row += first_row;
      add_products(memory, from, tile, lane, bias, sums);
      if (first + lane % 4 < blocks) {
        const block_place at = block_at(first + lane % 4, blocks, of_image);
        to_store.finish(targets, at.image, at.row, at.column, sums);
      }
    }
  }

  /// Behind the last block there are copies of it.
  KOKKOS_FORCEINLINE_FUNCTION block_place block_at(int block, int blocks, int of_image) const {
    if (block >= blocks) block = blocks - 1;
    // Only items of whole images have several of them.
    const int image = of_image == blocks ? 0 : by_blocks_.quotient(block), rest = block - image * of_image;
    const int row = by_block_columns_.quotient(rest);
    return {image, row * layout_.rows_of_block(),
            (rest - row * layout_.block_columns_of_row) * tensor_layout::block_columns};
  }

  /// The results of an item sum by sum.
  KOKKOS_FUNCTION void compute_sums(const scratch& memory, const tensor_item& place, int part, int thread) const {
    const int rows = layout_.part_tiles * tensor_layout::unit_rows, columns = static_cast<int>(problem_.y_columns);
    const int of_band = layout_.band_rows() / Window / layout_.stacked_rows;
    const int of_row = of_band * columns, of_image = rows * of_row;
    const T* const copy = reinterpret_cast<const T*>(memory.copies);
    PRUMO_KEEP_LOOP
    for (int work = thread; work < place.images * of_image; work += most_threads) {
      const int image = work / of_image, of_rows = work - image * of_image;
      const auto of_unit = row_at(part * rows + of_rows / of_row);
      const int at = of_rows % of_row, column = at % columns;
      const int row = at / columns * layout_.stacked_rows + of_unit.stacked, y_row = place.first_row / Window + row;
      if (of_unit.channel >= problem_.out_channels || y_row >= problem_.y_rows) continue;
      const float bias =
          problem_.bias == nullptr ? 0.0f : static_cast<float>(problem_.bias[of_unit.channel * problem_.bias_stride]);
      float result = 0;
      PRUMO_KEEP_LOOP
      for (int i = 0; i < Window * Window; ++i) {
        const int r = row * Window + i / Window, c = column * Window + i % Window;
        if (place.first_row + r >= problem_.rows || c >= problem_.columns) continue;
        const int element = image * layout_.image_elements + r * static_cast<int>(problem_.row_stride) * layout_.pitch +
                            c * static_cast<int>(problem_.column_stride);
        const float sum =
            add_filter_products(problem_, copy + element, layout_.plane_elements, layout_.pitch, of_unit.channel, bias);
        result = i == 0 ? sum : prumo::detail::joined_in_window<prumo::detail::pooling_kind::maximum>(result, sum);
      }
      T* const to = problem_.y.plane(place.first_image + image, of_unit.channel) + y_row * problem_.y.row_stride +
                    column * problem_.y.column_stride;
      *to = T(activated_result(problem_, result));
    }
  }

  item_shares shares_;
  index_divider by_blocks_;
  index_divider by_block_columns_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
