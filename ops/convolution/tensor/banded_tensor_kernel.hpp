// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution in a device's matrix units of bands of few rows, for images of which the copies that tensor_kernel
/// makes do not fit. It reads its elements anew for each step.
///
/// A team keeps the weights in its scratch memory, in the order in which a warp takes them as the left operand of its
/// matrix unit, and images. Those of 16 bits it keeps twice, the second time an element further: a thread reads two
/// neighbouring elements of the right operand as one word, and the word of an odd place begins in the middle of one of
/// the first copy. So each product takes two loads and little arithmetic on addresses. See tensor_layout.hpp for
/// lines and steps.
///
/// A line has 8 taps, and the weights behind the filter's last one are zero. They meet elements that do not belong to
/// the sum, which changes it only if these are infinite or no numbers. An item that has such an element is computed sum
/// by sum.

#include "banded_tensor_inputs.hpp"
#include "gemm_activation.hpp"
#include "item_shares.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16, or float, whose elements the unit cuts to TF32. IsByRows if runs are rows, and the filter goes from
/// one column to the next.
template <class T, bool IsByRows>
class banded_tensor_kernel : banded_tensor_inputs<T> {
  using inputs = banded_tensor_inputs<T>;
  using inputs::by_channels_;
  using inputs::copy_again;
  using inputs::copy_images;
  using inputs::copy_weights;
  using inputs::lanes;
  using inputs::layout_;
  using inputs::problem_;
  using inputs::scratch_of;
  using typename inputs::form;
  using typename inputs::index_divider;
  using typename inputs::scratch;
  using typename inputs::word;
  static constexpr int tiles = form::tiles;

 public:
  static constexpr int most_threads = banded_tensor_layout::threads;
  static constexpr int resident_teams = banded_tensor_layout::resident_teams;

  banded_tensor_kernel(const convolution_problem<T>& problem, const banded_tensor_layout& layout, std::int64_t teams)
      : inputs(problem, layout),
        teams_(teams),
        shares_(item_shares::of(layout.image_bands(problem.images), teams / layout.parts, layout.images)),
        by_run_stretches_(layout.run_stretches),
        by_runs_(layout.runs),
        by_columns_(static_cast<int>(problem.columns)) {}

  std::int64_t blocks() const { return teams_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(layout_.scratch_words()) * sizeof(word) + 16; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int thread = member.team_rank();
    const int part = member.league_rank() % layout_.parts;
    const int team = member.league_rank() / layout_.parts;
    const scratch memory = scratch_of(member);
    for (int at = thread; at < layout_.images_words(); at += most_threads) memory.images[at] = 0;
    copy_weights(memory, part, thread);
    if (thread == 0) *memory.is_unusual = 0;
    member.team_barrier();

    const auto item_at = [&](std::int64_t image) {
      return tensor_item::at(layout_, image, shares_.count(team, image));
    };
    const std::int64_t end = shares_.end(team);
    std::int64_t image = shares_.first(team);
    int buffer = 0;
    if (image < end) copy_images(memory, item_at(image), buffer, thread);
    while (image < end) {
      wait_for_copies();
      member.team_barrier();
      copy_again(memory, buffer, thread);
      member.team_barrier();
      const tensor_item item = item_at(image);
      const std::int64_t next = shares_.after(team, image);
      const bool is_prefetched = layout_.buffers() == 2;
      if (is_prefetched && next < end) copy_images(memory, item_at(next), 1 - buffer, thread);
      if (*memory.is_unusual != 0) {
        compute_sums(memory, item, part, buffer, thread);
      } else {
        compute(memory, item, part, buffer, thread);
      }
      member.team_barrier();
      if (thread == 0) *memory.is_unusual = 0;
      if (!is_prefetched && next < end) copy_images(memory, item_at(next), buffer, thread);
      image = next;
      if (is_prefetched) buffer = 1 - buffer;
    }
  }

 private:
  /// A result among those of an item.
  struct result_place {
    int image;
    int run;
    int of_run;
  };

  /// The place where a stretch begins.
  KOKKOS_FORCEINLINE_FUNCTION result_place find(int stretch) const {
    const int rest = by_run_stretches_.quotient(stretch);
    const int image = by_runs_.quotient(rest);
    return {image, rest - image * layout_.runs, (stretch - rest * layout_.run_stretches) * form::stretch};
  }

  /// The elements from a place to that of the filter which begins there, among those of the item's images.
  KOKKOS_FORCEINLINE_FUNCTION int element_of(const result_place& at) const {
    const int row = layout_.has_flat_results ? by_columns_.quotient(at.of_run) : at.run;
    const int column = at.of_run - (layout_.has_flat_results ? row * static_cast<int>(problem_.columns) : 0);
    return at.image * layout_.image_elements +
           row * layout_.stacked_rows * static_cast<int>(problem_.row_stride) * layout_.pitch +
           column * static_cast<int>(problem_.column_stride);
  }

