// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the direct convolution cuts images and output channels, and where it finds images and filters in its memory.

#include "channel_tiles.hpp"
#include "convolution_problem.hpp"
#include "place_tiles.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What the numbers in a register of sums belong to.
enum class register_kind { places, channels };

/// How images are cut, and where things lie in the planes.
struct direct_layout {
  register_kind registers = register_kind::places;
  bool joins_rows = false;      ///< registers of places reach across the ends of rows
  bool takes_images = false;    ///< the planes are those of the image itself
  bool stages_results = false;  ///< all results of an image are kept in the cache, and then stored past it at once
  std::int64_t row_phases = 1;  ///< the remainders of rows by the stride that a filter meets
  std::int64_t column_phases = 1;
  std::int64_t pitch = 0;             ///< elements of a plane's row
  std::int64_t extra_rows = 0;        ///< rows of a plane beyond those of the convolution
  std::int64_t band_rows = 1;         ///< rows of y that are computed from one copy
  std::int64_t block_rows = 1;        ///< rows of y whose sums are in the cache at once
  std::int64_t bands = 1;             ///< of an image
  std::int64_t parts = 1;             ///< into which the output channels are cut, if there are few images
  std::int64_t plane_elements = 0;    ///< from a plane to the next
  std::int64_t sum_pitch = 0;         ///< from a row of sums of a channel to the next
  std::int64_t sums_per_channel = 0;  ///< with room for the last registers
  std::int64_t block_elements = 0;    ///< results of a block, of one channel

  /// The rows of the convolution that `count` rows of y need at most.
  template <class T>
  static std::int64_t convolved_rows(const convolution_problem<T>& problem, std::int64_t count) {
    if (!problem.is_pooled()) return count;
    return std::min(problem.rows, (count - 1) * problem.window.row_stride + problem.window.height);
  }

  /// \param streaming whether results go past the caches
  template <class T>
  static direct_layout of(const convolution_problem<T>& problem, std::int64_t workers, bool streaming) {
    using C = compute_t<T>;
    constexpr std::int64_t planes_bytes = 256 << 10, sums_bytes = 24 << 10;
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(C));
    direct_layout layout;
    layout.row_phases = std::min(problem.row_stride, problem.filter_rows);
    layout.column_phases = std::min(problem.column_stride, problem.filter_columns);
    layout.pitch = problem.columns + (problem.filter_columns - 1) / problem.column_stride;
    layout.extra_rows = (problem.filter_rows - 1) / problem.row_stride;
    layout.choose_registers<C>(problem);
    layout.sum_pitch = layout.joins_rows ? layout.pitch : problem.columns;
    const std::int64_t planes = problem.in_channels * layout.row_phases * layout.column_phases;

    // A band's planes fit into a second-level cache, and there is enough for each thread to do.
    const std::int64_t most_plane_rows = planes_bytes / bytes / std::max<std::int64_t>(1, planes * layout.pitch);
    const std::int64_t wanted_bands = (4 * workers + problem.images - 1) / std::max<std::int64_t>(1, problem.images);
    const std::int64_t rows_of_equal_bands = (problem.y_rows + wanted_bands - 1) / wanted_bands;
    layout.band_rows = problem.y_rows;
    while (layout.band_rows > 1 && (convolved_rows(problem, layout.band_rows) + layout.extra_rows > most_plane_rows ||
                                    layout.band_rows > std::max<std::int64_t>(rows_of_equal_bands, 4))) {
      layout.band_rows = (layout.band_rows + 1) / 2;
    }
    layout.bands = (problem.y_rows + layout.band_rows - 1) / layout.band_rows;
    const std::int64_t items = problem.images * layout.bands;
    const std::int64_t most_channels = layout.most_channels<C>();
    const std::int64_t tiles = (problem.out_channels + most_channels - 1) / most_channels;
    if (items < workers) layout.parts = std::clamp<std::int64_t>((workers + items - 1) / items, 1, tiles);

