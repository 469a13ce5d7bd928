// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which layout the direct convolution takes on a device.

#include "convolution_problem.hpp"
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a device gives to the teams of a kernel.
struct team_resources {
  std::int64_t multiprocessors = 1;
  std::int64_t bytes_of_team = 48 << 10;            ///< the most scratch memory of one team
  std::int64_t bytes_of_multiprocessor = 64 << 10;  ///< for all teams that it holds
  std::int64_t threads_of_multiprocessor = 512;     ///< with the registers that the kernel's bounds allow
};

/// A tile of sums, which one thread computes: neighbouring output channels and rows, and one column.
struct convolution_tile {
  int channels;
  int rows;
};

/// Rows of y, and those of the convolution that they need.
struct convolution_rows {
  std::int64_t first, last;
  std::int64_t convolved_first, convolved_last;

  template <class T>
  KOKKOS_FUNCTION convolution_rows(const convolution_problem<T>& problem, std::int64_t begin, std::int64_t end)
      : first(begin), last(end), convolved_first(begin), convolved_last(end) {
    if (!problem.is_pooled()) return;
    const pooling_window& window = problem.window;
    convolved_first = begin * window.row_stride - window.row_padding;
    convolved_last = (end - 1) * window.row_stride - window.row_padding + window.height;
    if (convolved_first < 0) convolved_first = 0;
    if (convolved_last > problem.rows) convolved_last = problem.rows;
  }
};

/// The problem as the kernel sees it: the pointers are to elements of T, whatever C is.
template <class T>
convolution_problem<compute_t<T>> direct_device_problem(const convolution_problem<T>& problem) {
  using C = compute_t<T>;
  const auto as_read = [](const image_array<const T>& array) {
    return image_array<const C>{reinterpret_cast<const C*>(array.data), array.image_stride, array.channel_stride,
                                array.row_stride, array.column_stride};
  };
  convolution_problem<C> result;
  result.x = as_read(problem.x);
  result.w = as_read(problem.w);
  result.bias = reinterpret_cast<const C*>(problem.bias);
  result.bias_stride = problem.bias_stride;
  result.y = {reinterpret_cast<C*>(problem.y.data), problem.y.image_stride, problem.y.channel_stride,
              problem.y.row_stride, problem.y.column_stride};
  result.images = problem.images;
  result.in_channels = problem.in_channels;
  result.height = problem.height;
  result.width = problem.width;
  result.out_channels = problem.out_channels;
  result.filter_rows = problem.filter_rows;
  result.filter_columns = problem.filter_columns;
  result.row_stride = problem.row_stride;
  result.column_stride = problem.column_stride;
  result.row_padding = problem.row_padding;
  result.column_padding = problem.column_padding;
  result.rows = problem.rows;
  result.columns = problem.columns;
  result.activation = problem.activation;
  result.pooling = problem.pooling;
  result.window = problem.window;
  result.y_rows = problem.y_rows;
  result.y_columns = problem.y_columns;
  return result;
}

/// Whether the results go through the scratch memory: to be pooled, or because their activation is long.
template <class T>
KOKKOS_FUNCTION bool goes_through_scratch(const convolution_problem<T>& problem) {
  return problem.is_pooled() ||
         (problem.activation != activation_function::none && problem.activation != activation_function::relu);
}

/// Finds a layout.
template <class C>
class direct_device_choice {
  static constexpr auto pack_elements = static_cast<std::int64_t>(prumo::detail::device_pack_elements<C>);

 public:
  /// \param element_bytes those of the arrays
  direct_device_choice(const convolution_problem<C>& problem, std::int64_t element_bytes, convolution_tile tile,
                       int most_threads, const team_resources& resources)
      : problem_(problem),
        element_bytes_(element_bytes),
        tile_(tile),
        most_threads_(most_threads),
        resources_(resources),
        all_tiles_((problem.out_channels + tile.channels - 1) / tile.channels) {}

