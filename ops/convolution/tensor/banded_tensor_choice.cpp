// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "banded_tensor_choice.hpp"

#include "item_shares.hpp"
#include "tensor_search.hpp"
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::backend {
namespace {

using prumo::detail::divide_up;
using prumo::detail::round_up;

constexpr std::int64_t most_banded_extent = 1 << 15;
/// More elements than any team's memory has.
constexpr std::int64_t most_banded_elements = 1 << 20;

/// Whether all results of a channel in a band are one run.
template <class T>
bool can_have_flat_results(const convolution_problem<T>& problem) {
  return problem.y.column_stride == 1 && problem.y.row_stride == problem.columns;
}

/// The part of a layout that follows from the filters: as many stacked rows as make the fewest products for a result.
template <class T>
banded_tensor_layout banded_layout_of_filters(const convolution_problem<T>& problem) {
  constexpr std::int64_t most_stacked = banded_tensor_layout::unit_rows;
  banded_tensor_layout best;
  double fewest = std::numeric_limits<double>::infinity();
  best.segments = static_cast<int>(divide_up(problem.filter_columns, banded_tensor_layout::line_taps));
  for (std::int64_t stacked = 1; stacked <= std::min(most_stacked, problem.rows); ++stacked) {
    const std::int64_t lines = problem.filter_rows + (stacked - 1) * problem.row_stride;
    const std::int64_t steps =
        divide_up(problem.in_channels * lines * best.segments, banded_tensor_form<T>::lines_of_step);
    const std::int64_t blocks = divide_up(stacked * problem.out_channels, banded_tensor_layout::unit_rows);
    const bool is_flat = stacked == 1 && can_have_flat_results(problem);
    const std::int64_t run = is_flat ? problem.rows * problem.columns : problem.columns;
    const double places = static_cast<double>(round_up(run, banded_tensor_form<T>::stretch)) / static_cast<double>(run);
    const double products = places * static_cast<double>(blocks * steps) / static_cast<double>(stacked);
    if (products >= 0.9 * fewest) continue;
    fewest = products;
    best.stacked_rows = static_cast<int>(stacked);
    best.filter_lines = static_cast<int>(lines);
    best.steps = static_cast<int>(steps);
    best.row_blocks = static_cast<int>(blocks);
  }
  return best;
}

/// Sets what follows from images and bands. Returns whether an item is small enough to be computed with.
template <class T>
bool cut_bands(banded_tensor_layout& layout, const convolution_problem<T>& problem, std::int64_t images,
               std::int64_t bands) {
  const std::int64_t blocks = divide_up(problem.rows, layout.stacked_rows);
  layout.images = static_cast<int>(images);
  layout.band_blocks = static_cast<int>(divide_up(blocks, bands));
  layout.bands = static_cast<int>(divide_up(blocks, layout.band_blocks));
  layout.pack_bytes = layout.bands == 1 ? bytes_of_packs(problem) : 0;
  layout.has_flat_results = layout.stacked_rows == 1 && can_have_flat_results(problem);
  const std::int64_t first_of_last_block =
      std::int64_t{layout.band_blocks - 1} * layout.stacked_rows * problem.row_stride;
  const std::int64_t needed_rows = first_of_last_block + layout.filter_lines;
  const std::int64_t pitch = layout.has_whole_images() ? problem.width
                                                       : round_up(problem.width + 2 * problem.column_padding,
                                                                  banded_tensor_form<T>::elements_of_word);
  const std::int64_t rows = layout.has_whole_images() ? problem.height : needed_rows;
  const std::int64_t image = problem.in_channels * rows * pitch;
  // The taps of the last line of the last place, and the places behind the end of a row, may lie behind the images.
  const std::int64_t columns =
      layout.has_flat_results ? problem.columns : round_up(problem.columns, banded_tensor_form<T>::stretch);
  const std::int64_t last = (images - 1) * image + std::max<std::int64_t>(0, problem.in_channels - 1) * rows * pitch +
                            (needed_rows - 1) * pitch + (columns - 1) * problem.column_stride +
                            std::int64_t{layout.segments} * banded_tensor_layout::line_taps;
  const std::int64_t elements = round_up(std::max(images * image, last + 2), 64);
  if (elements > most_banded_elements) return false;
  layout.pitch = static_cast<int>(pitch);
  layout.plane_rows = static_cast<int>(rows);
  layout.plane_elements = static_cast<int>(rows * pitch);
  layout.image_elements = static_cast<int>(image);
  layout.buffer_words = static_cast<int>(elements / banded_tensor_form<T>::elements_of_word);
  layout.copies = banded_tensor_form<T>::elements_of_word;
  const std::int64_t run = layout.has_flat_results ? layout.band_blocks * problem.columns : problem.columns;
  layout.run_length = static_cast<int>(run);
  layout.run_stretches = static_cast<int>(divide_up(run, banded_tensor_form<T>::stretch));
  layout.runs = layout.has_flat_results ? 1 : layout.band_blocks;
  return true;
}

/// The time of a layout in turns of all warps of a team.
template <class T>
double banded_turns_of(const banded_tensor_layout& layout, const convolution_problem<T>& problem,
                       const team_resources& resources, int teams_of_multiprocessor) {
  const std::int64_t teams = std::int64_t{resources.multiprocessors} * teams_of_multiprocessor / layout.parts;
  const auto shares =
      item_shares::of(layout.image_bands(problem.images), std::max<std::int64_t>(1, teams), layout.images);
  const auto turns_of_item = [&](int images) {
    const std::int64_t stretches = std::int64_t{images} * layout.runs * layout.run_stretches;
    const auto groups =
        static_cast<double>(divide_up(stretches, banded_tensor_form<T>::stretches_of_group) * layout.part_blocks);
    // The copies of an item take about the time of a step for each word of a thread.
    const double copies = 3.0 * images * layout.image_elements / (2.0 * banded_tensor_layout::threads);
    return std::ceil(groups / banded_tensor_layout::warps) * (layout.steps * banded_tensor_form<T>::tiles + 40.0) +
           copies + 20.0;
  };
  const int rest = shares.most_of_rest();
  return static_cast<double>(shares.whole_items) * turns_of_item(layout.images) +
         (rest > 0 ? turns_of_item(rest) : 0.0);
}

}  // namespace

template <class T>
banded_tensor_layout best_banded_tensor_layout(const convolution_problem<T>& problem, const team_resources& resources) {
  banded_tensor_layout best;
  if (problem.in_channels == 0 || has_large_extents(problem, most_banded_extent)) return best;
  const banded_tensor_layout of_filters = banded_layout_of_filters(problem);
  const std::int64_t teams = banded_tensor_layout::resident_teams * resources.multiprocessors;
  double least = std::numeric_limits<double>::infinity();
  const std::int64_t blocks = divide_up(problem.rows, of_filters.stacked_rows);
  const auto consider = [&](std::int64_t parts, std::int64_t images, std::int64_t bands) {
    banded_tensor_layout layout = of_filters;
    layout.most_teams = static_cast<int>(teams);
    layout.part_blocks = static_cast<int>(divide_up(layout.row_blocks, parts));
    layout.parts = static_cast<int>(divide_up(layout.row_blocks, layout.part_blocks));
    if (std::int64_t{layout.steps} * layout.part_blocks > most_banded_extent ||
        !cut_bands(layout, problem, images, bands))
      return;
    const std::int64_t bytes = std::int64_t{layout.scratch_words()} * 4 + 64;
    constexpr std::int64_t reserved = 1024;  // by the driver, for each team
    if (layout.buffer_words <= 0 || bytes > resources.bytes_of_team) return;
    const int resident = static_cast<int>(std::clamp<std::int64_t>(
        resources.bytes_of_multiprocessor / (bytes + reserved), 1, banded_tensor_layout::resident_teams));
    // A team takes less time for an item if no other team shares its multiprocessor.
    constexpr double alone = 0.7;
    const double turns = banded_turns_of(layout, problem, resources, resident) * (resident == 1 ? alone : 1.0);
    if (turns < least) {
      least = turns;
      best = layout;
    }
  };
  for_each_cut(of_filters.row_blocks, blocks, problem.images, teams, consider, [&] {
    // Bands are for images that do not fit, and for teams that would have none.
    return best.images == 0 || problem.images < teams;
  });
  return best;
}

template banded_tensor_layout best_banded_tensor_layout(const convolution_problem<float>& problem,
                                                        const team_resources& resources);
template banded_tensor_layout best_banded_tensor_layout(const convolution_problem<f16>& problem,
                                                        const team_resources& resources);
template banded_tensor_layout best_banded_tensor_layout(const convolution_problem<bf16>& problem,
                                                        const team_resources& resources);

}  // namespace prumo::backend
