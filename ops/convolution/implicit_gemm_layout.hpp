// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the convolution as an implicit matrix product cuts its sums.

#include <Kokkos_Macros.hpp>

#include <array>
#include <cstdint>

namespace prumo::backend {

/// The threads of a team: a rectangle, in which each thread has the sums of 8 output channels at 8 places.
struct implicit_gemm_tile {
  static constexpr int of_thread = 8;  ///< output channels, and places
  int channel_threads;
  int place_threads;

  KOKKOS_FUNCTION constexpr int channels() const { return channel_threads * of_thread; }
  KOKKOS_FUNCTION constexpr int places() const { return place_threads * of_thread; }
  KOKKOS_FUNCTION constexpr int threads() const { return channel_threads * place_threads; }
  /// The teams of a multiprocessor, whose threads have 128 registers each.
  KOKKOS_FUNCTION constexpr int resident_teams() const { return 512 / threads(); }
  constexpr bool operator==(const implicit_gemm_tile&) const = default;
};

/// The tiles that are compiled. Wide ones read fewer elements, and narrow ones compute less that is not there.
inline constexpr std::array<implicit_gemm_tile, 4> implicit_gemm_tiles = {
    implicit_gemm_tile{16, 16}, {8, 16}, {4, 32}, {2, 64}};

/// A *place* is one of the filter in one of the images. A *term* is a product of a sum: term (c, p, q) is that of row p
/// and column q of the filter in input channel c, and all sums are added up in the order of their terms. A *slab* is
/// what the team's scratch memory holds at a time: the elements and weights of some neighbouring terms. These are those
/// of some input channels or, if a channel's do not fit, those of some rows of its filter.
struct implicit_gemm_layout {
  int tile = -1;              ///< which of implicit_gemm_tiles; -1: no layout
  int slab_channels = 1;      ///< input channels of a slab
  int slab_rows = 1;          ///< rows of their filters
  int terms_of_slab = 1;      ///< at most
  int channel_tiles = 1;      ///< tiles of output channels
  int weights_pitch = 8;      ///< from the arranged weights of a term to those of the next one, in elements
  bool stores_packs = false;  ///< whether four neighbouring results are stored at once
};

}  // namespace prumo::backend
