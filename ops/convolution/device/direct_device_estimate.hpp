// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The time that the direct convolution takes on a device, about.

#include "direct_device_problem.hpp"
#include "item_shares.hpp"
#include "team_resources.hpp"
#include "tile/convolution_tile.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Tells the time of layouts with one tile.
template <class C>
class direct_device_estimate {
 protected:
  static constexpr auto pack_elements = static_cast<std::int64_t>(prumo::detail::device_pack_elements<C>);

  direct_device_estimate(const convolution_problem<C>& problem, std::int64_t element_bytes, convolution_tile tile,
                         const team_resources& resources)
      : problem_(problem), element_bytes_(element_bytes), tile_(tile), resources_(resources) {}

  /// The teams that a multiprocessor holds.
  std::int64_t resident_teams(const direct_device_layout& layout) const {
    const std::int64_t bytes =
        (layout.scratch_elements() + 16) * static_cast<std::int64_t>(sizeof(C)) + team_resources::reserved_bytes;
    return std::clamp<std::int64_t>(
        std::min(resources_.bytes_of_multiprocessor / bytes, resources_.threads_of_multiprocessor / layout.threads), 1,
        16);
  }

 public:
  /// The time in cycles of a multiprocessor, about: only the order of layouts counts. The constants were fitted to
  /// some thousand measured layouts of four convolutions on an H200: of those that were measured, the chosen one takes
  /// 5 % longer than the best on average.
  double estimate(const direct_device_layout& layout) const {
    const auto teams_of_part = static_cast<double>(layout.teams);
    const auto multiprocessors = static_cast<double>(resources_.multiprocessors);
    const double at_once = std::min(static_cast<double>(resident_teams(layout)),
                                    std::ceil(teams_of_part * layout.parts / multiprocessors));
    double warps_of_scheduler = at_once * layout.threads / 32.0 / 4;
    // Between barriers that come soon, the scheduler with the most warps is the last to finish.
    if (layout.is_stream || tile_.spreads) warps_of_scheduler = std::ceil(warps_of_scheduler);
    const auto images = static_cast<double>(problem_.images);
    const double image_bytes = static_cast<double>(layout.image_elements) * layout.chunks * sizeof(float);
    double rounds = 0, barriers = 0, copies = 0, images_of_team = 0;  // of a team
    if (layout.is_stream) {
      const double tiles = layout.tiles_of_image();
      const double of_team = std::ceil(images * tiles / teams_of_part);
      rounds = std::ceil(of_team / layout.tiles_at_once());
      barriers = std::ceil(of_team / layout.step_tiles);
      images_of_team = std::ceil(of_team / tiles);
      copies = layout.images * tiles >= tiles + 2.0 * layout.step_tiles - 2 ? 1 : barriers;
    } else {
      const auto shares = item_shares::of(layout.image_bands(problem_.images), layout.teams, layout.images);
      const auto whole = static_cast<double>(shares.whole_items);
      const int rest = shares.most_of_rest();
      // Without kept weights, items take 5 to 8 % longer beside streams than the constants say, which were fitted when
      // the last item counted as a whole one.
      const int last = tile_.keeps_weights || rest == 0 ? rest : layout.images;
      rounds = whole * rounds_of_item(layout, layout.images) + rounds_of_item(layout, last);
      images_of_team = whole * layout.images + last;
      barriers = (whole + (last > 0 ? 1 : 0)) * layout.chunks;
      copies = layout.buffers == 2 ? 1 : barriers;
    }
    const double compute = rounds * warps_of_scheduler * cycles_of_tile(layout) / busy_share(warps_of_scheduler);
    // Of a multiprocessor's share of the memory. The images that streams read at a time lie far from each other.
    const double bytes_of_cycle = layout.is_stream ? 18 : 28;
    const double memory = at_once * images_of_team * (image_bytes + bytes_of_results(layout)) / bytes_of_cycle;
    constexpr double wait = 1500, of_barrier = 10000;
    const double step_images = layout.is_stream ? std::max(1.0, layout.images / 2.0) : layout.images;
    const double not_hidden = copies * (wait + step_images * image_bytes / bytes_of_cycle) / at_once;
    // Before anything is computed, each thread copies its share of the filters and of the first images.
    constexpr double of_weight = 200, of_pack = 60;
    const double start =
        of_constants() +
        (of_weight * weights_elements_of(layout) + of_pack * step_images * image_bytes / 16) / layout.threads;
    return std::max(compute, memory) + 0.3 * std::min(compute, memory) + not_hidden +
           barriers * (of_barrier / (at_once * at_once) + 400) + start;
  }

  /// The same for a ring of images. No barrier stops its threads, and what they wait for is hidden. Fitted to the
  /// layers of two nets with 100, 1,000 and 10,000 images on an H200: of two layouts that took as long, this one counts
  /// as long.
  double estimate_ring(const direct_device_layout& layout) const {
    const double images_of_team = static_cast<double>(problem_.images) / layout.teams;
    const auto tiles = static_cast<std::int64_t>(std::ceil(images_of_team * layout.tiles_of_group()));
    // The last turn may be one of a few warps.
    const std::int64_t whole = tiles / layout.threads, last_warps = (tiles - whole * layout.threads + 31) / 32;
    const double of_last = std::ceil(static_cast<double>(last_warps) / 4);
    const double turns = static_cast<double>(whole) * layout.threads / 128.0 + of_last / busy_share(of_last);
    const double image_bytes = static_cast<double>(layout.image_elements) * sizeof(C);
    constexpr double bytes_of_cycle = 28, start = 3000, of_weight = 200;
    const double compute = turns * cycles_of_tile(layout, true);
    const double memory = images_of_team * (image_bytes + bytes_of_results(layout)) / bytes_of_cycle;
    return std::max(compute, memory) + 0.3 * std::min(compute, memory) + start + image_bytes / bytes_of_cycle +
           of_weight * weights_elements_of(layout) / layout.threads + of_constants();
  }

