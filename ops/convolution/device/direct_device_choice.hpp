// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which layout the direct convolution takes on a device.

#include "direct_device_problem.hpp"
#include "direct_device_tile.hpp"
#include "index_divisor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a device gives to the teams of a kernel.
struct team_resources {
  std::int64_t multiprocessors = 1;
  std::int64_t bytes_of_team = 48 << 10;            ///< the most scratch memory of one team
  std::int64_t bytes_of_multiprocessor = 64 << 10;  ///< for all teams that it holds
  int threads_of_team = 256;
  std::int64_t threads_of_multiprocessor = 512;  ///< with the registers that the kernel's bounds allow
};

/// Finds a layout.
template <class C>
class direct_device_choice {
  static constexpr auto pack_elements = static_cast<std::int64_t>(prumo::detail::device_pack_elements<C>);

 public:
  /// \param element_bytes those of the arrays
  direct_device_choice(const convolution_problem<C>& problem, std::int64_t element_bytes, convolution_tile tile,
                       const team_resources& resources)
      : problem_(problem),
        element_bytes_(element_bytes),
        tile_(tile),
        resources_(resources),
        all_tiles_((problem.out_channels + tile.channels - 1) / tile.channels) {}

  /// A layout and its estimated time. If nothing fits, the time is infinite.
  struct timed_layout {
    direct_device_layout layout;
    double time = std::numeric_limits<double>::infinity();
  };

  /// The layout that takes the least time by estimate.
  timed_layout best() const {
    timed_layout best;
    for (std::int64_t bands = 1;; bands *= 2) {
      const std::int64_t band_rows = (problem_.y_rows + bands - 1) / bands;
      for (std::int64_t parts = 1;; parts *= 2) {
        const std::int64_t most_images = bands == 1 ? std::min<std::int64_t>(8, problem_.images) : 1;
        for (std::int64_t images = 1; images <= most_images; ++images) {
          for (int buffers = 1; buffers <= 2; ++buffers) {
            const direct_device_layout layout = of(images, band_rows, parts, buffers);
            if (layout.threads == 0) continue;
            const double time = estimate(layout);
            if (time < best.time) best = {layout, time};
          }
        }
        if (parts >= all_tiles_) break;
      }
      if (band_rows <= tile_.rows || bands >= 64) break;
    }
    return best;
  }

  /// The layout with these cuts, and as few chunks as possible; no threads if it does not fit.
  direct_device_layout of(std::int64_t images, std::int64_t band_rows, std::int64_t parts, int buffers) const {
    for (std::int64_t chunks = 1; chunks <= std::max<std::int64_t>(1, problem_.in_channels); ++chunks) {
      direct_device_layout layout = in_chunks(images, band_rows, parts, buffers, chunks);
      if (layout.threads == 0) break;
      if (fits(layout)) {
        layout.teams = teams(layout);
        return layout;
      }
    }
    return none();
  }

  /// The teams that a multiprocessor holds.
  std::int64_t resident_teams(const direct_device_layout& layout) const {
    constexpr std::int64_t reserved_bytes = 1024;
    const std::int64_t bytes = (layout.scratch_elements() + 16) * static_cast<std::int64_t>(sizeof(C)) + reserved_bytes;
    return std::clamp<std::int64_t>(
        std::min(resources_.bytes_of_multiprocessor / bytes, resources_.threads_of_multiprocessor / layout.threads), 1,
        16);
  }

