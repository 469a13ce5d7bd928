// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution on a device, without copies of the image for each place of the filter.
///
/// A team keeps filters in its scratch memory and takes one item after the other: images, or bands of them, that it
/// copies there too. A thread computes a tile of neighbouring output channels, rows and columns. It loads each element
/// of a row of the image once for all columns of the filter, and each weight once for all places of the tile.
/// Neighbouring threads take neighbouring tiles of a row, then of rows, of channels, and images, so that no thread of a
/// warp is idle, however narrow an image is.
///
/// Elements are converted when they are copied, so the arithmetic is compiled for the compute types alone.

#include "direct_device_results.hpp"
#include "index_divisor.hpp"

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The pointers of `problem` are to elements of `type`, whose compute type is C.
template <class C, convolution_tile Tile>
class direct_device_kernel : direct_device_results<C, Tile> {
  using results = direct_device_results<C, Tile>;
  using results::channels_of;
  using results::copy_bias;
  using results::copy_inputs;
  using results::finish;
  using results::keep;
  using results::layout_;
  using results::place_of;
  using results::problem_;
  using results::scratch_of;
  using results::store;
  using results::weights_of;
  using typename results::item_place;
  using typename results::pack;
  using typename results::scratch;
  using typename results::step;
  using typename results::sums_type;
  using typename results::tile_place;

 public:
  static constexpr convolution_tile tile = Tile;
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = Tile.resident_teams();

  direct_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : results(problem, type, layout),
        items_(layout.item_count(problem.images)),
        by_column_tiles_(layout.column_tiles),
        by_row_tiles_(layout.row_tiles),
        by_channel_tiles_(layout.channel_tiles) {}

  std::int64_t blocks() const { return layout_.teams; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const scratch memory = scratch_of(member);
    const int thread = member.team_rank();
    const int part = member.league_rank() % layout_.parts;
    const int team_of_part = member.league_rank() / layout_.parts;
    const int teams_of_part = member.league_size() / layout_.parts;
    const bool is_prefetched = layout_.buffers == 2;

    copy_bias(memory.bias, part, thread);
    step now{team_of_part, 0};
    if (now.item >= items_) return;
    copy_inputs(memory, now, part, 0, true, thread);
    sums_type sums;
    for (int buffer = 0;; buffer = is_prefetched ? 1 - buffer : 0) {
      step next = now;
      if (++next.chunk == layout_.chunks) next = {next.item + teams_of_part, 0};
      const bool has_next = next.item < items_;
      wait_for_copies();
      member.team_barrier();  // after it, nobody needs the other buffer
      if (is_prefetched && has_next) copy_inputs(memory, next, part, 1 - buffer, false, thread);
      compute(member, memory, now, part, buffer, sums);
      if (!has_next) break;
      if (!is_prefetched) {
        member.team_barrier();
        copy_inputs(memory, next, part, 0, false, thread);
      }
      now = next;
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION tile_place tile_at(int task) const {
    tile_place at{};
    int rest = by_column_tiles_.quotient(task);
    at.column = (task - rest * layout_.column_tiles) * Tile.columns;
    int next = by_row_tiles_.quotient(rest);
    at.row = (rest - next * layout_.row_tiles) * Tile.rows;
    at.image = by_channel_tiles_.quotient(next);
    at.channels = next - at.image * layout_.channel_tiles;
    return at;
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Member& member, const scratch& memory, const step& now, int part,
                                           int buffer, sums_type& sums) const {
    const item_place place = place_of(now.item);
    const int tasks = place.images * layout_.channel_tiles * layout_.row_tiles * layout_.column_tiles;
    const int channels = channels_of(now.chunk);
    const C* const planes = memory.planes + buffer * layout_.planes_elements;
    const C* const weights = weights_of(memory, buffer);
    for (int task = member.team_rank(); task < tasks; task += layout_.threads) {
      const tile_place at = tile_at(task);
      if (now.chunk == 0) sums.clear();
      add_products(planes + at.image * layout_.image_elements +
                       at.row * static_cast<int>(problem_.row_stride) * layout_.pitch +
                       at.column * static_cast<int>(problem_.column_stride),
                   weights + at.channels * layout_.chunk_channels * layout_.filter_elements(), channels, sums);
      if (now.chunk + 1 < layout_.chunks) continue;
      if (problem_.bias != nullptr) sums.add_bias(memory.bias + at.channels * Tile.channels);
      if (problem_.activation == activation_function::relu) sums.apply_relu();  // longer ones follow in finish()
      if (layout_.keeps_results) {
        keep(place, at, sums, memory.results);
      } else {
        store(place, part, at, sums);
      }
    }
    if (now.chunk + 1 == layout_.chunks && layout_.keeps_results) finish(member, memory.results, place, part);
  }

  /// sums += weights * elements, for the input channels of a chunk.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(const C* plane, const C* weights, int channels, sums_type& sums) const {
    const int pitch = layout_.pitch, filter_rows = layout_.filter_rows;
    const int distance = static_cast<int>(problem_.row_stride) * pitch;
    PRUMO_KEEP_LOOP
    for (int c = 0; c < channels; ++c) {
      const C* row = plane;
      PRUMO_KEEP_LOOP
      for (int p = 0; p < filter_rows; ++p) {
        if constexpr (Tile.filter_columns > 0) {
          sums.add_filter_row(row, distance, weights);
        } else {
          const int filter_columns = static_cast<int>(problem_.filter_columns);
          PRUMO_KEEP_LOOP
          for (int q = 0; q < filter_columns; ++q) {
            sums.add_tap(row + q, distance, static_cast<int>(problem_.column_stride), weights + q * Tile.channels);
          }
        }
        row += pitch;
        weights += layout_.weight_row;
      }
      plane += layout_.plane_elements;
    }
  }

  std::int64_t items_;
  index_divisor by_column_tiles_;
  index_divisor by_row_tiles_;
  index_divisor by_channel_tiles_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
