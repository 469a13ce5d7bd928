// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution in a device's matrix units, without copies of the image for each place of the filter.
///
/// A team keeps the weights in its scratch memory, in the order in which a warp takes them as the left operand of its
/// matrix unit, and images. Those of 16 bits it keeps twice, the second time an element further: a thread reads two
/// neighbouring elements of the right operand as one word, and the word of an odd place begins in the middle of one of
/// the first copy. So each product takes two loads and little arithmetic on addresses. See tensor_layout.hpp for lines
/// and steps.
///
/// A line has 8 taps, and the weights behind the filter's last one are zero. They meet elements that do not belong to
/// the sum, which changes it only if these are infinite or no numbers. An item that has such an element is computed sum
/// by sum.

#include "gemm_activation.hpp"
#include "tensor_inputs.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// T is f16, bf16, or float, whose elements the unit cuts to TF32. IsByRows if runs are rows, and the filter goes from
/// one column to the next.
template <class T, bool IsByRows>
class tensor_kernel : tensor_inputs<T> {
  using inputs = tensor_inputs<T>;
  using inputs::by_channels_;
  using inputs::copy_again;
  using inputs::copy_images;
  using inputs::copy_weights;
  using inputs::lanes;
  using inputs::layout_;
  using inputs::place_of;
  using inputs::problem_;
  using inputs::scratch_of;
  using typename inputs::form;
  using typename inputs::index_divider;
  using typename inputs::item_place;
  using typename inputs::scratch;
  using typename inputs::word;
  static constexpr int tiles = form::tiles;

 public:
  static constexpr int most_threads = tensor_layout::threads;
  static constexpr int resident_teams = tensor_layout::resident_teams;

  tensor_kernel(const convolution_problem<T>& problem, const tensor_layout& layout, std::int64_t teams)
      : inputs(problem, layout),
        teams_(teams),
        items_(layout.items(problem.images)),
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
    const int teams_of_part = member.league_size() / layout_.parts;
    const scratch memory = scratch_of(member);
    for (int at = thread; at < layout_.images_words(); at += most_threads) memory.images[at] = 0;
    copy_weights(memory, part, thread);
    if (thread == 0) *memory.is_unusual = 0;
    member.team_barrier();