  /// The time in cycles of a multiprocessor, about: only the order of layouts counts. The constants were fitted to
  /// measured layouts of four convolutions on an H200.
  double estimate(const direct_device_layout& layout) const {
    const double rounds = std::ceil(static_cast<double>(layout.tasks()) / layout.threads);
    const double warps_of_scheduler = layout.threads / 32.0 / 4;
    const auto resident = static_cast<double>(resident_teams(layout));
    const auto total_items = static_cast<double>(layout.item_count(problem_.images) * layout.parts);
    const auto multiprocessors = static_cast<double>(resources_.multiprocessors);
    const double at_once = std::min(resident, std::ceil(total_items / multiprocessors));
    const double items = std::ceil(total_items / (multiprocessors * at_once)) * at_once;
    // The more warps a scheduler has, the more of the waiting for loads is hidden.
    const double busy = std::min(1.0, 0.55 + 0.2 * at_once * warps_of_scheduler);
    const double compute = items * rounds * warps_of_scheduler * cycles_of_tile(layout) / busy;
    constexpr double bytes_of_cycle = 28, wait = 1500;  // of a multiprocessor's share of the memory
    const double copy = static_cast<double>(layout.planes_elements) * layout.chunks * sizeof(float);
    const double memory = items * (copy + bytes_of_results(layout)) / bytes_of_cycle;
    const double hidden = layout.buffers == 2 ? 1.0 : (at_once - 1) / at_once;
    const double not_hidden = (copy / bytes_of_cycle + wait * layout.chunks) * (1 - hidden);
    constexpr double of_item = 2500;  // barriers, and the threads that wait for the last
    const double weights = 0.3 * static_cast<double>(layout.weights_elements) * layout.chunks * at_once;
    return std::max(compute, memory) + 0.3 * std::min(compute, memory) + items * (not_hidden + of_item) / at_once +
           weights;
  }

 private:
  /// Those of a scheduler for a tile of 32 threads.
  double cycles_of_tile(const direct_device_layout& layout) const {
    const double sums = tile_.sums();
    const auto filter_rows = static_cast<double>(problem_.in_channels * problem_.filter_rows);
    const auto filter_columns = static_cast<double>(problem_.filter_columns);
    const double loads =
        tile_.filter_columns > 0
            ? filter_columns * tile_.channels / pack_elements +
                  std::ceil((tile_.columns + filter_columns - 1) / tile_.input_pack(pack_elements)) * tile_.rows
            : filter_columns * (tile_.channels / pack_elements + 1.0 + 2.0 * tile_.rows);
    // A multiply-add takes more than a cycle, because two operands often come from one bank of registers.
    const double products = filter_rows * (1.2 * filter_columns * sums + 1.3 * loads + 8);
    return products + 200 + (layout.keeps_results ? 25.0 : 3.0) * sums;
  }

  /// Bytes of y that the tiles of an item store. To store parts of a sector of 32 bytes takes as long as more bytes.
  double bytes_of_results(const direct_device_layout& layout) const {
    constexpr std::int64_t sector_bytes = 32;
    const int side = std::max(1, layout.tile_window), columns = tile_.columns / side;
    double bytes = static_cast<double>(layout.band_rows * problem_.y_columns) * layout.channel_tiles * tile_.channels *
                   layout.images * static_cast<double>(element_bytes_);
    if (layout.keeps_results) return bytes;
    if (!layout.stores_packs || results_at_once(columns) < columns) bytes *= 2;  // neighbouring threads store with gaps
    if (tile_.rows > side && problem_.y.row_stride * element_bytes_ % sector_bytes != 0) bytes *= 2.5;
    return bytes;
  }

  /// Indices in a team's memory have 32 bits.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 26;

  static direct_device_layout none() {
    direct_device_layout layout;
    layout.threads = 0;
    return layout;
  }

  /// The teams to launch: a multiple of the parts.
  int teams(const direct_device_layout& layout) const {
    const std::int64_t wanted = resident_teams(layout) * resources_.multiprocessors;
    const std::int64_t teams_of_part =
        std::min(layout.item_count(problem_.images), std::max<std::int64_t>(1, wanted / layout.parts));
    return static_cast<int>(teams_of_part) * layout.parts;
  }

  bool fits(const direct_device_layout& layout) const {
    constexpr std::int64_t for_alignment = 16;
    return (layout.scratch_elements() + for_alignment) * static_cast<std::int64_t>(sizeof(C)) <=
           resources_.bytes_of_team;
  }

