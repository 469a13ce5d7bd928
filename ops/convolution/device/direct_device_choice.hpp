// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which layout the direct convolution takes on a device.

#include "byte_ring.hpp"
#include "direct_device_estimate.hpp"
#include "row_copies.hpp"
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Finds a layout.
template <class C>
class direct_device_choice : direct_device_estimate<C> {
  using estimate_of = direct_device_estimate<C>;
  using estimate_of::element_bytes_;
  using estimate_of::problem_;
  using estimate_of::resident_teams;
  using estimate_of::resources_;
  using estimate_of::tile_;
  static constexpr auto pack_elements = static_cast<std::int64_t>(prumo::detail::device_pack_elements<C>);

 public:
  using estimate_of::estimate;
  using estimate_of::estimate_ring;

  /// \param element_bytes those of the arrays
  direct_device_choice(const convolution_problem<C>& problem, std::int64_t element_bytes, convolution_tile tile,
                       const team_resources& resources)
      : estimate_of(problem, element_bytes, tile, resources),
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
            // Smaller chunks leave room for another team.
            for (std::int64_t chunks = 1, tries = buffers == 1 ? 2 : 1; tries > 0; --tries) {
              const direct_device_layout layout = of(images, band_rows, parts, buffers, chunks);
              if (layout.threads == 0) break;
              const double time = estimate(layout);
              if (time < best.time) best = {layout, time};
              chunks = std::int64_t{2} * layout.chunks;
            }
          }
        }
        if (bands == 1) {
          for (int threads = 128; threads <= resources_.threads_of_team; threads += 32) {
            direct_device_layout of_one_round = stream(threads, 1, parts);
            if (of_one_round.threads == 0) of_one_round = stream(threads, 1, parts, 1);
            // It takes no more memory, has half of the barriers, and copies while it computes only what has a place.
            for (const direct_device_layout& layout : {of_one_round, stream(threads, 2, parts, 1)}) {
              if (layout.threads == 0) continue;
              const double time = estimate(layout);
              if (time < best.time) best = {layout, time};
            }
          }
        }
        if (parts >= all_tiles_) break;
      }
      if (band_rows <= tile_.rows || bands >= 64) break;
    }
    return best;
  }

  /// The layout with these cuts, and as few chunks as possible, but `least_chunks`; no threads if it does not fit. An
  /// item has bands of one image alone.
  direct_device_layout of(std::int64_t images, std::int64_t band_rows, std::int64_t parts, int buffers,
                          std::int64_t least_chunks = 1) const {
    for (std::int64_t chunks = least_chunks; chunks <= std::max<std::int64_t>(1, problem_.in_channels); ++chunks) {
      direct_device_layout layout = in_chunks(images, band_rows, parts, buffers, chunks);
      if (layout.threads == 0) break;
      if (fits(layout)) {
        layout.teams = teams(layout);
        return layout;
      }
    }
    return none();
  }

  /// A stream whose threads compute `rounds` tiles between two barriers; none if it does not fit.
  /// \param steps whose images have places in the scratch memory: with 2, the next images are copied while a team
  ///              computes. With 1, it waits for some of them, but there may be room for another team.
  direct_device_layout stream(int threads, int rounds, std::int64_t parts, int steps = 2) const {
    const direct_device_layout one = in_chunks(1, problem_.y_rows, parts, 1, 1);
    if (one.threads == 0 || one.keeps_results || tile_.keeps_weights) return none();
    direct_device_layout of_threads = one;
    of_threads.threads = threads;
    const int step = of_threads.tiles_at_once() * rounds, together = one.inseparable_tiles();
    const int tiles_of_image = one.tiles_of_image(), tiles = tiles_of_image / together;
    if (tiles_of_image + step >= most_tiles) return none();
    direct_device_layout layout =
        in_chunks((steps * step / together + tiles - 2) / tiles + 1, problem_.y_rows, parts, 1, 1);
    if (layout.threads == 0) return none();
    layout.is_stream = true;
    layout.threads = threads;
    layout.step_tiles = step;
    if (!fits(layout)) return none();
    layout.teams = teams(layout);
    return layout;
  }

  /// A ring of images for one team on each multiprocessor, with as many places as there is room for; none if there is
  /// no room for enough images, or if they do not come in bulk copies.
  /// \param threads of the team, a multiple of 32
  /// \param comes_as_bytes whether the images are bytes, which have a ring of their own
  direct_device_layout ring(int threads, bool comes_as_bytes = false) const {
    const bool has_elements = problem_.images > 0 && problem_.in_channels > 0;
    if (!has_elements || element_bytes_ != static_cast<std::int64_t>(sizeof(C))) return none();
    const direct_device_layout one = in_chunks(1, problem_.y_rows, 1, 1, 1);
    if (one.threads == 0 || one.keeps_results || one.staging != staging_kind::images) return none();
    if (!is_near(1, problem_.y_rows)) return none();
    // A stretch may be a turn ahead of another, and the images of both are in use.
    const std::int64_t least_places = 2 * (threads / one.tiles_of_group() + 2);
    const std::int64_t bytes_of_image = one.image_elements * static_cast<std::int64_t>(sizeof(C)) +
                                        static_cast<std::int64_t>(sizeof(ring_place)) +
                                        (comes_as_bytes ? byte_ring::bytes_of_place(one.image_elements) : 0);
    const std::int64_t other_bytes =
        (one.scratch_elements() - one.image_elements + 16) * static_cast<std::int64_t>(sizeof(C));
    const std::int64_t places = std::min<std::int64_t>((resources_.bytes_of_team - other_bytes) / bytes_of_image, 64);
    if (places < least_places) return none();
    direct_device_layout layout = in_chunks(places, problem_.y_rows, 1, 1, 1);
    if (layout.threads == 0) return none();
    layout.threads = threads;
    layout.teams = static_cast<int>(resources_.multiprocessors);
    const std::int64_t of_team = problem_.images / layout.teams + 2;
    return of_team > std::numeric_limits<int>::max() / 2 / layout.tiles_of_group() ? none() : layout;
  }

 private:
  /// Indices in a team's memory have 32 bits.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 26;
  /// Of an item: far more than a team has threads.
  static constexpr std::int64_t most_tiles = std::int64_t{1} << 16;

  static direct_device_layout none() {
    direct_device_layout layout;
    layout.threads = 0;
    return layout;
  }

  /// The teams to launch for each part.
  int teams(const direct_device_layout& layout) const {
    const std::int64_t wanted = resident_teams(layout) * resources_.multiprocessors;
    const std::int64_t bands = layout.image_bands(problem_.images);
    const std::int64_t useful =
        layout.is_stream ? (bands * layout.tiles_of_image() + layout.threads - 1) / layout.threads : bands;
    const std::int64_t most = std::min(useful, std::max<std::int64_t>(1, wanted / layout.parts));
    if (layout.is_stream || most == 0) return static_cast<int>(most);
    // With a few teams less, the one with the most has as much, and some are alone on their multiprocessors. With many
    // less, multiprocessors would be idle.
    const std::int64_t fewer = prumo::detail::divide_up(bands, prumo::detail::divide_up(bands, most));
    return static_cast<int>(8 * fewer >= 7 * most ? fewer : most);
  }

  bool fits(const direct_device_layout& layout) const {
    constexpr std::int64_t for_alignment = 16;
    return (layout.scratch_elements() + for_alignment) * static_cast<std::int64_t>(sizeof(C)) <=
           resources_.bytes_of_team;
  }

  direct_device_layout in_chunks(std::int64_t images, std::int64_t band_rows, std::int64_t parts, int buffers,
                                 std::int64_t wanted_chunks) const {
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    using prumo::detail::divide_up;
    direct_device_layout layout;
    const bool is_whole = band_rows >= problem_.y_rows;
    if (!is_whole && images > 1) return none();
    if (tile_.spreads && (!is_whole || wanted_chunks > 1 || problem_.is_pooled())) return none();
    const std::int64_t convolved_rows =
        problem_.is_pooled()
            ? std::min(problem_.rows, (band_rows - 1) * problem_.window.row_stride + problem_.window.height)
            : band_rows;
    // A thread that spreads has two rows of y at the ends of images, which meet the filters' rows in turns.
    const std::int64_t row_tiles = tile_.spreads ? problem_.height : divide_up(convolved_rows, tile_.rows);
    const std::int64_t column_tiles = divide_up(tile_.spreads ? problem_.width : problem_.columns, tile_.columns);
    const std::int64_t channel_tiles = divide_up(all_tiles_, parts), channels = channel_tiles * tile_.channels;
    const std::int64_t chunk = divide_up(problem_.in_channels, wanted_chunks);
    const std::int64_t chunks = chunk == 0 ? 1 : divide_up(problem_.in_channels, chunk);
    layout.staging = staging(is_whole, chunks);
    layout.row_pack = layout.staging == staging_kind::rows ? row_pack() : 1;
    layout.tile_window = tile_window();
    layout.keeps_results = problem_.is_pooled() && layout.tile_window == 0;
    layout.result_pack = result_pack(results_at_once(tile_, std::max(1, layout.tile_window)));
    const std::int64_t needed_rows = (convolved_rows - 1) * problem_.row_stride + problem_.filter_rows;
    const bool has_all_rows =
        tile_.spreads || (is_whole && layout.staging != staging_kind::elements && !problem_.is_padded());
    const std::int64_t plane_rows = has_all_rows ? problem_.height : needed_rows;
    const std::int64_t needed_columns = (problem_.columns - 1) * problem_.column_stride + problem_.filter_columns;
    const std::int64_t row_align = std::max<std::int64_t>(tile_.input_pack(pack_elements), layout.row_pack);
    const std::int64_t staged_columns =
        tile_.spreads ? column_tiles * tile_.columns
        : layout.staging == staging_kind::elements
            ? needed_columns
            : std::max(problem_.is_padded() ? needed_columns : 0, problem_.column_padding + problem_.width);
    const std::int64_t pitch = prumo::detail::round_up(staged_columns, row_align);
    const std::int64_t plane = plane_rows * pitch;
    // The last tiles reach beyond the last plane.
    const std::int64_t reached_row = (row_tiles * tile_.rows - 1) * problem_.row_stride + problem_.filter_rows - 1;
    const std::int64_t reached_columns =
        (column_tiles * tile_.columns - 1) * problem_.column_stride + problem_.filter_columns;
    const std::int64_t slack =
        tile_.spreads ? 0 : std::max<std::int64_t>(0, reached_row * pitch + reached_columns - plane);
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
    if (tasks >= most_tiles) return none();
    if (tile_.keeps_weights) {
      if (!is_near(images, band_rows)) return none();
      layout.channel_groups = narrow(std::min<std::int64_t>(channel_tiles, resources_.threads_of_team / 32));
    }
    if (tile_.spreads) {
      constexpr std::int64_t stretch = prumo::detail::exchange_threads;
      if (column_tiles > stretch) return none();
      layout.stretch_tiles = static_cast<std::uint8_t>(stretch / column_tiles * column_tiles);
    }
    // Threads whose registers keep weights have the tiles of a group's channels, one after the other.
    const std::int64_t groups = std::max(1, layout.channel_groups);
    const std::int64_t tasks_of_group = tile_.keeps_weights ? tasks / channel_tiles : tasks;
    const std::int64_t stretches = resources_.threads_of_team / groups / 32;
    const std::int64_t of_stretch = layout.stretch_tiles == 0 ? 32 : layout.stretch_tiles;
    const std::int64_t rounds = divide_up(tasks_of_group, stretches * of_stretch);
    // Sums stay in registers from chunk to chunk, so each thread has one tile only.
    if (chunks > 1 && rounds > 1) return none();
    layout.threads = narrow(groups * divide_up(divide_up(tasks_of_group, rounds), of_stretch) * 32);
    layout.images = narrow(images);
    layout.band_rows = narrow(band_rows);
    layout.bands = narrow(divide_up(problem_.y_rows, band_rows));
    if (layout.bands > 1 && layout.image_bands(problem_.images) > std::numeric_limits<int>::max()) return none();
    layout.parts = narrow(divide_up(all_tiles_, channel_tiles));
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
    // Few weights stay for all chunks. To bring them again with each costs more than their place.
    const std::int64_t of_channel = channel_tiles * filter_of_tile;
    const std::int64_t most_kept = resources_.bytes_of_team / 8 / static_cast<std::int64_t>(sizeof(C));
    layout.weight_channels = narrow(chunks == 1 || chunks * chunk <= most_kept / of_channel ? chunks * chunk : chunk);
    layout.weights_elements = narrow(layout.weight_channels * of_channel);
    layout.bias_elements = narrow(layout.aligned(channels));
    layout.results_elements = narrow(layout.aligned(results));
    return layout;
  }

  staging_kind staging(bool is_whole, std::int64_t chunks) const {
    const auto& x = problem_.x;
    const std::int64_t plane = problem_.height * problem_.width;
    const bool has_whole_rows =
        x.column_stride == 1 && x.row_stride == problem_.width && problem_.width % tile_.input_pack(pack_elements) == 0;
    if (has_whole_rows && (tile_.spreads ? problem_.width % tile_.columns == 0 : !problem_.is_padded())) {
      if (is_whole && chunks == 1 && (x.channel_stride == plane || problem_.in_channels == 1) &&
          has_packs(pack_elements, {image_stride(), problem_.in_channels * plane})) {
        return staging_kind::images;
      }
      if (has_packs(pack_elements, {image_stride(), channel_stride(), is_whole ? plane : problem_.width})) {
        return staging_kind::planes;
      }
    }
    return row_pack() > 1 ? staging_kind::rows : staging_kind::elements;
  }

  int row_pack() const {
    return most_row_pack<C>(problem_.x, element_bytes_, problem_.images, problem_.in_channels, problem_.height,
                            problem_.width, tile_.spreads ? 0 : problem_.column_padding);
  }

  bool has_packs(std::int64_t elements, std::initializer_list<std::int64_t> distances) const {
    return backend::has_packs(problem_.x.data, element_bytes_, elements, distances);
  }
  std::int64_t image_stride() const { return problem_.images > 1 ? problem_.x.image_stride : 0; }
  std::int64_t channel_stride() const { return problem_.in_channels > 1 ? problem_.x.channel_stride : 0; }

  /// The side of the windows, if they lie side by side and in the tiles. Long activations of all sums of a tile would
  /// be as many calls.
  int tile_window() const {
    const pooling_window& window = problem_.window;
    const bool calls_for_all = is_long(problem_.activation) && !problem_.activates_maxima();
    if (!problem_.is_pooled() || calls_for_all || (window.height != 2 && window.height != 4) ||
        window.width != window.height || window.row_stride != window.height || window.column_stride != window.height ||
        window.row_padding != 0 || window.column_padding != 0) {
      return 0;
    }
    const int side = static_cast<int>(window.height);
    return tile_.holds_windows(side) ? side : 0;
  }

  /// Whether the distances between results of an item have 32 bits.
  bool is_near(std::int64_t images, std::int64_t rows) const {
    constexpr std::int64_t most = std::numeric_limits<int>::max() / 4;
    const auto& y = problem_.y;
    return std::abs(y.image_stride) <= most / images && std::abs(y.row_stride) <= most / rows &&
           std::abs(y.column_stride) <= most / std::max<std::int64_t>(1, problem_.y_columns);
  }

  /// The most neighbours of y's rows, up to `together`, that can be stored at once. Rows are made of such packs, so
  /// that no tile ends inside one.
  int result_pack(std::int64_t together) const {
    const auto& y = problem_.y;
    for (; together > 1; together /= 2) {
      const std::int64_t strides[] = {y.image_stride, y.channel_stride, y.row_stride, problem_.y_columns};
      if (y.column_stride == 1 && backend::has_packs(y.data, element_bytes_, together, strides)) break;
    }
    return static_cast<int>(together);
  }

  std::int64_t all_tiles_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
