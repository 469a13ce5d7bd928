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

#include "direct_device_shares.hpp"
#include "tile/constant_weights.hpp"
#include "window_results.hpp"

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The pointers of `problem` are to elements of `type`, whose compute type is C.
/// \tparam Window 0: any problem; otherwise what window_results computes, by a tile that keeps weights
template <class C, convolution_tile Tile, int Window = 0>
class direct_device_kernel : direct_device_shares<C, Tile> {
  using shares = direct_device_shares<C, Tile>;
  using shares::after;
  using shares::by_column_tiles_;
  using shares::by_row_tiles_;
  using shares::channels_of;
  using shares::clear_planes;
  using shares::copy;
  using shares::copy_bias;
  using shares::copy_weights_of;
  using shares::end_of_tiles;
  using shares::finish;
  using shares::has;
  using shares::keep;
  using shares::layout_;
  using shares::place_of;
  using shares::plane_of;
  using shares::problem_;
  using shares::scratch_of;
  using shares::share_of;
  using shares::store;
  using shares::tile_at;
  using shares::tiles_of_image_;
  using shares::weights_of;
  using typename shares::item_place;
  using typename shares::pack;
  using typename shares::scratch;
  using typename shares::share_of_team;
  using typename shares::step;
  using typename shares::sums_type;
  using typename shares::tile_place;

  static_assert(Window == 0 || Tile.keeps_weights);

 public:
  static constexpr convolution_tile tile = Tile;
  static constexpr int window = Window;
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = Tile.resident_teams();
  static constexpr bool waits_itself = true;

  direct_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : shares(problem, type, layout) {}

  std::int64_t blocks() const { return std::int64_t{layout_.teams} * layout_.parts; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const scratch memory = scratch_of(member);
    const int thread = member.team_rank();
    share_of_team share = share_of(member);
    step now = share.first;
    prumo::detail::wait_for_work_before(member);
    if (!has(share, now)) return;
    copy_bias(memory.bias, share.part, thread);
    if constexpr (!Tile.has_constant_weights) copy_weights_of(memory, share.part, thread);
    if (layout_.staging == staging_kind::rows && problem_.is_padded()) {
      clear_planes(memory.planes, thread);
      member.team_barrier();
    }
    bool is_copied = false;
    sums_type sums;
    held_filter held;
    while (true) {
      if (!is_copied) copy(memory, share, now, now, thread);
      wait_for_copies();
      member.team_barrier();  // after it, nobody needs what was used before
      const step next = after(share, now);
      const bool has_next = has(share, next);
      is_copied = has_next && copy(memory, share, now, next, thread);
      if constexpr (Tile.spreads) {
        compute_spreading(member, memory, share, now, sums);
      } else if constexpr (Tile.keeps_weights) {
        compute_with_kept_weights(member, memory, share, now, held);
      } else {
        compute(member, memory, share, now, sums);
      }
      if (!has_next) break;
      if (!is_copied) member.team_barrier();
      now = next;
    }
  }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Member& member, const scratch& memory, const share_of_team& share,
                                           const step& now, sums_type& sums) const {
    const item_place place =
        layout_.is_stream ? item_place{now.image, 0, convolution_rows(problem_, 0, problem_.y_rows)} : place_of(now);
    const int end = layout_.is_stream ? end_of_tiles(share, now) : place.images * tiles_of_image_;
    const int channels = channels_of(now.chunk);
    const C* const weights = weights_of(memory, now);
    for (int which = now.first_tile + member.team_rank(); which < end; which += layout_.threads) {
      const tile_place at = tile_at(which);
      if (now.chunk == 0) sums.clear();
      add_products(plane_of(memory, now, at.image) + at.row * static_cast<int>(problem_.row_stride) * layout_.pitch +
                       at.column * static_cast<int>(problem_.column_stride),
                   weights + at.channels * layout_.weight_channels * layout_.filter_elements(), channels, sums);
      if (now.chunk + 1 < layout_.chunks) continue;
      activate_sums(memory, at, sums);
      if (layout_.keeps_results) {
        keep(place, at, sums, memory.results);
      } else {
        store(place, share.part, at, sums);
      }
    }
    if (now.chunk + 1 == layout_.chunks && layout_.keeps_results) finish(member, memory.results, place, share.part);
  }

  /// The same by threads that spread the elements of a row. Row k of y meets rows up to k of x, and row k + height the
  /// others: a thread computes both, one after the other, with all rows of the filter together.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute_spreading(const Member& member, const scratch& memory,
                                                     const share_of_team& share, const step& now,
                                                     sums_type& sums) const {
    const item_place place =
        layout_.is_stream ? item_place{now.image, 0, convolution_rows(problem_, 0, problem_.y_rows)} : place_of(now);
    const int end = layout_.is_stream ? end_of_tiles(share, now) : place.images * tiles_of_image_;
    constexpr int stretch_threads = prumo::detail::exchange_threads;
    const int stretch = member.team_rank() / stretch_threads, lane = member.team_rank() % stretch_threads;
    const int channels = static_cast<int>(problem_.in_channels), filter_rows = layout_.filter_rows;
    const int step_tiles = layout_.tiles_at_once(), height = layout_.row_tiles;
    PRUMO_KEEP_LOOP
    for (int first = now.first_tile + stretch * layout_.stretch_tiles; first < end; first += step_tiles) {
      const bool is_there = lane < layout_.stretch_tiles && first + lane < end;
      tile_place at = tile_at(is_there ? first + lane : first);
      const C* const plane = plane_of(memory, now, at.image) + at.column;
      const C* weights = memory.weights + at.channels * channels * layout_.filter_elements();
      const int turn = filter_rows - 1 - at.row;  // rows of the filter that meet the second row of y
      if (turn > 0) at.row += height;
      int row = at.row - (filter_rows - 1);
      sums.clear();
      PRUMO_KEEP_LOOP
      for (int p = 0; p < filter_rows;) {
        const C* of_channel = plane + row * layout_.pitch;
        const C* filter = weights;
        PRUMO_KEEP_LOOP
        for (int c = 0; c < channels; ++c) {
          sums.spread_row(of_channel, filter);
          of_channel += layout_.plane_elements;
          filter += layout_.filter_elements();
        }
        ++p;
        ++row;
        weights += layout_.weight_row;
        const bool is_done = p == turn || p == filter_rows;
        // All threads of a stretch exchange, if only one of them has a row of y. To ask whether one has took longer.
        sums.add_shared(is_done && at.column > 0, [&](C sum) { return prumo::detail::value_before(member, sum); });
        if (!is_done) continue;
        if (is_there) {
          activate_sums(memory, at, sums);
          store(place, share.part, at, sums);
        }
        sums.clear();
        if (p < filter_rows) {
          at.row -= height;
          row -= height;
        }
      }
    }
  }

  /// The filters of one tile of channels, which a thread keeps from one item to the next.
  struct held_filter {
    int channels = -1;  ///< none yet
    typename sums_type::held_weights weights;
  };

  /// Hides how a number was computed. To save registers, the compiler would compute it again for each tile, with a
  /// dozen products.
  static KOKKOS_FORCEINLINE_FUNCTION void keep_in_register([[maybe_unused]] std::int64_t& number) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(number));
