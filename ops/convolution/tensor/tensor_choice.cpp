// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_choice.hpp"

#include "item_shares.hpp"
#include "tensor_cuts.hpp"
#include "tensor_lines.hpp"
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::backend {
namespace {

using prumo::detail::divide_up;
using prumo::detail::round_up;

constexpr std::int64_t most_extent = 1 << 15;

/// What a warp takes for a step, for a run and for four blocks beside these, and a thread for what it copies at once:
/// cycles of a matrix unit or issued instructions, whichever are more, on an H200.
constexpr double time_of_step = 48.0;
constexpr double time_of_run = 40.0;
constexpr double time_of_blocks = 200.0;
constexpr double time_of_chunk = 60.0;
/// What a thread takes for a word that it copies beside padding, or of a band.
constexpr double time_of_single_word = 30.0;
/// What four blocks take more if their results do not fill sectors of the memory.
constexpr double time_of_scattered_stores = 300.0;

/// Lets a layout's steps have lines of 1, 2 or 4 rows of the filter: those that make the fewest steps.
template <class T>
void cut_filter(tensor_layout& layout, const convolution_problem<T>& problem) {
  layout.segments = static_cast<int>(divide_up(problem.filter_columns, tensor_form<T>::line_taps));
  const auto lines = static_cast<int>(problem.filter_rows + (layout.stacked_rows - 1) * problem.row_stride);
  const auto of_row = static_cast<int>(problem.in_channels * layout.segments);
  const int unit = layout.stacked_rows * static_cast<int>(problem.row_stride);
  int fewest = std::numeric_limits<int>::max();
  const tensor_layout uncut = layout;
  for (const int rows : {1, 2, 4}) {
    tensor_layout by_rows = uncut;
    by_rows.step_rows = rows;
    if (rows <= unit) {
      by_rows.step_distance = 1;
      by_rows.residues = divide_up(std::min(unit, lines), rows);
      by_rows.run_steps = divide_up(lines, unit);
    } else {
      by_rows.step_distance = round_up(divide_up(lines, rows), unit);
      by_rows.residues = std::min(unit, lines);
      by_rows.run_steps = by_rows.step_distance / unit;
    }
    by_rows.runs = divide_up(of_row * rows, tensor_layout::lines_of_step) * by_rows.residues;
    if (by_rows.steps() >= fewest) continue;
    fewest = by_rows.steps();
    layout = by_rows;
  }
}

/// The part of a layout that follows from the filters: as many stacked rows as take the least time for a result.
template <class T>
tensor_layout layout_of_filters(const convolution_problem<T>& problem) {
  tensor_layout best;
  double least = std::numeric_limits<double>::infinity();
  for (const int stacked : {1, 2, 4, 8, 16}) {
    // A thread has two of the stacked rows. Windows must not have more.
    const bool fits = stacked == 1 || stacked * problem.out_channels <= tensor_layout::unit_rows;
    if (!fits || (problem.is_pooled() && problem.window.height > 2 && stacked > 2)) continue;
    tensor_layout layout;
    layout.stacked_rows = stacked;
    cut_filter(layout, problem);
    layout.weight_tiles =
        static_cast<int>(stacked == 1 ? divide_up(problem.out_channels, tensor_layout::unit_rows) : 1);
    const std::int64_t blocks =
        divide_up(problem.rows, layout.rows_of_block()) * divide_up(problem.columns, tensor_layout::block_columns);
    const double time = static_cast<double>(blocks * layout.weight_tiles) *
                        (layout.steps() * time_of_step + layout.runs * time_of_run + time_of_blocks);
    if (time >= least) continue;
    least = time;
    best = layout;
  }
  return best;
}

/// The times that the memory is read for a place of each run. It gives each half of a warp one unit of 8 bytes from
/// each of its banks at a time.
template <class T>
int reads_of(const tensor_layout& layout, const convolution_problem<T>& problem) {
  using form = tensor_form<T>;
  constexpr int most_runs = 8, units = 16;
  const auto inputs = static_cast<int>(problem.in_channels);
  const int unit_distance = layout.stacked_rows * static_cast<int>(problem.row_stride);
  int reads = 0;
  for (int run = 0; run < std::min(layout.runs, most_runs); ++run) {
    std::array<std::array<int, 16>, units> of_bank{};
    std::array<int, units> counts{};
    for (int lane = 0; lane < 16; ++lane) {
      const int element = (lane / 8 * 4 + lane / 4 % 2) * static_cast<int>(problem.column_stride);
      const auto line = tensor_line::of(layout, inputs, unit_distance, run, lane % 4);
      const int of_line =
          line.is_there ? line.input * layout.plane_elements + line.row * layout.pitch + line.segment * form::line_taps
                        : 0;
      const int copy = element % form::copies;
      const int unit = copy * layout.copy_words / 2 + (element + of_line) / form::line_taps;
      const auto bank = static_cast<std::size_t>(unit % units);
      const auto end = of_bank[bank].begin() + counts[bank];
      if (std::find(of_bank[bank].begin(), end, unit) != end) continue;
      *end = unit;
      ++counts[bank];
    }
    reads += std::ranges::max(counts);
  }
  return reads;
}

/// Pads rows, planes and copies so that the memory is read the fewest times, in no more than `most_words` of scratch
/// memory.
template <class T>
void spread(tensor_layout& layout, const convolution_problem<T>& problem, int most_words) {
  constexpr int chunks_of_banks = 8;
  const int planes = problem.in_channels > 1 ? chunks_of_banks : 1;
  int fewest = reads_of(layout, problem);
  const tensor_layout plain = layout;
  for (int of_row = 0; of_row < 4; ++of_row) {
    for (int of_plane = 0; of_plane < planes; ++of_plane) {
      for (int of_copy = 0; of_copy < chunks_of_banks; ++of_copy) {
        tensor_layout padded = plain;
        if (!cut_images(padded, problem, plain.images, plain.bands, {of_row, of_plane, of_copy})) continue;
        padded.result_rows = plain.result_rows;
        padded.result_words = plain.result_words;
        if (padded.scratch_words<T>() > most_words) continue;
        const int reads = reads_of(padded, problem);
        if (reads >= fewest) continue;
        fewest = reads;
        layout = padded;
      }
    }
  }
}

/// The words of scratch memory that each team can have if a multiprocessor holds some of them.
int words_of_team(int teams, const team_resources& resources) {
  constexpr std::int64_t reserved = 1024;  // by the driver, for each team
  constexpr std::int64_t for_alignment = 64;
  const std::int64_t bytes =
      std::min<std::int64_t>(resources.bytes_of_multiprocessor / teams - reserved, resources.bytes_of_team);
  return static_cast<int>(std::max<std::int64_t>(0, bytes - for_alignment) / 4);
}

/// The teams that a multiprocessor holds at the same time; none if the memory does not suffice.
template <class T>
int resident_teams_of(const tensor_layout& layout, const team_resources& resources) {
  int teams = tensor_layout::resident_teams;
  while (teams > 0 && layout.scratch_words<T>() > words_of_team(teams, resources)) --teams;
  return teams;
}

/// Lets results be written from the scratch memory, if some rows of blocks of all channels fit into it.
template <class T>
void stage_results(tensor_layout& layout, const convolution_problem<T>& problem, int most_words) {
  if (!has_split_sectors(problem)) return;
  const std::int64_t y_rows = layout.rows_of_block() / (problem.is_pooled() ? problem.window.height : 1);
  const std::int64_t channels =
      std::min<std::int64_t>(problem.out_channels, layout.part_tiles * tensor_layout::unit_rows);
  const int free_words = most_words - layout.scratch_words<T>();
  const auto words_of = [&](std::int64_t rows) {
    return round_up(divide_up(layout.images * channels * rows * problem.y_columns * std::int64_t{sizeof(T)}, 4), 4);
  };
  if (layout.bands == 1 && layout.parts == 1 && problem.has_results_without_gaps() &&
      words_of(problem.y_rows) <= free_words) {
    layout.result_rows = layout.block_rows;
    layout.result_words = static_cast<int>(words_of(problem.y_rows));
    return;
  }
  if (layout.images > 1) return;
  // As many rows of blocks as keep all warps busy, and no more than needed.
  for (const int turns : {4, 3, 2, 1}) {
    const std::int64_t blocks = std::int64_t{turns} * tensor_layout::warps * tensor_layout::blocks_of_warp;
    const std::int64_t rows = std::clamp<std::int64_t>(
        divide_up(blocks, std::int64_t{layout.block_columns_of_row} * layout.part_tiles), 1, layout.block_rows);
    const std::int64_t words = words_of(rows * y_rows);
    if (words > free_words) continue;
    layout.result_rows = static_cast<int>(rows);
    layout.result_words = static_cast<int>(words);
    return;
  }
}

/// The time of a layout in turns of all warps of a team.
template <class T>
double time_of(const tensor_layout& layout, const convolution_problem<T>& problem, const team_resources& resources,
               int teams_of_multiprocessor) {
  const std::int64_t teams = std::int64_t{resources.multiprocessors} * teams_of_multiprocessor / layout.parts;
  const auto shares =
      item_shares::of(layout.image_bands(problem.images), std::max<std::int64_t>(1, teams), layout.images);
  const auto of_item = [&](int images) {
    const std::int64_t work = divide_up(std::int64_t{images} * layout.blocks(), tensor_layout::blocks_of_warp);
    const std::int64_t turns = divide_up(work * layout.part_tiles, tensor_layout::warps);
    const std::int64_t chunks = std::int64_t{images} * problem.in_channels * layout.plane_rows * layout.row_chunks();
    const std::int64_t copies = divide_up(chunks, tensor_layout::threads);
    const std::int64_t words = std::int64_t{images} * problem.in_channels * layout.plane_rows * layout.staged_pitch;
    const double staging = layout.has_whole_images() ? 0.0
                                                     : time_of_single_word * static_cast<double>(words) /
                                                           static_cast<double>(tensor_layout::threads);
    constexpr double barriers = 150.0;
    const double stores = has_split_sectors(problem) && layout.result_words == 0 ? time_of_scattered_stores : 0.0;
    const double of_turn = layout.steps() * time_of_step + layout.runs * time_of_run + time_of_blocks + stores;
    return static_cast<double>(turns) * of_turn + static_cast<double>(copies) * time_of_chunk + staging + barriers;
  };
  const int rest = shares.most_of_rest();
  return static_cast<double>(shares.whole_items) * of_item(layout.images) + (rest > 0 ? of_item(rest) : 0.0);
}

}  // namespace

template <class T>
tensor_layout best_tensor_layout(const convolution_problem<T>& problem, const team_resources& resources) {
  tensor_layout best;
  if (problem.in_channels == 0 || has_large_extents(problem, most_extent)) return best;
  // No memory has room for so many lines, and fewer do not overflow.
  constexpr std::int64_t most_lines = 1 << 24;
  const std::int64_t rows = problem.filter_rows + tensor_layout::unit_rows * problem.row_stride;
  if (problem.in_channels * divide_up(problem.filter_columns, tensor_form<T>::line_taps) > most_lines / rows)
    return best;
  const tensor_layout of_filters = layout_of_filters(problem);
  const std::int64_t teams = tensor_layout::resident_teams * resources.multiprocessors;
  double least = std::numeric_limits<double>::infinity();
  const std::int64_t block_rows = divide_up(problem.rows, of_filters.rows_of_block());
  const auto consider = [&](std::int64_t parts, std::int64_t images, std::int64_t bands) {
    tensor_layout layout = of_filters;
    layout.most_teams = static_cast<int>(teams);
    layout.part_tiles = static_cast<int>(divide_up(layout.weight_tiles, parts));
    layout.parts = static_cast<int>(divide_up(layout.weight_tiles, layout.part_tiles));
    if (std::int64_t{layout.steps()} * layout.part_tiles > most_extent || !cut_images(layout, problem, images, bands))
      return;
    const int resident = resident_teams_of<T>(layout, resources);
    if (resident == 0) return;
    stage_results(layout, problem, words_of_team(resident, resources));
    // A team takes less time for an item if no other team shares its multiprocessor.
    constexpr double alone = 0.85;
    const double time = time_of(layout, problem, resources, resident) * (resident == 1 ? alone : 1.0);
    if (time < least) {
      least = time;
      best = layout;
    }
  };
  for_each_cut(of_filters.weight_tiles, block_rows, problem.images, teams, consider, [&] {
    // Bands are for images that do not fit, or leave room for fewer teams, and for teams that would have none.
    const bool has_all_teams =
        best.images > 0 && resident_teams_of<T>(best, resources) == tensor_layout::resident_teams;
    return !has_all_teams || problem.images < teams;
  });
  if (best.images > 0) spread(best, problem, words_of_team(resident_teams_of<T>(best, resources), resources));
  return best;
}

template tensor_layout best_tensor_layout(const convolution_problem<float>& problem, const team_resources& resources);
template tensor_layout best_tensor_layout(const convolution_problem<f16>& problem, const team_resources& resources);
template tensor_layout best_tensor_layout(const convolution_problem<bf16>& problem, const team_resources& resources);

}  // namespace prumo::backend