  /// Sets the words that a thread reads in the columns of the right operands: column `lane / 4` of each tile.
  KOKKOS_FORCEINLINE_FUNCTION void find_operands(const word* images, int buffer, int lane,
                                                 const result_place (&places)[form::stretches_of_group],
                                                 const word* (&operands)[tiles]) const {
    const word* const first = images + buffer * layout_.buffer_words + lane % 4;
    const word* const second = images + layout_.second_begin() + lane % 4;
    const auto word_of = [&](int element) {
      if constexpr (form::elements_of_word == 1) return first + element;
      return (element % 2 != 0 ? second : first) + element / 2;
    };
    const int of_stretch = lane / 8 * 4 + lane / 4 % 2;
    PRUMO_UNROLL
    for (int which = 0; which < form::stretches_of_group; ++which) {
      result_place at = places[which];
      at.of_run += of_stretch;
      if constexpr (IsByRows) {
        // Places behind the run's end see elements that are not theirs, and are not stored.
        operands[2 * which] = word_of(element_of(at));
        operands[2 * which + 1] = operands[2 * which] + 2 / form::elements_of_word;
      } else {
        const int last = layout_.run_length - 1;
        PRUMO_UNROLL
        for (int tile = 0; tile < 2; ++tile) {
          const int of_run = at.of_run + 2 * tile;
          operands[2 * which + tile] = word_of(element_of({at.image, at.run, of_run < last ? of_run : last}));
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void compute(const scratch& memory, const tensor_item& place, int part, int buffer,
                                           int thread) const {
    const int stretches = place.images * layout_.runs * layout_.run_stretches;
    const int groups = (stretches + form::stretches_of_group - 1) / form::stretches_of_group;
    const int lane = thread % lanes;
    const int run_length = run_length_of(place);
    row_target targets[2];
    int block_of_targets = -1;
    PRUMO_KEEP_LOOP
    for (int work = thread / lanes; work < groups * layout_.part_blocks; work += banded_tensor_layout::warps) {
      const int group = layout_.part_blocks == 1 ? work : work / layout_.part_blocks;
      const int block = work - group * layout_.part_blocks;
      const int first = group * form::stretches_of_group;
      if (block != block_of_targets) {
        PRUMO_UNROLL
        for (int half = 0; half < 2; ++half) {
          targets[half] = target_of(memory, place, part, block * banded_tensor_layout::unit_rows + lane / 4 + half * 8);
        }
        block_of_targets = block;
      }
      result_place places[form::stretches_of_group];
      PRUMO_UNROLL
      for (int which = 0; which < form::stretches_of_group; ++which) {
        places[which] = find(first + which < stretches ? first + which : stretches - 1);
      }
      const word* operands[tiles];
      find_operands(memory.images, buffer, lane, places, operands);
      float sums[tiles][4] = {};
      const word* weights = memory.weights + block * layout_.steps * 128 + lane * 4;
      PRUMO_KEEP_LOOP
      for (int step = 0; step < layout_.steps; ++step) {
        const tensor_operand left = *reinterpret_cast<const tensor_operand*>(weights);
        const int line = memory.lines[2 * step], next = memory.lines[2 * step + 1];
        PRUMO_UNROLL
        for (int tile = 0; tile < tiles; ++tile) {
          // By rows, the second tile of a stretch lies at a distance that the compiler knows.
          constexpr int distance = IsByRows ? 2 / form::elements_of_word : 0;
          const word* const operand = IsByRows ? operands[tile / 2 * 2] : operands[tile];
          add_product<T>(left, operand[line + tile % 2 * distance], operand[next + tile % 2 * distance], sums[tile],
                         sums[tile]);
        }
        weights += 128;
      }
      PRUMO_UNROLL
      for (int which = 0; which < form::stretches_of_group; ++which) {
        if (first + which >= stretches) break;
        result_place at = places[which];
        at.of_run += lane % 4 * 4;
        const int left = run_length - at.of_run;
        const std::int64_t distance = distance_of(at);
        PRUMO_UNROLL
        for (int half = 0; half < 2; ++half) {
          const row_target& target = targets[half];
          if (at.run * layout_.stacked_rows >= target.rows) continue;
          float results[4];
          PRUMO_UNROLL
          for (int i = 0; i < 4; ++i) results[i] = sums[2 * which + i / 2][half * 2 + i % 2];
          store(target.to + distance, left, target.bias, results);
        }
      }
    }
  }

  /// Where the results of a row of the unit go: those of an output channel in one of the stacked rows.
  struct row_target {
    T* to;     ///< the first result of the item
    int rows;  ///< of y, from the first one of the item on; none if the row of the unit is not used
    float bias;
  };

  KOKKOS_FORCEINLINE_FUNCTION row_target target_of(const scratch& memory, const tensor_item& place, int part,
                                                   int row_of_part) const {
    const int unit_row = part * layout_.part_blocks * banded_tensor_layout::unit_rows + row_of_part;
    const int stacked = by_channels_.quotient(unit_row);
    if (stacked >= layout_.stacked_rows) return {nullptr, 0, 0.0f};
    const int channel = unit_row - stacked * static_cast<int>(problem_.out_channels);
    const int row = place.first_row + stacked;
    // Flat results have no gaps between rows, and no stacked ones.
    const std::int64_t row_stride = layout_.has_flat_results ? problem_.columns : problem_.y.row_stride;
    return {problem_.y.plane(place.first_image, channel) + row * row_stride, static_cast<int>(problem_.rows) - row,
            memory.bias[row_of_part]};
  }

  /// The results of a run that are there.
  KOKKOS_FORCEINLINE_FUNCTION int run_length_of(const tensor_item& place) const {
    if (!layout_.has_flat_results) return layout_.run_length;
    const int rows_left = static_cast<int>(problem_.rows) - place.first_row;
    return (rows_left < layout_.band_blocks ? rows_left : layout_.band_blocks) * static_cast<int>(problem_.columns);
  }

  /// The elements of y from the first result of an item to that at a place, in a row of the unit.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t distance_of(const result_place& at) const {
    const std::int64_t of_image = at.image * problem_.y.image_stride;
    if (layout_.has_flat_results) return of_image + at.of_run;
    return of_image + at.run * layout_.stacked_rows * problem_.y.row_stride + at.of_run * problem_.y.column_stride;
  }

  /// Activates and stores neighbouring results, of which `count` are there.
  KOKKOS_FORCEINLINE_FUNCTION void store(T* to, int count, float bias, float (&results)[4]) const {
    T rounded[4];
    PRUMO_UNROLL
    for (int i = 0; i < 4; ++i) {
      float value = problem_.bias == nullptr ? results[i] : results[i] + bias;
      if (problem_.activation == activation_function::relu) {
        value = prumo::maximum(value, 0.0f);
      } else if (problem_.activation != activation_function::none) {
        value = activated_at_length(problem_.activation, value);
      }
      rounded[i] = T(value);
    }
    const std::int64_t column_stride = layout_.has_flat_results ? 1 : problem_.y.column_stride;
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    if (count >= 4 && column_stride == 1 && address % (4 * sizeof(T)) == 0) {
      prumo::detail::store_pack(to, prumo::detail::device_pack<T, 4>{rounded[0], rounded[1], rounded[2], rounded[3]});
    } else if (count >= 4 && column_stride == 1 && address % (2 * sizeof(T)) == 0) {
      prumo::detail::store_pack(to, prumo::detail::device_pack<T, 2>{rounded[0], rounded[1]});
      prumo::detail::store_pack(to + 2, prumo::detail::device_pack<T, 2>{rounded[2], rounded[3]});
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (i < count) to[i * column_stride] = rounded[i];
      }
    }
  }

  /// The results of an item sum by sum.
  KOKKOS_FUNCTION void compute_sums(const scratch& memory, const tensor_item& place, int part, int buffer,
                                    int thread) const {
    const int stretches = place.images * layout_.runs * layout_.run_stretches;
    const int places = stretches * form::stretch;
    const int rows = layout_.part_blocks * banded_tensor_layout::unit_rows;
    const int run_length = run_length_of(place);
    const T* const images = reinterpret_cast<const T*>(memory.images + buffer * layout_.buffer_words);
    PRUMO_KEEP_LOOP
    for (int work = thread; work < places * rows; work += most_threads) {
      const int row_of_part = work / places;
      const row_target target = target_of(memory, place, part, row_of_part);
      const int which = work - row_of_part * places;
      result_place at = find(which / form::stretch);
      at.of_run += which % form::stretch;
      if (at.run * layout_.stacked_rows >= target.rows || at.of_run >= run_length) continue;
      const int unit_row = part * rows + row_of_part, stacked = by_channels_.quotient(unit_row);
      const int channel = unit_row - stacked * static_cast<int>(problem_.out_channels);
      const T* const from = images + element_of(at) + stacked * static_cast<int>(problem_.row_stride) * layout_.pitch;
      float sum = add_filter_products(problem_, from, layout_.plane_elements, layout_.pitch, channel, 0.0f);
      if (problem_.bias != nullptr) sum = sum + target.bias;
      target.to[distance_of(at)] = T(activated_at_length(problem_.activation, sum));
    }
  }

  std::int64_t teams_;
  item_shares shares_;
  index_divider by_run_stretches_;
  index_divider by_runs_;
  index_divider by_columns_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
