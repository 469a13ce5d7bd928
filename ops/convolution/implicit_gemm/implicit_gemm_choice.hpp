// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How an implicit matrix product cuts a convolution, and the time that it takes, about.

#include "convolution_problem.hpp"
#include "implicit_gemm_layout.hpp"
#include "team_resources.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace prumo::backend {

/// A layout, and its time in cycles of a multiprocessor, about: what direct_device_estimate tells of other layouts.
struct timed_implicit_gemm {
  implicit_gemm_layout layout;
  double time = std::numeric_limits<double>::infinity();
};

/// C is the type of the elements, which is that of the sums.
template <class C>
class implicit_gemm_choice {
 public:
  implicit_gemm_choice(const convolution_problem<C>& problem, const team_resources& resources)
      : problem_(problem), resources_(resources) {}

  /// Why the kernel cannot compute the problem, or an empty string. Its numbers of places and channels have 32 bits.
  std::string_view why_not() const {
    if (problem_.in_channels == 0) return "there is no input channel";
    constexpr std::int64_t most = std::int64_t{1} << 30;
    const std::int64_t sides[] = {problem_.images,      problem_.in_channels,    problem_.height,
                                  problem_.width,       problem_.out_channels,   problem_.filter_rows,
                                  problem_.row_stride,  problem_.column_stride,  problem_.rows,
                                  problem_.columns,     problem_.filter_columns, problem_.rows * problem_.columns,
                                  problem_.row_padding, problem_.column_padding};
    if (*std::max_element(std::begin(sides), std::end(sides)) > most || places() > most) {
      return "there are more than 2^30 results of a channel, or a side is longer";
    }
    constexpr std::int64_t most_filter_columns = 32;  // a thread has a bit for each
    if (problem_.filter_columns > most_filter_columns) return "a filter has more than 32 columns";
    return {};
  }

  /// The layout with the least time; one without a tile if no row of the filters fits.
  timed_implicit_gemm best() const {
    timed_implicit_gemm result;
    for (std::size_t which = 0; which < implicit_gemm_tiles.size(); ++which) {
      const implicit_gemm_layout layout = layout_of(static_cast<int>(which));
      if (layout.tile < 0) continue;
      if (const double time = time_of(layout); time < result.time) result = {layout, time};
    }
    return result;
  }

  implicit_gemm_layout layout_of(int which) const {
    const implicit_gemm_tile tile = implicit_gemm_tiles[static_cast<std::size_t>(which)];
    constexpr std::int64_t most_terms = 40, few_terms = 32;
    const std::int64_t bytes =
        std::min(resources_.bytes_of_team, resources_.bytes_of_multiprocessor / tile.resident_teams()) -
        team_resources::reserved_bytes;
    const std::int64_t bytes_of_term = 2 * static_cast<std::int64_t>(sizeof(C)) * (tile.channels() + tile.places());
    const std::int64_t room = std::min(most_terms, bytes / bytes_of_term);
    const std::int64_t taps = problem_.filter_rows * problem_.filter_columns;
    implicit_gemm_layout layout;
    if (taps <= room) {
      const std::int64_t most_channels = std::max<std::int64_t>(1, std::min(few_terms, room) / taps);
      const std::int64_t slabs = (problem_.in_channels + most_channels - 1) / most_channels;
      layout.slab_channels = static_cast<int>((problem_.in_channels + slabs - 1) / slabs);
      layout.slab_rows = static_cast<int>(problem_.filter_rows);
    } else {
      layout.slab_rows = static_cast<int>(room / problem_.filter_columns);
      if (layout.slab_rows == 0) return layout;
    }
    layout.terms_of_slab = layout.slab_channels * layout.slab_rows * static_cast<int>(problem_.filter_columns);
    layout.channel_tiles = static_cast<int>((problem_.out_channels + tile.channels() - 1) / tile.channels());
    layout.weights_pitch = layout.channel_tiles * tile.channels();
    layout.stores_packs = stores_packs();
    layout.tile = which;
    return layout;
  }

 private:
  std::int64_t places() const { return problem_.images * problem_.rows * problem_.columns; }

  /// Whether the results of four places, of which the first one's number is a multiple of four, are neighbours that
  /// can be stored at once.
  bool stores_packs() const {
    constexpr std::int64_t pack = 4;
    const bool has_whole_rows = problem_.columns % pack == 0 && problem_.y.row_stride % pack == 0;
    const bool has_no_gaps = problem_.y.row_stride == problem_.columns && problem_.rows * problem_.columns % pack == 0;
    return problem_.y.column_stride == 1 && (has_whole_rows || has_no_gaps) && problem_.y.channel_stride % pack == 0 &&
           problem_.y.image_stride % pack == 0 &&
           reinterpret_cast<std::uintptr_t>(problem_.y.data) % (pack * sizeof(C)) == 0;
  }

  double time_of(const implicit_gemm_layout& layout) const {
    const implicit_gemm_tile tile = implicit_gemm_tiles[static_cast<std::size_t>(layout.tile)];
    const auto terms = static_cast<double>(problem_.taps());
    const auto place_tiles = static_cast<double>((places() + tile.places() - 1) / tile.places());
    const double tiles = place_tiles * layout.channel_tiles;
    const auto multiprocessors = static_cast<double>(resources_.multiprocessors);
    const double at_once = std::min<double>(tile.resident_teams(), std::ceil(tiles / multiprocessors));
    const double rounds = std::ceil(tiles / (multiprocessors * at_once));
    const double warps_of_scheduler = at_once * tile.threads() / 32.0 / 4;
    // Of a thread, for a term: products, loads from the scratch memory, and copies to it.
    constexpr double of_product = 1.2, of_load = 1.3, loads = 4, of_element = 5, of_tap = 12, of_pack = 6;
    const double products = of_product * implicit_gemm_tile::of_thread * implicit_gemm_tile::of_thread;
    const double elements = static_cast<double>(tile.places()) / tile.threads();
    const double packs = tile.channels() / 4.0 / tile.threads();
    const double of_term =
        products + loads * of_load + elements * (of_element + of_tap / layout.slab_channels) + packs * of_pack;
    const double slabs = std::ceil(terms / layout.terms_of_slab);
    constexpr double of_slab = 60, of_tile = 1500, start = 6000;
    const double of_warp = terms * of_term + slabs * of_slab + of_tile;
    const double busy = std::min(1.0, 0.55 + 0.2 * warps_of_scheduler);
    const double compute = rounds * warps_of_scheduler * of_warp / busy;
    const double bytes =
        static_cast<double>(sizeof(C)) *
        (static_cast<double>(problem_.images * problem_.in_channels * problem_.height * problem_.width) +
         static_cast<double>(places() * problem_.out_channels));
    constexpr double bytes_of_cycle = 18;
    // Fitted to eleven convolutions of 3 to 512 channels on an H200, in the cycles of direct_device_estimate.
    constexpr double of_other_estimate = 0.85;
    return of_other_estimate * std::max(compute, bytes / multiprocessors / bytes_of_cycle) + start;
  }

  const convolution_problem<C>& problem_;
  team_resources resources_;
};

}  // namespace prumo::backend
