// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_choice.hpp"

#include "device/item_shares.hpp"
#include "tensor_cuts.hpp"
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace prumo::backend {
namespace {

using prumo::detail::divide_up;
using prumo::detail::round_up;

/// Smaller extents cannot overflow.
constexpr std::int64_t most_extent = 1 << 15;

/// Cycles of a multiprocessor, by measurements on an H200: what limits a step of a warp are the products, and the loads
/// of the right operand from the scratch memory.
double time_of_step(int warp_tiles) { return std::max(18.0 + 4.0 * warp_tiles, 10.0 * warp_tiles); }
constexpr double time_of_turn = 30.0;
constexpr double time_of_results = 50.0;     ///< for each turn and each tile of weights
constexpr double time_of_cell = 0.4;         ///< to make a cell
constexpr double time_of_single_word = 0.6;  ///< more for each word that is not brought in packs
constexpr double time_of_weight = 1.2;       ///< for each word of weights that a team arranges itself
constexpr double time_of_launch = 3000.0;    ///< of the kernel that arranges the weights instead
constexpr double time_of_slice = 700.0;      ///< for barriers, and for data that has not arrived yet

/// What is tried: how much of the weights and of an image a team takes at a time.
struct tensor_cut {
  std::int64_t images;
  std::int64_t bands;
  std::int64_t band_columns;
  std::int64_t slices;
};

template <class T>
class tensor_search {
 public:
  tensor_search(const convolution_problem<T>& problem, const team_resources& resources)
      : problem_(problem), resources_(resources) {}

  /// \param like the layout whose sums have the same order, or one without images
  tensor_layout best(const tensor_layout& like) {
    for (const int columns : {1, 2}) {
      for (const int rows : {1, 2, 4, 8, 16}) {
        const std::int64_t stacked = std::int64_t{rows} * columns;
        if (stacked > 1 && stacked * problem_.out_channels > tensor_layout::tile_rows) break;
        if (rows > 1 && rows / 2 >= problem_.rows) break;
        if (like.images > 0 && (rows != like.stacked_rows || columns != like.stacked_columns)) continue;
        try_filters(cells_of_filters(rows, columns), like.images > 0 ? like.slices : 0);
      }
    }
    return best_;
  }

 private:
  /// The cells that a filter needs, of as many channels as make the fewest steps. None if it is too wide for columns
  /// that are stacked: its rows must be one cell each, or they would meet twice the columns.
  tensor_layout cells_of_filters(int rows, int columns) const {
    tensor_layout layout;
    layout.stacked_rows = static_cast<std::int8_t>(rows);
    layout.stacked_columns = static_cast<std::int8_t>(columns);
    layout.filter_lines = static_cast<int>(problem_.filter_rows + (rows - 1) * problem_.row_stride);
    layout.slice_groups = 0;
    const std::int64_t filter_columns = problem_.filter_columns + (columns - 1) * problem_.column_stride;
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (int channels = tensor_form<T>::elements_of_cell; channels >= 1; channels /= 2) {
      const std::int64_t segments =
          divide_up(filter_columns, std::int64_t{tensor_form<T>::elements_of_cell / channels});
      const std::int64_t groups = divide_up(problem_.in_channels, std::int64_t{channels});
      if (groups * segments >= fewest || (columns > 1 && segments > 1)) continue;
      fewest = groups * segments;
      layout.cell_channels = static_cast<std::int8_t>(channels);
      layout.segments = static_cast<std::uint16_t>(segments);
      layout.slice_groups = static_cast<int>(groups);
    }
    return layout;
  }

  /// Tries all ways to share the weights among warps and teams.
  /// \param slices that must be; 0: any
  void try_filters(const tensor_layout& of_filters, int slices) {
    if (of_filters.slice_groups == 0) return;
    const std::int64_t rows = of_filters.stacked_rows * of_filters.stacked_columns * problem_.out_channels;
    const auto tiles = static_cast<int>(divide_up(rows, tensor_layout::tile_rows));
    for (const int warp_tiles : {1, 2, 4}) {
      if (warp_tiles > 1 && warp_tiles / 2 >= tiles) break;
      const std::int64_t groups = divide_up(tiles, warp_tiles);
      constexpr std::int64_t most_parts = 64;
      for (std::int64_t parts = 1; parts <= std::min(groups, most_parts); ++parts) {
        tensor_layout layout = of_filters;
        layout.warp_tiles = static_cast<std::int8_t>(warp_tiles);
        layout.part_tiles = static_cast<int>(divide_up(groups, parts)) * warp_tiles;
        layout.parts = static_cast<int>(divide_up(tiles, layout.part_tiles));
        if (layout.parts == parts) cut(layout, slices);
      }
    }
  }

  void cut(const tensor_layout& layout, int only_slices) {
    const int units = window_units(layout);
    const std::int64_t rows = divide_up(problem_.rows, std::int64_t{layout.stacked_rows} * units);
    const std::int64_t groups = layout.slice_groups;
    for (std::int64_t slices = 1; slices <= groups; ++slices) {
      if (slices > 1 && divide_up(groups, divide_up(groups, slices)) != slices) continue;
      if (only_slices > 0 && slices != only_slices) continue;
      for (const std::int64_t images : {1, 2, 3, 4, 6, 8, 12, 16}) {
        if (images > std::max<std::int64_t>(1, problem_.images)) break;
        consider(layout, {images, 1, problem_.columns, slices});
      }
      for (const std::int64_t columns : std::initializer_list<std::int64_t>{problem_.columns, 128, 64, 32, 16}) {
        if (columns > problem_.columns) continue;
        std::int64_t last = 0;
        for (const std::int64_t band : {64, 48, 32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1}) {
          const std::int64_t bands = divide_up(rows, band);
          if (bands == last || (bands == 1 && columns == problem_.columns)) continue;
          last = bands;
          consider(layout, {1, bands, columns, slices});
        }
      }
    }
  }

  int window_units(const tensor_layout& layout) const {
    return tensor_layout::units_of_window(window(), layout.stacked_rows);
  }
  int window() const { return problem_.is_pooled() ? static_cast<int>(problem_.window.height) : 1; }

  void consider(tensor_layout layout, const tensor_cut& cut) {
    const int resident = complete(layout, cut);
    if (resident == 0) return;
    const double time = time_of(layout, resident);
    if (time >= least_) return;
    least_ = time;
    best_ = layout;
  }

  /// Sets what follows from a cut. Returns how many teams a multiprocessor holds at the same time; none if an item does
  /// not fit.
  int complete(tensor_layout& layout, const tensor_cut& cut) const {
    layout.slices = static_cast<std::uint16_t>(cut.slices);
    layout.slice_groups = static_cast<int>(divide_up(std::int64_t{layout.slice_groups}, cut.slices));
    // No memory has room for weights of more cells, and fewer do not overflow.
    constexpr std::int64_t most_cells = 1 << 18;
    if (std::int64_t{layout.slice_groups} * layout.segments * layout.filter_lines > most_cells / layout.part_tiles)
      return 0;
    if (!cut_images(layout, problem_, window(), cut.images, cut.bands, cut.band_columns)) return 0;
    const int groups = layout.part_tiles / layout.warp_tiles;
    const std::int64_t turns = layout.places / tensor_layout::places_of_turn;
    if (layout.slices > 1 && turns * groups > tensor_layout::warps) return 0;
    int teams = layout.warp_tiles == 4 ? 1 : tensor_layout::most_resident_teams;
    while (teams > 0 && layout.scratch_words() > words_of_team(teams, resources_)) --teams;
    layout.most_teams = static_cast<int>(teams * resources_.multiprocessors);
    return teams;
  }

  /// The time of a layout in cycles.
  double time_of(const tensor_layout& layout, int resident) const {
    const std::int64_t teams = std::max<std::int64_t>(1, resources_.multiprocessors * resident / layout.parts);
    const auto shares = item_shares::of(layout.image_bands(problem_.images), teams, layout.images);
    const auto of_item = [&](int images) {
      const std::int64_t places = divide_up(std::int64_t{layout.places} * images, std::int64_t{layout.images});
      const std::int64_t turns =
          divide_up(places, tensor_layout::places_of_turn) * std::int64_t{layout.part_tiles / layout.warp_tiles};
      // Warps without a turn wait.
      const auto all = static_cast<double>(turns), busy = static_cast<double>(round_up(turns, tensor_layout::warps));
      // One team alone has too few warps to hide how long each of them waits.
      const double waiting = resident == 1 ? 1.0 + 0.5 / layout.warp_tiles : 1.0;
      const double works = waiting * (resident == 1 ? busy : (busy + all) / 2);
      const double of_work = layout.slices * (layout.steps() * time_of_step(layout.warp_tiles) + time_of_turn) +
                             time_of_results * layout.warp_tiles;
      const double cells = static_cast<double>(images) * layout.slice_groups * layout.plane_rows * layout.pitch;
      const double words = static_cast<double>(images) * layout.staged_channels * layout.plane_rows *
                           layout.staged_pitch / tensor_form<T>::elements_of_word;
      const double of_slice = time_of_slice / resident + cells * time_of_cell +
                              (layout.pack_bytes == 0 ? words * time_of_single_word : 0.0);
      return works * of_work + layout.slices * of_slice;
    };
    const int rest = shares.most_of_rest();
    const double items =
        static_cast<double>(shares.whole_items) * of_item(layout.images) + (rest > 0 ? of_item(rest) : 0.0);
    const double weights = layout.has_arranged_weights() ? time_of_launch : time_of_weight * layout.weights_words();
    return resident * items + weights;
  }

  const convolution_problem<T>& problem_;
  const team_resources& resources_;
  tensor_layout best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

template <class T>
tensor_layout best_tensor_layout(const convolution_problem<T>& problem, const team_resources& resources) {
  if (problem.in_channels == 0 || problem.images == 0 || has_large_extents(problem, most_extent)) return {};
  // What decides the order of the sums depends neither on the number of images nor on where arrays lie: a batch has the
  // same bits as its parts.
  constexpr std::int64_t many_images = 4096;
  const auto without_gaps = [](auto& array, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
    array = {nullptr, channels * rows * columns, rows * columns, columns, 1};
  };
  convolution_problem<T> large = problem;
  large.images = many_images;
  without_gaps(large.x, problem.in_channels, problem.height, problem.width);
  without_gaps(large.y, problem.out_channels, problem.y_rows, problem.y_columns);
  const tensor_layout of_large = tensor_search<T>(large, resources).best({});
  const tensor_layout alike = tensor_search<T>(problem, resources).best(of_large);
  return alike.images > 0 ? alike : tensor_search<T>(problem, resources).best({});
}

template tensor_layout best_tensor_layout(const convolution_problem<float>& problem, const team_resources& resources);
template tensor_layout best_tensor_layout(const convolution_problem<f16>& problem, const team_resources& resources);
template tensor_layout best_tensor_layout(const convolution_problem<bf16>& problem, const team_resources& resources);

}  // namespace prumo::backend