    layout.block_rows = layout.band_rows;
    while (layout.block_rows > 1 &&
           convolved_rows(problem, layout.block_rows) * layout.sum_pitch * bytes * most_channels > sums_bytes) {
      layout.block_rows = (layout.block_rows + 1) / 2;
    }
    if (streaming) layout.avoid_parts_of_lines(problem);
    constexpr std::int64_t slack = 128;  // the last registers reach beyond the last row
    layout.plane_elements = (convolved_rows(problem, layout.band_rows) + layout.extra_rows) * layout.pitch;
    if constexpr (std::is_same_v<T, C>) {
      if (layout.reads_no_further<C>(problem)) {
        layout.takes_images = true;
        layout.plane_elements = problem.x.channel_stride;
      }
    }
    layout.sums_per_channel = convolved_rows(problem, layout.block_rows) * layout.sum_pitch + slack;
    layout.block_elements = convolved_rows(problem, layout.block_rows) * problem.columns;
    if (layout.registers == register_kind::channels) {
      layout.sums_per_channel = std::max(layout.sums_per_channel, layout.block_rows * problem.y_columns + slack);
    }
    return layout;
  }

  /// filter_taps::columns: with strides, neighbouring taps lie in different planes.
  template <class T>
  static std::int64_t neighbouring_taps(const convolution_problem<T>& problem) {
    return problem.column_stride == 1 ? problem.filter_columns : 1;
  }

  /// The most output channels of a tile.
  template <class C>
  std::int64_t most_channels() const {
    return registers == register_kind::places ? convolution_tiles::most_channels : channel_tiles<C>::most_channels;
  }

  /// The channels of the next tile, if `left` output channels are left. Those beyond the last have weights of zero.
  template <class C>
  std::int64_t channels_of_next(std::int64_t left) const {
    return registers == register_kind::places ? convolution_tiles::channels_of_next(left)
                                              : channel_tiles<C>::channels_of_next(left);
  }

  /// The channels of all tiles.
  template <class C>
  std::int64_t channels_of_tiles(std::int64_t out_channels) const {
    constexpr std::int64_t lanes = simd<C>::lanes;
    return registers == register_kind::places ? out_channels : (out_channels + lanes - 1) / lanes * lanes;
  }

  /// The elements of all planes of a thread's copy.
  std::int64_t planes_elements(std::int64_t in_channels) const {
    constexpr std::int64_t slack = 128;
    if (takes_images) return 0;
    return in_channels * row_phases * column_phases * plane_elements + slack;
  }

 private:
  /// Whether rows and columns of the image lie as in planes, and no register reaches beyond them.
  template <class C, class T>
  bool reads_no_further(const convolution_problem<T>& problem) const {
    return problem.row_stride == 1 && problem.column_stride == 1 && problem.row_padding == 0 &&
           problem.column_padding == 0 && problem.x.column_stride == 1 && problem.x.row_stride == pitch &&
           (registers == register_kind::channels || problem.columns >= simd<C>::lanes);
  }

  /// If two stores past the caches each fill a part of a cache line, that line is read from memory first. So results of
  /// small images are stored together, unless each block fills whole lines. Results of larger images are stored block
  /// by block, and blocks fill whole lines where a few rows more do.
  template <class T>
  void avoid_parts_of_lines(const convolution_problem<T>& problem) {
    constexpr std::int64_t most_staged = 24 << 10, line = 64;
    const std::int64_t of_row = problem.y_columns * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t of_plane = problem.y_rows * of_row, rows_of_lines = line / std::gcd(line, of_row);
    const std::int64_t more_rows = prumo::detail::round_up(block_rows, rows_of_lines);
    if (more_rows <= block_rows + block_rows / 4) block_rows = std::min(more_rows, band_rows);
    const bool fills_lines = of_plane % line == 0 && block_rows % rows_of_lines == 0;
    stages_results = !fills_lines && bands == 1 && parts == 1 && lies_without_gaps(problem) &&
                     problem.out_channels * of_plane <= most_staged;
  }

  /// Whether the results of an image follow each other, in the order of channels, rows and columns.
  template <class T>
  static bool lies_without_gaps(const convolution_problem<T>& problem) {
    const auto& y = problem.y;
    return y.column_stride == 1 && y.row_stride == problem.y_columns &&
           y.channel_stride == problem.y_rows * problem.y_columns;
  }

  /// What the sums of an image take, in multiply-adds of registers.
  template <class C>
  static double cost_of_places(std::int64_t out_channels, std::int64_t taps, const place_rows& rows) {
    std::int64_t sums = 0;
    for (std::int64_t left = out_channels; left > 0;) {
      const std::int64_t channels = convolution_tiles::channels_of_next(left);
      const std::int64_t registers = convolution_tiles::registers_of(static_cast<int>(channels));
      const std::int64_t fewer = convolution_tiles::fewer_registers_of(static_cast<int>(channels));
      const std::int64_t tiles = rows.registers<C>() / registers, rest = rows.registers<C>() - tiles * registers;
      sums += tiles * of_a_tap(channels * registers);
      if (rest > 0) sums += of_a_tap(channels * (rest > fewer ? registers : rest > 1 ? fewer : 1));
      left -= channels;
    }
    return static_cast<double>(taps) * static_cast<double>(sums);
  }
  template <class C, class T>
  static double cost_of_channels(const convolution_problem<T>& problem) {
    constexpr double of_a_transposed_number = 0.8;  // measured on a Zen 3
    std::int64_t sums = 0, transposed = 0;
    for (std::int64_t left = problem.out_channels; left > 0;) {
      const std::int64_t channels = channel_tiles<C>::channels_of_next(left), vectors = channels / simd<C>::lanes;
      const row_pieces pieces = channel_tiles<C>::pieces_of(problem.columns, vectors, neighbouring_taps(problem));
      sums += problem.rows * (pieces.larger * of_a_tap(vectors * pieces.places) +
                              (pieces.count - pieces.larger) * of_a_tap(vectors * (pieces.places - 1)));
      transposed += problem.rows * problem.columns * channels;
      left -= channels;
    }
    return static_cast<double>(problem.taps()) * static_cast<double>(sums) +
           of_a_transposed_number * static_cast<double>(transposed);
  }
  /// A tile of fewer sums takes as long as one of those that are under way at once.
  static std::int64_t of_a_tap(std::int64_t sums) {
    constexpr std::int64_t under_way = 8;
    return std::max(sums, under_way);
  }

  template <class C, class T>
  void choose_registers(const convolution_problem<T>& problem) {
    constexpr double of_a_copied_register = 6;  // measured on a Zen 3: sums with gaps between rows are copied once more
    const place_rows by_row{problem.rows, problem.columns, pitch, problem.columns};
    const place_rows joined{1, (problem.rows - 1) * pitch + problem.columns, pitch, pitch};
    const double copies =
        problem.is_pooled() || pitch == problem.columns
            ? 0
            : of_a_copied_register * static_cast<double>(problem.out_channels * by_row.registers<C>());
    const double of_rows = cost_of_places<C>(problem.out_channels, problem.taps(), by_row);
    const double of_joined_rows = cost_of_places<C>(problem.out_channels, problem.taps(), joined) + copies;
    if (cost_of_channels<C>(problem) < std::min(of_rows, of_joined_rows)) {
      registers = register_kind::channels;
    } else {
      joins_rows = of_joined_rows < of_rows;
    }
  }
};