  direct_device_layout in_chunks(std::int64_t images, std::int64_t band_rows, std::int64_t parts, int buffers,
                                 std::int64_t wanted_chunks) const {
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    const auto divided = [](std::int64_t value, std::int64_t by) { return (value + by - 1) / by; };
    direct_device_layout layout;
    const bool is_whole = band_rows >= problem_.y_rows;
    const std::int64_t convolved_rows =
        problem_.is_pooled()
            ? std::min(problem_.rows, (band_rows - 1) * problem_.window.row_stride + problem_.window.height)
            : band_rows;
    const std::int64_t row_tiles = divided(convolved_rows, tile_.rows);
    const std::int64_t channel_tiles = divided(all_tiles_, parts), channels = channel_tiles * tile_.channels;
    const std::int64_t chunk = divided(problem_.in_channels, wanted_chunks);
    const std::int64_t chunks = chunk == 0 ? 1 : divided(problem_.in_channels, chunk);
    layout.staging = staging(is_whole, chunks);
    layout.tile_window = tile_window();
    layout.keeps_results = (problem_.is_pooled() && layout.tile_window == 0) || has_long_activation();
    layout.stores_packs = stores_packs(results_at_once(tile_.columns / std::max(1, layout.tile_window)));
    const std::int64_t needed_rows = (convolved_rows - 1) * problem_.row_stride + problem_.filter_rows;
    const bool has_all_rows = is_whole && layout.staging != staging_kind::elements;
    const std::int64_t plane_rows = has_all_rows ? problem_.height : needed_rows;
    const std::int64_t needed_columns = (problem_.columns - 1) * problem_.column_stride + problem_.filter_columns;
    const std::int64_t input_pack = tile_.input_pack(pack_elements);
    const std::int64_t pitch =
        divided(layout.staging == staging_kind::elements ? needed_columns : problem_.width, input_pack) * input_pack;
    const std::int64_t plane = plane_rows * pitch;
    const std::int64_t column_tiles = divided(problem_.columns, tile_.columns);
    // The last tiles reach beyond the last plane.
    const std::int64_t reached_row = (row_tiles * tile_.rows - 1) * problem_.row_stride + problem_.filter_rows - 1;
    const std::int64_t reached_columns =
        (column_tiles * tile_.columns - 1) * problem_.column_stride + problem_.filter_columns;
    const std::int64_t slack = std::max<std::int64_t>(0, reached_row * pitch + reached_columns - plane);
    const std::int64_t weight_row = tile_.weight_row_elements(problem_.filter_columns);
    const std::int64_t filter_of_tile = problem_.filter_rows * weight_row;
    const std::int64_t results = layout.keeps_results ? images * channels * convolved_rows * problem_.columns : 0;
    const std::int64_t tasks = column_tiles * row_tiles * channel_tiles * images;
    const std::int64_t extents[] = {plane_rows,
                                    pitch,
                                    plane,
                                    slack,
                                    channels,
                                    filter_of_tile,
                                    results,
                                    chunk,
                                    problem_.height,
                                    problem_.width,
                                    problem_.out_channels,
                                    problem_.in_channels};
    for (const std::int64_t each : extents) {
      if (each > most_elements) return none();
    }
    if (chunk * plane > most_elements || chunk * channel_tiles > most_elements / filter_of_tile) {
      return none();
    }
    if (tasks >= index_divisor::most) return none();
    const std::int64_t rounds = divided(tasks, resources_.threads_of_team);
    // Sums stay in registers from chunk to chunk, so each thread has one tile only.
    if (chunks > 1 && rounds > 1) return none();
    layout.threads = narrow(divided(divided(tasks, rounds), 32) * 32);
    layout.images = narrow(images);
    layout.band_rows = narrow(band_rows);
    layout.bands = narrow(divided(problem_.y_rows, band_rows));
    if (layout.bands > 1 && layout.item_count(problem_.images) > std::numeric_limits<int>::max()) return none();
    layout.parts = narrow(divided(all_tiles_, channel_tiles));
    layout.channel_tiles = narrow(channel_tiles);
    layout.row_tiles = narrow(row_tiles);
    layout.convolved_rows = narrow(convolved_rows);
    layout.chunk_channels = narrow(chunk);
    layout.chunks = narrow(chunks);
    layout.buffers = buffers;
    layout.pitch = narrow(pitch);
    layout.plane_rows = narrow(plane_rows);
    layout.plane_elements = narrow(layout.staging == staging_kind::images ? plane : layout.aligned(plane));
    layout.image_elements = narrow(layout.aligned(chunk * layout.plane_elements));
    layout.planes_elements = narrow(layout.aligned(images * layout.image_elements + slack));
    layout.column_tiles = narrow(column_tiles);
    layout.weight_row = narrow(weight_row);
    layout.filter_rows = narrow(problem_.filter_rows);
    layout.weights_elements = narrow(chunk * channel_tiles * filter_of_tile);

    layout.bias_elements = narrow(layout.aligned(channels));
    layout.results_elements = narrow(layout.aligned(results));
    return layout;
  }