  /// The layout that takes the least time by estimate; none (no threads) if nothing fits.
  direct_device_layout best() const {
    direct_device_layout best;
    best.threads = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t bands = 1;; bands *= 2) {
      const std::int64_t band_rows = (problem_.y_rows + bands - 1) / bands;
      for (std::int64_t parts = 1;; parts *= 2) {
        const std::int64_t most_images = bands == 1 ? std::min<std::int64_t>(8, problem_.images) : 1;
        for (std::int64_t images = 1; images <= most_images; ++images) {
          for (int buffers = 1; buffers <= 2; ++buffers) {
            const direct_device_layout layout = of(images, band_rows, parts, buffers);
            if (layout.threads == 0) continue;
            const double time = estimate(layout);
            if (time < least) {
              least = time;
              best = layout;
            }
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
      const direct_device_layout layout = in_chunks(images, band_rows, parts, buffers, chunks);
      if (layout.threads == 0 || fits(layout)) return layout;
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

  /// The teams to launch: a multiple of the parts.
  std::int64_t teams(const direct_device_layout& layout) const {
    const std::int64_t wanted = resident_teams(layout) * resources_.multiprocessors;
    const std::int64_t teams_of_part =
        std::min(layout.item_count(problem_.images), std::max<std::int64_t>(1, wanted / layout.parts));
    return teams_of_part * layout.parts;
  }

  /// The time in cycles of a multiprocessor, about: only the order of layouts counts. The constants were fitted to
  /// 2,400 measured layouts of four convolutions on an H200, and choose layouts within 7 % of the best for its tiles.
  double estimate(const direct_device_layout& layout) const {
    const double taps = static_cast<double>(problem_.taps());
    const double sums = tile_.channels * tile_.rows;
    const auto tasks = static_cast<double>(layout.tasks(problem_.columns));
    const double rounds = std::ceil(tasks / layout.threads);
    const double warps_of_scheduler = layout.threads / 32.0 / 4;
    // Beside the sums there are loads, the place of the tile, and stores.
    const double of_task = 1.1 * taps * sums + 350 + 3.7 * sums;
    const double resident = static_cast<double>(resident_teams(layout));
    const auto total_items = static_cast<double>(layout.item_count(problem_.images) * layout.parts);
    const double items = std::ceil(total_items / static_cast<double>(resources_.multiprocessors));
    const double at_once = std::min(resident, items);
    // The more warps a scheduler has, the more of the waiting for loads is hidden.
    const double busy = std::min(1.0, 0.4 + 0.12 * at_once * warps_of_scheduler);
    const double compute = rounds * warps_of_scheduler * of_task / busy;
    constexpr double bytes_of_cycle = 28, wait = 1500;  // of a multiprocessor's share of the memory
    const double copy = static_cast<double>(layout.planes_elements) * layout.chunks * sizeof(float) / bytes_of_cycle;
    const double hidden = layout.buffers == 2 ? 1.0 : (at_once - 1) / at_once;
    const double not_hidden = (copy + wait * layout.chunks) * (1 - hidden);
    constexpr double of_item = 7000;  // barriers, and the threads that wait for the last
    const double weights = 0.3 * static_cast<double>(layout.weights_elements) * layout.chunks * at_once;
    return items * (std::max(compute, copy) + not_hidden + of_item) + weights;
  }

 private:
  /// Indices in a team's memory have 32 bits.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 26;

  static direct_device_layout none() {
    direct_device_layout layout;
    layout.threads = 0;
    return layout;
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
    const bool in_packs = layout.staging != staging_kind::elements;
    const std::int64_t needed_rows = (convolved_rows - 1) * problem_.row_stride + problem_.filter_rows;
    const std::int64_t plane_rows = is_whole && in_packs ? problem_.height : needed_rows;
    const std::int64_t pitch =
        in_packs ? problem_.width : (problem_.columns - 1) * problem_.column_stride + problem_.filter_columns;
    const std::int64_t plane = plane_rows * pitch;
    // The last tiles of rows reach beyond the last plane.
    const std::int64_t reached = (row_tiles * tile_.rows - 1) * problem_.row_stride + problem_.filter_rows;
    const std::int64_t slack = std::max<std::int64_t>(0, reached - plane_rows) * pitch;
    const std::int64_t filter = problem_.filter_rows * problem_.filter_columns;
    const std::int64_t results =
        goes_through_scratch(problem_) ? images * channels * convolved_rows * problem_.columns : 0;
    const std::int64_t tasks = problem_.columns * row_tiles * channel_tiles * images;
    const std::int64_t extents[] = {plane_rows,
                                    pitch,
                                    plane,
                                    slack,
                                    channels,
                                    filter,
                                    results,
                                    tasks,
                                    chunk,
                                    problem_.height,
                                    problem_.width,
                                    problem_.out_channels,
                                    problem_.in_channels};
    for (const std::int64_t each : extents) {
      if (each > most_elements) return none();
    }
    if (chunk * plane > most_elements || chunk * channels > most_elements / filter) return none();
    const std::int64_t rounds = divided(tasks, most_threads_);
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
    layout.weights_elements = narrow(layout.aligned(chunk * channels * filter));
    layout.bias_elements = narrow(layout.aligned(channels));
    layout.results_elements = narrow(layout.aligned(results));
    return layout;
  }

  /// Packs have as many elements as the compute type has in 16 bytes.
  staging_kind staging(bool is_whole, std::int64_t chunks) const {
    const auto& x = problem_.x;
    const std::int64_t pack_bytes = pack_elements * element_bytes_;
    const auto is_multiple = [](std::int64_t value) { return value % pack_elements == 0; };
    if (problem_.row_padding > 0 || problem_.column_padding > 0 || x.column_stride != 1 ||
        x.row_stride != problem_.width ||
        reinterpret_cast<std::uintptr_t>(x.data) % static_cast<std::uintptr_t>(pack_bytes) != 0 ||
        (problem_.images > 1 && !is_multiple(x.image_stride))) {
      return staging_kind::elements;
    }
    const std::int64_t plane = problem_.height * problem_.width;
    if (is_whole && chunks == 1 && (x.channel_stride == plane || problem_.in_channels == 1) &&
        is_multiple(problem_.in_channels * plane)) {
      return staging_kind::images;
    }
    if ((problem_.in_channels > 1 && !is_multiple(x.channel_stride)) ||
        !is_multiple(is_whole ? plane : problem_.width)) {
      return staging_kind::elements;
    }
    return staging_kind::planes;
  }

  const convolution_problem<C>& problem_;
  std::int64_t element_bytes_;
  convolution_tile tile_;
  int most_threads_;
  team_resources resources_;
  std::int64_t all_tiles_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