#endif
  }

  /// Each group of the threads computes all tiles of its channels. There is one input channel.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute_with_kept_weights(const Member& member, const scratch& memory,
                                                             const share_of_team& share, const step& now,
                                                             held_filter& held) const {
    const item_place place = place_of(now);
    const int lanes = layout_.threads / layout_.channel_groups;
    const int group = member.team_rank() / lanes, lane = member.team_rank() - group * lanes;
    const int rows_of_tiles = place.images * layout_.row_tiles;
    const int first_row = by_column_tiles_.quotient(lane), row_step = by_column_tiles_.quotient(lanes);
    const int first_column = lane - first_row * layout_.column_tiles;
    const int column_step = lanes - row_step * layout_.column_tiles;
    const C* const planes = memory.planes + now.buffer * layout_.planes_elements;
    sums_type sums;
    PRUMO_KEEP_LOOP
    for (int channels = group; channels < layout_.channel_tiles; channels += layout_.channel_groups) {
      if constexpr (!Tile.has_constant_weights) {
        if (channels != held.channels) {
          held.weights.load(memory.weights + channels * layout_.filter_elements());
          held.channels = channels;
        }
      }
      auto target = this->target_of(place, share.part, channels);
      keep_in_register(target.first);
      int column_tile = first_column;
      PRUMO_KEEP_LOOP
      for (int row_of_tiles = first_row; row_of_tiles < rows_of_tiles;) {
        tile_place at{};
        at.channels = channels;
        at.column = column_tile * Tile.columns;
        at.image = by_row_tiles_.quotient(row_of_tiles);
        at.row = (row_of_tiles - at.image * layout_.row_tiles) * Tile.rows;
        const C* const plane = planes + at.image * layout_.image_elements + at.row * layout_.pitch + at.column;
        if constexpr (Tile.has_constant_weights) {
          sums.set_to_filter_of_operands(plane, layout_.pitch,
                                         constant_weights<C, Tile>(problem_.w.data, problem_.out_channels));
        } else {
          sums.set_to_filter(plane, layout_.pitch, held.weights);
        }
        if constexpr (Window > 0) {
          if (problem_.bias != nullptr) sums.add_bias(memory.bias + at.channels * Tile.channels);
          C* const y = problem_.y.data + target.first + at.image * static_cast<int>(problem_.y.image_stride);
          window_results<C, Tile, Window>::finish(problem_, layout_.result_pack,
                                                  {y, target.convolved_rows, target.rows, target.channels}, at.row,
                                                  at.column, sums);
        } else {
          activate_sums(memory, at, sums);
          if (layout_.keeps_results) {
            keep(place, at, sums, memory.results);
          } else {
            this->store_near(target, at, sums);
          }
        }
        row_of_tiles += row_step;
        column_tile += column_step;
        if (column_tile >= layout_.column_tiles) {
          column_tile -= layout_.column_tiles;
          ++row_of_tiles;
        }
      }
    }
    if constexpr (Window == 0) {
      if (layout_.keeps_results) finish(member, memory.results, place, share.part);
    }
  }

  /// Bias and relu. Longer activations, and those of maxima, follow when results are stored.
  KOKKOS_FORCEINLINE_FUNCTION void activate_sums(const scratch& memory, const tile_place& at, sums_type& sums) const {
    if (problem_.bias != nullptr) sums.add_bias(memory.bias + at.channels * Tile.channels);
    if (problem_.activation == activation_function::relu && !problem_.activates_maxima()) sums.apply_relu();
  }

  /// sums += weights * elements, for the input channels of a chunk.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(const C* plane, const C* weights, int channels, sums_type& sums) const {
    const int pitch = layout_.pitch, filter_rows = layout_.filter_rows;
    const int distance = static_cast<int>(problem_.row_stride) * pitch;
    PRUMO_KEEP_LOOP
    for (int c = 0; c < channels; ++c) {
      if constexpr (Tile.filter_rows > 0) {
        typename sums_type::held_weights held;
        held.load(weights);
        sums.add_filter(plane, pitch, held);
        weights += layout_.filter_elements();
        plane += layout_.plane_elements;
        continue;
      }
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
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
