// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The direct convolution of whole images that come in bulk copies.
///
/// One team of many threads has a multiprocessor. It keeps a ring of images in its scratch memory, and the filters too,
/// unless they are in constant memory. In each turn, its threads take the next tiles, whichever images these are of,
/// and wait for these images only. Teams take images in turns, and share the tiles of the last images equally.
///
/// Threads are never more than a turn apart, so that what one of them executes is still in the cache for instructions
/// when the next one does.

#include "direct_device_inputs.hpp"
#include "image_ring.hpp"
#include "tile/constant_weights.hpp"
#include "window_results.hpp"
#include <prumo/detail/index_divider.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The elements of the problem are of type C.
/// \tparam Window the side of the pooling windows, of which maxima are stored. 1: nothing is pooled
template <class C, convolution_tile Tile, int Window>
class ring_device_kernel : direct_device_inputs<C, Tile> {
  using inputs = direct_device_inputs<C, Tile>;
  using inputs::copy_bias;
  using inputs::copy_weights_of;
  using inputs::layout_;
  using inputs::problem_;
  using inputs::scratch_of;
  using typename inputs::pack;
  using typename inputs::scratch;
  using sums_type = convolution_sums<C, Tile>;
  static_assert(Tile.filter_rows > 0 && Tile.filter_columns > 0);
  /// With constant weights, a tile is thousands of instructions that are executed once. They are in the cache for as
  /// long as all threads are near each other. Loops over input channels gain more if results are stored meanwhile.
  static constexpr bool overlaps = !Tile.has_constant_weights;
  using ring_type = image_ring<C, overlaps>;
  static_assert(Tile.keeps_weights == Tile.has_constant_weights, "registers hold no weights from tile to tile");

 public:
  using results = window_results<C, Tile, Window>;
  static constexpr convolution_tile tile = Tile;
  static constexpr int window = Window;
  static constexpr int most_threads = Tile.ring_threads();
  static constexpr int resident_teams = 1;

  ring_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : inputs(problem, type, layout),
        by_column_tiles_(layout.column_tiles),
        by_plane_tiles_(layout.row_tiles * layout.column_tiles),
        by_tiles_(layout.tiles_of_group()) {}

  std::int64_t blocks() const { return layout_.teams; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) +
           ring_type::bytes_of_flags(layout_.images) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const scratch memory = scratch_of(member);
    const int thread = member.team_rank();
    const share own(problem_.images, layout_, member.league_rank());
    const auto image_at = [&](int which) { return problem_.x.data + own.image(which) * problem_.x.image_stride; };
    ring_type ring(memory.planes, layout_.image_elements, memory.results, layout_.images, own.images);
    ring.clear(thread, layout_.threads);
    copy_bias(memory.bias, 0, thread);
    if constexpr (!Tile.has_constant_weights) copy_weights_of(memory, 0, thread);
    wait_for_copies();

    constexpr int together = overlaps ? prumo::detail::exchange_threads : 1;  // threads that skip a turn
    PRUMO_KEEP_LOOP
    for (int turn = 0; turn < own.tiles; turn += layout_.threads) {
      ring.begin_turn(member, by_tiles_.quotient(own.in_stream(turn)), image_at);
      if (turn + thread / together * together >= own.tiles) continue;
      const bool is_there = turn + thread < own.tiles;
      const int which = own.in_stream(is_there ? turn + thread : own.tiles - 1), image = by_tiles_.quotient(which);
      const tile_place at = tile_at(which - image * layout_.tiles_of_group());
      const C* const plane = ring.wait_for(image) + at.row * layout_.pitch + at.column;
      sums_type sums;
      if constexpr (Tile.has_constant_weights) {
        sums.set_to_filter_of_operands(plane, layout_.pitch,
                                       constant_weights<C, Tile>(problem_.w.data, problem_.out_channels));
      } else {
        add_products(plane, memory.weights + at.channels * layout_.weight_channels * layout_.filter_elements(), sums);
      }
      ring.end_reading(thread);
      if (!is_there) continue;
      if (problem_.bias != nullptr) sums.add_bias(memory.bias + at.channels * Tile.channels);
      const int channel = at.channels * Tile.channels;
      C* const y = problem_.y.data + own.image(image) * problem_.y.image_stride + channel * problem_.y.channel_stride;
      results::finish(problem_, layout_.result_pack,
                      {y, static_cast<int>(problem_.rows), static_cast<int>(problem_.y_rows),
                       static_cast<int>(problem_.out_channels) - channel},
                      at.row, at.column, sums);
    }
  }

 private:
  /// The images of a team, as a stream of tiles: whole images, and then a part of up to two of the last ones.
  struct share {
    int teams;
    int team;
    int whole;   ///< images that the team has for itself
    int images;  ///< with those that it shares
    int tiles;
    int whole_tiles;    ///< those of the images for itself
    int before;         ///< tiles of the first shared image that other teams compute
    int first_of_rest;  ///< the first shared image, among all shared ones

    KOKKOS_FORCEINLINE_FUNCTION share(std::int64_t all_images, const direct_device_layout& layout, int of_team)
        : teams(layout.teams), team(of_team), whole(static_cast<int>(all_images / teams)) {
      const int of_image = layout.tiles_of_group();
      const std::int64_t rest = (all_images - std::int64_t{whole} * teams) * of_image;
      const auto begin = static_cast<int>(rest * team / teams), end = static_cast<int>(rest * (team + 1) / teams);
      first_of_rest = begin / of_image;
      before = begin - first_of_rest * of_image;
      images = whole + (end > begin ? (end - 1) / of_image - first_of_rest + 1 : 0);
      whole_tiles = whole * of_image;
      tiles = whole_tiles + end - begin;
    }

    /// A tile among all of the team's images, of which the first shared one begins with tiles of others.
    KOKKOS_FORCEINLINE_FUNCTION int in_stream(int which) const { return which < whole_tiles ? which : which + before; }
    /// The image of the batch that one of the team's is.
    KOKKOS_FORCEINLINE_FUNCTION std::int64_t image(int which) const {
      return which < whole ? std::int64_t{which} * teams + team
                           : std::int64_t{whole} * teams + first_of_rest + which - whole;
    }
  };

  /// Where a tile lies in its image.
  struct tile_place {
    int channels;  ///< which tile of the channels
    int row;
    int column;
  };

  KOKKOS_FORCEINLINE_FUNCTION tile_place tile_at(int of_image) const {
    tile_place at{};
    at.channels = by_plane_tiles_.quotient(of_image);
    const int of_plane = of_image - at.channels * layout_.row_tiles * layout_.column_tiles;
    const int row = by_column_tiles_.quotient(of_plane);
    at.row = row * Tile.rows;
    at.column = (of_plane - row * layout_.column_tiles) * Tile.columns;
    return at;
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_products(const C* plane, const C* weights, sums_type& sums) const {
    const int channels = static_cast<int>(problem_.in_channels);
    PRUMO_KEEP_LOOP
    for (int c = 0; c < channels; ++c) {
      sums.add_filter_by_rows(plane, layout_.pitch, weights);
      plane += layout_.plane_elements;
      weights += layout_.filter_elements();
    }
  }

  prumo::detail::index_divider by_column_tiles_;
  prumo::detail::index_divider by_plane_tiles_;
  prumo::detail::index_divider by_tiles_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