    std::int64_t item = member.league_rank() / layout_.parts;
    int buffer = 0;
    if (item < items_) copy_images(memory, item, buffer, thread);
    while (item < items_) {
      wait_for_copies();
      member.team_barrier();
      copy_again(memory, buffer, thread);
      member.team_barrier();
      const std::int64_t next = item + teams_of_part;
      const bool is_prefetched = layout_.buffers() == 2;
      if (is_prefetched && next < items_) copy_images(memory, next, 1 - buffer, thread);
      if (*memory.is_unusual != 0) {
        compute_sums(memory, item, part, buffer, thread);
      } else {
        compute(memory, item, part, buffer, thread);
      }
      member.team_barrier();
      if (thread == 0) *memory.is_unusual = 0;
      if (!is_prefetched && next < items_) copy_images(memory, next, buffer, thread);
      item = next;
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

  KOKKOS_FORCEINLINE_FUNCTION void compute(const scratch& memory, std::int64_t item, int part, int buffer,
                                           int thread) const {
    const item_place place = place_of(item);
    const int stretches = place.images * layout_.runs * layout_.run_stretches;
    const int groups = (stretches + form::stretches_of_group - 1) / form::stretches_of_group;
    const int lane = thread % lanes;
    PRUMO_KEEP_LOOP
    for (int work = thread / lanes; work < groups * layout_.part_blocks; work += tensor_layout::warps) {
      const int group = layout_.part_blocks == 1 ? work : work / layout_.part_blocks;
      const int block = work - group * layout_.part_blocks;
      const int first = group * form::stretches_of_group;
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
          add_product<T>(left, operand[line + tile % 2 * distance], operand[next + tile % 2 * distance], sums[tile]);
        }
        weights += 128;
      }
      PRUMO_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int row_of_part = block * tensor_layout::unit_rows + lane / 4 + half * 8;
        const int unit_row = part * layout_.part_blocks * tensor_layout::unit_rows + row_of_part;
        const int stacked = by_channels_.quotient(unit_row);
        if (stacked >= layout_.stacked_rows) continue;
        const int channel = unit_row - stacked * static_cast<int>(problem_.out_channels);
        PRUMO_UNROLL
        for (int which = 0; which < form::stretches_of_group; ++which) {
          if (first + which >= stretches) break;
          float results[4];
          PRUMO_UNROLL
          for (int i = 0; i < 4; ++i) results[i] = sums[2 * which + i / 2][half * 2 + i % 2];
          result_place at = places[which];
          at.of_run += lane % 4 * 4;
          store(run_at(place, at, channel, stacked), memory.bias[row_of_part], results);
        }
      }
    }
  }

  /// Neighbouring results of an output channel in y.
  struct run_of_results {
    T* to;
    int count;
    std::int64_t distance;
  };

  KOKKOS_FORCEINLINE_FUNCTION run_of_results run_at(const item_place& place, const result_place& at, int channel,
                                                    int stacked) const {
    T* const plane = problem_.y.plane(place.first_image + at.image, channel);
    const int rows_left = static_cast<int>(problem_.rows) - place.first_row;
    if (layout_.has_flat_results) {
      const int columns = static_cast<int>(problem_.columns);
      const int length = (rows_left < layout_.band_blocks ? rows_left : layout_.band_blocks) * columns;
      return {plane + std::int64_t{place.first_row} * columns + at.of_run, length - at.of_run, 1};
    }
    const int row = at.run * layout_.stacked_rows + stacked;
    return {plane + (place.first_row + row) * problem_.y.row_stride + at.of_run * problem_.y.column_stride,
            row < rows_left ? layout_.run_length - at.of_run : 0, problem_.y.column_stride};
  }

  /// Activates and stores neighbouring results.
  KOKKOS_FORCEINLINE_FUNCTION void store(const run_of_results& run, float bias, float (&results)[4]) const {
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
    const auto address = reinterpret_cast<std::uintptr_t>(run.to);
    if (run.count >= 4 && run.distance == 1 && address % (4 * sizeof(T)) == 0) {
      prumo::detail::store_pack(run.to,
                                prumo::detail::device_pack<T, 4>{rounded[0], rounded[1], rounded[2], rounded[3]});
    } else if (run.count >= 4 && run.distance == 1 && address % (2 * sizeof(T)) == 0) {
      prumo::detail::store_pack(run.to, prumo::detail::device_pack<T, 2>{rounded[0], rounded[1]});
      prumo::detail::store_pack(run.to + 2, prumo::detail::device_pack<T, 2>{rounded[2], rounded[3]});
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (i < run.count) run.to[i * run.distance] = rounded[i];
      }
    }
  }

  /// The results of an item sum by sum.
  KOKKOS_FUNCTION void compute_sums(const scratch& memory, std::int64_t item, int part, int buffer, int thread) const {
    const item_place place = place_of(item);
    const int stretches = place.images * layout_.runs * layout_.run_stretches;
    const int places = stretches * form::stretch;
    const int rows = layout_.part_blocks * tensor_layout::unit_rows;
    const T* const images = reinterpret_cast<const T*>(memory.images + buffer * layout_.buffer_words);
    PRUMO_KEEP_LOOP
    for (int work = thread; work < places * rows; work += most_threads) {
      const int row_of_part = work / places;
      const int unit_row = part * rows + row_of_part;
      const int stacked = by_channels_.quotient(unit_row);
      const int channel = unit_row - stacked * static_cast<int>(problem_.out_channels);
      if (stacked >= layout_.stacked_rows) continue;
      const int which = work - row_of_part * places;
      result_place at = find(which / form::stretch);
      at.of_run += which % form::stretch;
      const run_of_results run = run_at(place, at, channel, stacked);
      if (run.count <= 0) continue;
      const T* const from = images + element_of(at) + stacked * static_cast<int>(problem_.row_stride) * layout_.pitch;
      float sum = 0;
      PRUMO_KEEP_LOOP
      for (int input = 0; input < problem_.in_channels; ++input) {
        const T* const filter = problem_.w.plane(channel, input);
        PRUMO_KEEP_LOOP
        for (int p = 0; p < problem_.filter_rows; ++p) {
          PRUMO_KEEP_LOOP
          for (int q = 0; q < problem_.filter_columns; ++q) {
            sum = prumo::fma(static_cast<float>(filter[p * problem_.w.row_stride + q * problem_.w.column_stride]),
                             static_cast<float>(from[input * layout_.plane_elements + p * layout_.pitch + q]), sum);
          }
        }
      }
      if (problem_.bias != nullptr) sum = sum + memory.bias[row_of_part];
      *run.to = T(activated_at_length(problem_.activation, sum));
    }
  }

  std::int64_t teams_;
  std::int64_t items_;
  index_divider by_run_stretches_;
  index_divider by_runs_;
  index_divider by_columns_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