  /// Packs have as many elements as the compute type has in 16 bytes.
  staging_kind staging(bool is_whole, std::int64_t chunks) const {
    const auto& x = problem_.x;
    // The addresses of packs of so many elements.
    const auto are_aligned = [&](std::int64_t elements, std::initializer_list<std::int64_t> distances) {
      return reinterpret_cast<std::uintptr_t>(x.data) % static_cast<std::uintptr_t>(elements * element_bytes_) == 0 &&
             std::ranges::all_of(distances, [&](std::int64_t distance) { return distance % elements == 0; });
    };
    const std::int64_t image_stride = problem_.images > 1 ? x.image_stride : 0;
    const std::int64_t channel_stride = problem_.in_channels > 1 ? x.channel_stride : 0;
    if (problem_.row_padding > 0 || problem_.column_padding > 0 || x.column_stride != 1) return staging_kind::elements;
    const std::int64_t plane = problem_.height * problem_.width;
    if (x.row_stride == problem_.width && problem_.width % tile_.input_pack(pack_elements) == 0) {
      if (is_whole && chunks == 1 && (x.channel_stride == plane || problem_.in_channels == 1) &&
          are_aligned(pack_elements, {image_stride, problem_.in_channels * plane})) {
        return staging_kind::images;
      }
      if (are_aligned(pack_elements, {image_stride, channel_stride, is_whole ? plane : problem_.width})) {
        return staging_kind::planes;
      }
    }
    return are_aligned(2, {image_stride, channel_stride, x.row_stride, problem_.width}) ? staging_kind::rows
                                                                                        : staging_kind::elements;
  }

  bool has_long_activation() const {
    return problem_.activation != activation_function::none && problem_.activation != activation_function::relu;
  }

  /// The side of the windows, if they lie side by side and in the tiles.
  int tile_window() const {
    const pooling_window& window = problem_.window;
    if (!problem_.is_pooled() || has_long_activation() || (window.height != 2 && window.height != 4) ||
        window.width != window.height || window.row_stride != window.height || window.column_stride != window.height ||
        window.row_padding != 0 || window.column_padding != 0) {
      return 0;
    }
    const int side = static_cast<int>(window.height);
    return tile_.holds_windows(side) ? side : 0;
  }

  /// Whether y's rows can be stored in packs of `together` neighbours.
  bool stores_packs(std::int64_t together) const {
    const auto& y = problem_.y;
    const auto is_multiple = [&](std::int64_t value) { return value % together == 0; };
    return y.column_stride == 1 &&
           reinterpret_cast<std::uintptr_t>(y.data) % static_cast<std::uintptr_t>(together * element_bytes_) == 0 &&
           is_multiple(y.image_stride) && is_multiple(y.channel_stride) && is_multiple(y.row_stride);
  }

  const convolution_problem<C>& problem_;
  std::int64_t element_bytes_;
  convolution_tile tile_;
  team_resources resources_;
  std::int64_t all_tiles_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
