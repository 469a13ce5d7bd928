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
///
/// Few images take little longer than what happens before the first product. So a team finds its share by additions,
/// while the kernel before still runs.

#include "byte_ring.hpp"
#include "direct_device_inputs.hpp"
#include "image_ring.hpp"
#include "tile/constant_weights.hpp"
#include "window_results.hpp"
#include <prumo/detail/index_divider.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The elements of the problem are of type C.
/// \tparam Window the side of the pooling windows, of which maxima are stored. 1: nothing is pooled
/// \tparam OfBytes whether the images are bytes instead, which become numbers in the scratch memory. C is float then
template <class C, convolution_tile Tile, int Window, bool OfBytes = false>
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
  using ring_type = std::conditional_t<OfBytes, byte_ring, image_ring<C, overlaps>>;
  /// Whether the first images are brought before the first turn. With few images that takes 0.6 us less. Elsewhere,
  /// nvcc then makes loops that take longer: 342 instead of 332 us for 10,000 images and 6 to 16 channels.
  static constexpr bool brings_early = OfBytes || (Tile.has_constant_weights && Window > 1);
  static_assert(Tile.keeps_weights == Tile.has_constant_weights, "registers hold no weights from tile to tile");
  static_assert(!OfBytes || (!overlaps && std::is_same_v<C, float>));

 public:
  using results = window_results<C, Tile, Window>;
  static constexpr convolution_tile tile = Tile;
  static constexpr int window = Window;
  static constexpr int most_threads = Tile.ring_threads();
  static constexpr int resident_teams = 1;
  static constexpr bool waits_itself = true;

  ring_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : inputs(problem, type, layout),
        by_column_tiles_(layout.column_tiles),
        by_plane_tiles_(layout.row_tiles * layout.column_tiles),
        by_tiles_(layout.tiles_of_group()),
        shares_(problem.images, layout) {}

  /// \param problem whose pointer to images is that to their bytes
  ring_device_kernel(const convolution_problem<C>& problem, const direct_device_layout& layout,
                     const byte_numbers& numbers)
    requires OfBytes
      : ring_device_kernel(problem, dtype::f32, layout) {
    numbers_ = numbers;
  }

  std::int64_t blocks() const { return layout_.teams; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(layout_.scratch_elements()) * sizeof(C) +
           ring_type::bytes_beside_images(layout_.images, layout_.image_elements) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    using element = typename ring_type::element;
    const scratch memory = scratch_of(member);
    const int thread = member.team_rank(), threads = layout_.threads;
    const share own(shares_, member.league_rank(), layout_.tiles_of_group(), by_tiles_);
    const auto* const images = reinterpret_cast<const element*>(problem_.x.data);
    const auto image_at = [&](int which) { return images + own.image(which) * problem_.x.image_stride; };
    ring_type ring = make_ring(memory, own.images);
    ring.clear(thread, threads);
    prumo::detail::wait_for_work_before(member);
    if constexpr (brings_early) ring.bring_first(thread, image_at);
    copy_bias(memory.bias, 0, thread);
    if constexpr (!Tile.has_constant_weights) copy_weights_of(memory, 0, thread);
    wait_for_copies();
    if constexpr (OfBytes) {
      member.team_barrier();
      ring.make_numbers(thread, threads, image_behind(own, threads), image_at);
    }

    constexpr int together = overlaps ? prumo::detail::exchange_threads : 1;  // threads that skip a turn
    PRUMO_KEEP_LOOP
    for (int turn = 0; turn < own.tiles; turn += threads) {
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
      if constexpr (OfBytes) ring.make_numbers(thread, threads, image_behind(own, turn + 2 * threads), image_at);
    }
  }

 private:
  /// How images are shared: each team has whole ones for itself. The tiles of the others are shared equally, up to one.
  struct equal_shares {
    int teams;
    int whole;  ///< images that a team has for itself
    int tiles;  ///< of the other images
    int more;   ///< the first teams of this number have one tile more of them

    equal_shares(std::int64_t images, const direct_device_layout& layout)
        : teams(layout.teams), whole(static_cast<int>(images / teams)) {
      const std::int64_t rest = (images - std::int64_t{whole} * teams) * layout.tiles_of_group();
      tiles = static_cast<int>(rest / teams);
      more = static_cast<int>(rest - std::int64_t{tiles} * teams);
    }
  };

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

    KOKKOS_FORCEINLINE_FUNCTION share(const equal_shares& of, int of_team, int tiles_of_image,
                                      const prumo::detail::index_divider& by_tiles_of_image)
        : teams(of.teams), team(of_team), whole(of.whole) {
      const int begin = of.tiles * team + (team < of.more ? team : of.more), own = of.tiles + (team < of.more ? 1 : 0);
      first_of_rest = by_tiles_of_image.quotient(begin);
      before = begin - first_of_rest * tiles_of_image;
      images = whole + (own > 0 ? by_tiles_of_image.quotient(begin + own - 1) - first_of_rest + 1 : 0);
      whole_tiles = whole * tiles_of_image;
      tiles = whole_tiles + own;
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

  KOKKOS_FORCEINLINE_FUNCTION ring_type make_ring(const scratch& memory, int images) const {
    if constexpr (OfBytes) {
      return {memory.planes, layout_.image_elements, memory.results, layout_.images, images, numbers_};
    } else {
      return {memory.planes, layout_.image_elements, memory.results, layout_.images, images};
    }
  }

  /// The image behind the last one that the first `tiles` tiles of a team need.
  KOKKOS_FORCEINLINE_FUNCTION int image_behind(const share& own, int tiles) const {
    return tiles < own.tiles ? by_tiles_.quotient(own.in_stream(tiles - 1)) + 1 : own.images;
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
  equal_shares shares_;
  byte_numbers numbers_;  ///< of images of bytes
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
