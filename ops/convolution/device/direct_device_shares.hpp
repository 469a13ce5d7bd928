// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The share of a team in the direct convolution on a device: which items or tiles it takes one after the other, and
/// when it copies what it needs for them.

#include "direct_device_results.hpp"
#include "item_shares.hpp"
#include <prumo/detail/index_divider.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C, convolution_tile Tile>
class direct_device_shares : protected direct_device_results<C, Tile> {
  using results = direct_device_results<C, Tile>;

 protected:
  using results::copy_inputs;
  using results::layout_;
  using results::place_of;
  using results::problem_;
  using typename results::item_place;
  using typename results::scratch;
  using typename results::step;
  using typename results::tile_place;

  direct_device_shares(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : results(problem, type, layout),
        by_column_tiles_(layout.column_tiles),
        by_row_tiles_(layout.row_tiles),
        by_channel_tiles_(layout.channel_tiles),
        tiles_of_image_(layout.tiles_of_image()),
        by_tiles_of_image_(tiles_of_image_) {
    const auto shares = item_shares::of(layout.image_bands(problem.images), layout.teams, layout.images);
    whole_items_ = shares.whole_items;
    rest_of_each_ = shares.rest_of_each;
    teams_with_more_ = shares.teams_with_more;
  }

  /// What a team computes.
  struct share_of_team {
    int part;
    int team;  ///< of those of its part
    step first;
    std::int64_t end;           ///< of the images, or of the tiles of a stream
    std::int64_t copied_until;  ///< the image of a stream that is copied next
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION share_of_team share_of(const Member& member) const {
    const int team = member.league_rank() / layout_.parts;
    share_of_team share{member.league_rank() % layout_.parts, team, {}, 0, 0};
    if (layout_.is_stream) {
      const int together = layout_.inseparable_tiles(), teams = layout_.teams;
      const std::int64_t units = problem_.images * (tiles_of_image_ / together),
                         begin = units * team / teams * together;
      share.end = units * (team + 1) / teams * together;
      share.copied_until = begin / tiles_of_image_;
      share.first = {share.copied_until, 1, 0, static_cast<int>(begin - share.copied_until * tiles_of_image_), 0};
    } else {
      const item_shares shares = item_shares_of_teams();
      const std::int64_t image = shares.first(team);
      share.end = shares.end(team);
      share.first = {image, shares.count(team, image), 0, 0, 0};
    }
    return share;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool has(const share_of_team& share, const step& which) const {
    return (layout_.is_stream ? which.image * tiles_of_image_ + which.first_tile : which.image) < share.end;
  }

  KOKKOS_FORCEINLINE_FUNCTION step after(const share_of_team& share, const step& now) const {
    step next = now;
    if (layout_.is_stream) {
      const int first = now.first_tile + layout_.step_tiles, images = by_tiles_of_image_.quotient(first);
      next.image += images;
      next.first_tile = first - images * tiles_of_image_;
      next.buffer += images;
      if (next.buffer >= layout_.images) next.buffer -= layout_.images;
      return next;
    }
    if (++next.chunk == layout_.chunks) {
      const item_shares shares = item_shares_of_teams();
      next.image = shares.after(share.team, now.image);
      next.images = shares.count(share.team, next.image);
      next.chunk = 0;
    }
    if (layout_.buffers == 2) next.buffer = 1 - now.buffer;
    return next;
  }

  /// The tiles of a step of a stream, counted from the first of its first image.
  KOKKOS_FORCEINLINE_FUNCTION int end_of_tiles(const share_of_team& share, const step& now) const {
    const std::int64_t left = share.end - now.image * tiles_of_image_;
    const int end = now.first_tile + layout_.step_tiles;
    return left < end ? static_cast<int>(left) : end;
  }

  /// Copies what a step needs, as far as this does not take the place of what another needs that is still computed.
  /// \return whether it is all there
  KOKKOS_FORCEINLINE_FUNCTION bool copy(const scratch& memory, share_of_team& share, const step& now, const step& which,
                                        int thread) const {
    if (!layout_.is_stream) {
      const bool has_place = which.image == now.image && which.chunk == now.chunk ? true : layout_.buffers == 2;
      if (has_place) copy_inputs(memory, which, place_of(which), share.part, thread);
      return has_place;
    }
    const std::int64_t needed = which.image + by_tiles_of_image_.quotient(end_of_tiles(share, which) - 1) + 1;
    const std::int64_t has_places_until = now.image + layout_.images;
    const std::int64_t end = needed < has_places_until ? needed : has_places_until;
    for (; share.copied_until < end; ++share.copied_until) {
      step image = now;
      image.image = share.copied_until;
      image.buffer += static_cast<int>(share.copied_until - now.image);
      if (image.buffer >= layout_.images) image.buffer -= layout_.images;
      copy_inputs(memory, image, {image.image, 1, convolution_rows(problem_, 0, problem_.y_rows)}, share.part, thread);
    }
    return share.copied_until >= needed;
  }

  KOKKOS_FORCEINLINE_FUNCTION tile_place tile_at(int which) const {
    tile_place at{};
    int rest = by_column_tiles_.quotient(which);
    at.column = (which - rest * layout_.column_tiles) * Tile.columns;
    int next = by_row_tiles_.quotient(rest);
    at.row = (rest - next * layout_.row_tiles) * Tile.rows;
    at.image = by_channel_tiles_.quotient(next);
    at.channels = next - at.image * layout_.channel_tiles;
    return at;
  }

  KOKKOS_FORCEINLINE_FUNCTION const C* plane_of(const scratch& memory, const step& now, int image) const {
    if (!layout_.is_stream)
      return memory.planes + now.buffer * layout_.planes_elements + image * layout_.image_elements;
    const int place = now.buffer + image;
    return memory.planes + (place < layout_.images ? place : place - layout_.images) * layout_.image_elements;
  }

  prumo::detail::index_divider by_column_tiles_;
  prumo::detail::index_divider by_row_tiles_;
  prumo::detail::index_divider by_channel_tiles_;
  int tiles_of_image_;  ///< or of a band of it
  prumo::detail::index_divider by_tiles_of_image_;

 private:
  // The kernel must stay a light_kernel, so it has only what the layout has not.
  KOKKOS_FORCEINLINE_FUNCTION item_shares item_shares_of_teams() const {
    return {layout_.teams, layout_.images, whole_items_, rest_of_each_, teams_with_more_};
  }
  int whole_items_;
  int rest_of_each_;
  int teams_with_more_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