 private:
  /// The weights that a team brings to its scratch memory, with those that it brings again.
  double weights_elements_of(const direct_device_layout& layout) const {
    if (tile_.has_constant_weights) return 0;
    return static_cast<double>(layout.weights_elements) * (layout.weights_come_in_chunks() ? layout.chunks : 1);
  }
  /// What the copy of weights to constant memory takes before the kernel begins.
  double of_constants() const { return tile_.has_constant_weights ? 4000 : 0; }

  /// The tiles that a thread computes of an item of some images.
  static double rounds_of_item(const direct_device_layout& layout, int images) {
    const double groups = std::max(1, layout.channel_groups);
    const double tiles = layout.tiles_of_image() * images;
    if (layout.channel_groups == 0) return std::ceil(tiles / layout.tiles_at_once());
    return std::ceil(layout.channel_tiles / groups) * std::ceil(tiles / layout.channel_tiles * groups / layout.threads);
  }

  /// The share of its cycles in which a scheduler finds a warp that does not wait for a load.
  static double busy_share(double warps) { return std::min(1.0, 0.55 + 0.2 * warps); }

  /// Those of a scheduler for a tile of 32 threads.
  double cycles_of_tile(const direct_device_layout& layout, bool has_ring = false) const {
    const double sums = tile_.sums(), products_of_tap = tile_.products();
    const auto filter_rows = static_cast<double>(problem_.in_channels * problem_.filter_rows);
    const auto filter_columns = static_cast<double>(problem_.filter_columns);
    const double row_elements = tile_.spreads ? tile_.columns : tile_.columns + filter_columns - 1;
    const double row_loads = std::ceil(row_elements / tile_.input_pack(pack_elements));
    const double weight_loads = filter_columns * tile_.channels / pack_elements;
    double loads_of_x = row_loads * tile_.rows;  // for a row of the filters
    if (tile_.filter_rows > 0) loads_of_x = row_loads * (1 + (tile_.rows - 1.0) / tile_.filter_rows);
    if (tile_.filter_columns == 0) loads_of_x = 2.0 * filter_columns * tile_.rows;
    double weight_loads_of_row = weight_loads;
    if (tile_.filter_columns == 0) weight_loads_of_row = filter_columns + weight_loads;
    if (tile_.keeps_weights) weight_loads_of_row = 0;
    const double loads = loads_of_x + weight_loads_of_row;
    // The scratch memory serves four schedulers, a warp of 16 bytes a thread in four cycles. Neighbouring threads meet
    // in its banks if their packs have gaps between them.
    const double input_pack = tile_.input_pack(pack_elements);
    const double conflicts = input_pack == 4 ? tile_.columns / 4.0 : 1;
    const double scratch_cycles =
        tile_.filter_columns > 0 ? 4 * (input_pack * conflicts * loads_of_x + weight_loads_of_row) : 0;
    // A multiply-add takes more than a cycle, because two operands often come from one bank of registers.
    const double of_product = tile_.has_constant_weights ? 1.0
                              : tile_.keeps_weights      ? 1.1
                              : has_ring                 ? 1.15
                              : tile_.filter_rows > 0    ? 1.25
                                                         : 1.2;
    const double of_row = tile_.keeps_weights ? 0 : 8;
    const double of_tile = tile_.keeps_weights ? 60 : 200;
    const double products =
        filter_rows * std::max(of_product * filter_columns * products_of_tap + 1.3 * loads + of_row, scratch_cycles);
    const double side = layout.keeps_results ? 1 : std::max(1, layout.tile_window);
    const double activations = is_long(problem_.activation) ? 30.0 * sums / (side * side) : 0;
    const double shared = static_cast<double>(tile_.sum_columns() - tile_.columns) * tile_.channels;
    const double exchanges = 3 * shared * static_cast<double>(problem_.filter_rows);
    return products + exchanges + of_tile +
           (layout.keeps_results  ? 25.0
            : tile_.keeps_weights ? 1.5
                                  : 3.0) *
               sums +
           activations;
  }

  /// Bytes of y that the tiles of an image store. To store parts of a sector of 32 bytes takes as long as more bytes.
  double bytes_of_results(const direct_device_layout& layout) const {
    const int side = std::max(1, layout.tile_window), columns = tile_.columns / side;
    double bytes = static_cast<double>(layout.band_rows * problem_.y_columns) * layout.channel_tiles * tile_.channels *
                   static_cast<double>(element_bytes_);
    if (layout.keeps_results) return bytes;
    if (layout.result_pack < columns) {
      bytes *= results_at_once(columns) == 4 ? 1.3 : 2;  // neighbouring threads store with gaps
    }
    const bool is_streamed = tile_.keeps_weights && layout.result_pack > 1;
    if (tile_.rows > side) bytes *= is_streamed ? 1.5 : 2.5;  // and so do the rows of a tile
    return bytes;
  }

 protected:
  const convolution_problem<C>& problem_;
  std::int64_t element_bytes_;
  convolution_tile tile_;
  team_resources resources_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