/// Copies the filters so that the weights of a tile's channels are neighbours, tap by tap, and finds out where in the
/// planes each tap begins. A block takes an output channel.
template <class T>
class direct_filter_kernel {
  using C = compute_t<T>;

 public:
  direct_filter_kernel(const convolution_problem<T>& problem, const direct_layout& layout, C* weights,
                       std::int64_t* offsets)
      : problem_(problem), layout_(layout), weights_(weights), offsets_(offsets) {}

  std::int64_t blocks() const { return layout_.channels_of_tiles<C>(problem_.out_channels); }

  void operator()(std::int64_t channel) const {
    std::int64_t first = 0, channels = channels_of_tile(0);
    while (first + channels <= channel) {
      first += channels;
      channels = channels_of_tile(first);
    }
    if (channel == 0) find_offsets();
    C* to = weights_ + first * problem_.taps() + (channel - first);
    if (channel >= problem_.out_channels) {
      for (std::int64_t tap = 0; tap < problem_.taps(); ++tap, to += channels) *to = C(0);
      return;
    }
    const auto& w = problem_.w;
    const std::int64_t columns = problem_.filter_columns, of_plane = problem_.filter_rows * columns;
    if (w.column_stride == 1 && w.row_stride == columns && w.channel_stride == of_plane) {
      const T* const filter = w.plane(channel, 0);
      for (std::int64_t tap = 0; tap < problem_.taps(); ++tap) to[tap * channels] = static_cast<C>(filter[tap]);
      return;
    }
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      const T* const filter = w.plane(channel, c);
      for (std::int64_t p = 0; p < problem_.filter_rows; ++p) {
        for (std::int64_t q = 0; q < columns; ++q, to += channels) {
          *to = static_cast<C>(filter[p * w.row_stride + q * w.column_stride]);
        }
      }
    }
  }

 private:
  /// The number of channels in the tile whose first channel is `first`.
  std::int64_t channels_of_tile(std::int64_t first) const {
    return layout_.channels_of_next<C>(problem_.out_channels - first);
  }

  void find_offsets() const {
    std::int64_t* to = offsets_;
    const std::int64_t planes_of_channel = layout_.row_phases * layout_.column_phases;
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      for (std::int64_t p = 0; p < problem_.filter_rows; ++p) {
        const std::int64_t first_plane = c * planes_of_channel + p % problem_.row_stride * layout_.column_phases;
        const std::int64_t of_row = first_plane * layout_.plane_elements + p / problem_.row_stride * layout_.pitch;
        std::int64_t phase = 0, column = 0;
        for (std::int64_t q = 0; q < problem_.filter_columns; ++q) {
          *to++ = of_row + phase * layout_.plane_elements + column;
          if (++phase < problem_.column_stride) continue;
          phase = 0;
          ++column;
        }
      }
    }
  }

  convolution_problem<T> problem_;
  direct_layout layout_;
  C* weights_;
  std::int64_t* offsets_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
