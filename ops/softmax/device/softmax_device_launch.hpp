// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel softmax and log_softmax run on a device, and its launch.

#include "softmax_column_major_kernel.hpp"
#include "softmax_element_rows_kernel.hpp"
#include "softmax_kept_rows_kernel.hpp"
#include "softmax_long_rows_kernel.hpp"
#include "softmax_pack_rows_kernel.hpp"
#include "softmax_shared_rows_kernel.hpp"
#include "softmax_short_rows_choice.hpp"
#include "softmax_short_rows_kernel.hpp"
#include "softmax_spread_rows_kernel.hpp"
#include <prumo/context.hpp>
#include <prumo/detail/teams/arrival_counters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace prumo::detail {

/// Whether rows are whole packs, whose elements are neighbours.
template <class T>
bool softmax_has_whole_packs(const softmax_problem<T>& problem) {
  const std::int64_t row_stride = problem.rows == 1 ? 0 : problem.source_row_stride;
  return softmax_have_same_packs(problem) && can_load_packs(problem.source, row_stride) &&
         problem.columns % device_pack_elements<T> == 0;
}

/// Rows of neighbouring elements. Rows of whole packs have kernels of their own, because a check for other elements
/// takes an H200 2 to 8 % of their time. Kernels for more than a pack a thread are compiled for the number of a row's
/// threads. If they learn it when they run, they take 4 to 11 % longer.
template <softmax_rows Rows, class Formula, class Exec, class T>
void launch_short_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("rows");
  using partition = softmax_device_partition<T>;
  constexpr int usual = partition::usual_threads;
  constexpr int most = partition::most_packs;
  constexpr int many = partition::most_threads;
  constexpr bool has_ends = Rows == softmax_rows::with_ends, is_half = sizeof(T) == 2;
  constexpr int fewest = has_ends ? 2 * partition::pack_elements : 1;
  // If there are many numbers of 16 bits, half as many threads with twice the packs each take less time: a row waits
  // once less for an exchange, and has fewer ends.
  constexpr int half = exchange_threads / 2;
  constexpr std::int64_t many_elements = std::int64_t{1} << 20;
  const bool halved = is_half && (problem.rows * problem.columns > many_elements ||
                                  (has_ends && problem.columns <= 2 * half * partition::pack_elements));
  const int packs = partition::packs_for(problem.columns, halved ? half : exchange_threads);
  const int group = std::max(partition::group_for(problem.columns, packs), fewest);
  const auto launch = [&]<int Packs, int Threads, int Group>() {
    launch_teams(ctx.instance(), label,
                 softmax_short_rows_kernel<T, Formula, Rows, Packs, Threads, Group>(problem, group));
  };
  // More than one pack a thread means that a row has all threads that exchange registers, or half of them.
  const auto launch_packs = [&]<int Packs>() {
    if constexpr (is_half) {
      if (group == half) return launch.template operator()<Packs, usual, half>();
    }
    launch.template operator()<Packs, usual, exchange_threads>();
  };
  switch (group) {
    case 1024: return launch.template operator()<most, many, 1024>();
    case 512: return launch.template operator()<most, many, 512>();
    case 256: return launch.template operator()<most, usual, 256>();
    case 128: return launch.template operator()<most, usual, 128>();
    case 64: return launch.template operator()<most, usual, 64>();
    default: break;
  }
  switch (packs) {
    case 1: return launch.template operator()<1, usual, has_ends && is_half ? half : 0>();
    case 2: return launch_packs.template operator()<2>();
    case 4: return launch_packs.template operator()<4>();
    default: return launch.template operator()<most, usual, exchange_threads>();
  }
}

/// Whether rows are short and lie one behind the other.
template <class T>
bool softmax_fits_tiles(const softmax_problem<T>& problem) {
  return problem.columns <= softmax_device_partition<T>::longest_row_of_tile && problem.source_column_stride == 1 &&
         problem.target_column_stride == 1 &&
         (problem.rows == 1 ||
          (problem.source_row_stride == problem.columns && problem.target_row_stride == problem.columns));
}

template <class Formula, class Exec, class T>
void launch_softmax_tiles(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("tiles");
  constexpr int most = softmax_device_partition<T>::elements_of_tile_row;
  const int group = group_threads((problem.columns + most - 1) / most, exchange_threads);
  const std::int64_t elements = (problem.columns + group - 1) / group;
  const auto launch = [&]<int Elements>() {
    launch_teams(ctx.instance(), label, softmax_tile_kernel<T, Formula, Elements>(problem, group));
  };
  // Rows that a thread takes as a whole do not come here.
  if constexpr (softmax_short_rows_choice<T>::longest_row_of_thread < 4) {
    if (elements <= 2) return launch.template operator()<2>();
    if (elements <= 4) return launch.template operator()<4>();
  }
  if constexpr (most > 4) {
    if (elements <= 6) return launch.template operator()<6>();
    launch.template operator()<8>();
  }
}

/// Rows of up to longest_row_of_tile neighbouring elements.
template <class Formula, class Exec, class T>
void launch_softmax_element_rows(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("element_rows");
  const auto launch = [&]<int Group, int Elements>() {
    launch_teams(ctx.instance(), label, softmax_element_rows_kernel<T, Formula, Group, Elements>(problem));
  };
  const std::int64_t columns = problem.columns;
  if constexpr (softmax_short_rows_choice<T>::longest_row_of_thread < 4) {
    if (columns <= 2) return launch.template operator()<1, 2>();
    if (columns <= 4) return launch.template operator()<2, 2>();
  }
  if (columns <= 8) return launch.template operator()<4, 2>();
  if (columns <= 16) return launch.template operator()<8, 2>();
  if (columns <= 32) return launch.template operator()<8, 4>();
  if (columns <= 64) return launch.template operator()<16, 4>();
  if (columns <= 96) return launch.template operator()<32, 3>();
  if (columns <= 128) return launch.template operator()<32, 4>();
  if (columns <= 160) return launch.template operator()<32, 5>();
  if (columns <= 192) return launch.template operator()<32, 6>();
  if (columns <= 224) return launch.template operator()<32, 7>();
  launch.template operator()<32, 8>();
}

/// Rows of any strides.
template <class Formula, class Exec, class T>
void launch_strided_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("strided_rows");
  using partition = softmax_device_partition<T>;
  const auto launch = [&]<int Packs, int Threads, int Group = 0>(int group) {
    launch_teams(ctx.instance(), label,
                 softmax_short_rows_kernel<T, Formula, softmax_rows::strided, Packs, Threads, Group>(problem, group));
  };
  const int packs = partition::packs_for(problem.columns) == 1 ? 1 : partition::most_packs;
  const int group = partition::group_for(problem.columns, packs);
  if constexpr (softmax_short_rows_choice<T>::longest_row_of_thread > 0) {
    if (group == 1) return launch.template operator()<1, partition::usual_threads, 1>(group);
  }
  if (packs == 1) return launch.template operator()<1, partition::usual_threads>(group);
  if (group <= partition::usual_threads) {
    return launch.template operator()<partition::most_packs, partition::usual_threads>(group);
  }
  launch.template operator()<partition::most_packs, partition::most_threads>(group);
}

/// Launches softmax_spread_rows_kernel, if it pays and the device has room for its teams.
template <class Formula, class Exec, class T>
bool try_softmax_spread_rows(context<Exec>& ctx, const softmax_problem<T>& problem, const team_resources& device) {
  static const std::string label = softmax_label<Formula>("spread_rows");
  using kernel = softmax_spread_rows_kernel<T, Formula>;
  const int teams =
      softmax_spread_choice::teams(problem.rows, problem.columns * static_cast<std::int64_t>(sizeof(T)), device);
  if (teams == 0 || kernel::words_for(problem.rows * teams) > published_words_of_a_context) return false;
  return runs_resident_teams<kernel>(ctx.instance(), kernel::most_scratch_bytes(device)) &&
         try_launch_resident_teams(ctx.instance(), label,
                                   kernel(problem, teams, published_words_of(ctx), arrival_counters_of(ctx)));
}

/// Launches a kernel that keeps rows in scratch memory, if one of them pays. Kokkos gives less scratch memory than they
/// need. Rows of double were not measured.
template <class Formula, class Exec, class T>
bool try_softmax_in_scratch(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string shared_label = softmax_label<Formula>("shared_rows");
  static const std::string kept_label = softmax_label<Formula>("kept_rows");
  constexpr int most = softmax_device_partition<T>::most_threads;
  using shared = softmax_shared_rows_kernel<T, Formula>;
  const team_resources device = team_resources_of(ctx.instance());
  const auto kept_bytes = softmax_kept_rows_kernel<T, Formula, most>::scratch_bytes_for(problem.columns);
  const int kept = softmax_kept_choice::teams(problem.rows, problem.columns,
                                              static_cast<std::int64_t>(kept_bytes + most_scratch_alignment),
                                              problem.columns <= softmax_device_partition<T>::longest_row, device);
  const int sharing = softmax_shared_choice::teams(problem.rows, problem.columns * static_cast<std::int64_t>(sizeof(T)),
                                                   sizeof(T), kept == 2, device);
  if (sharing > 0 && runs_clusters<shared>(ctx.instance(), shared::most_scratch_bytes(device))) {
    launch_teams(ctx.instance(), shared_label, shared(problem, sharing));
  } else if (kept == 2) {
    launch_teams(ctx.instance(), kept_label,
                 softmax_kept_rows_kernel<T, Formula, most / 2>(problem, 2 * device.multiprocessors));
  } else if (kept == 1) {
    launch_teams(ctx.instance(), kept_label,
                 softmax_kept_rows_kernel<T, Formula, most>(problem, device.multiprocessors));
  } else {
    return try_softmax_spread_rows<Formula>(ctx, problem, device);
  }
  return true;
}

/// Whether rows lie side by side, in x and in y.
template <class T>
bool softmax_is_column_major(const softmax_problem<T>& problem) {
  return problem.rows > 1 && problem.source_row_stride == 1 && problem.target_row_stride == 1 &&
         problem.source_column_stride >= problem.rows && problem.target_column_stride >= problem.rows;
}

template <class Formula, class Exec, class T>
void launch_column_major_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("column_major");
  static const std::string statistics_label = softmax_label<Formula>("column_major_statistics");
  static const std::string write_label = softmax_label<Formula>("column_major_write");
  using choice_type = softmax_column_major_choice<T>;
  constexpr int few = choice_type::few, many = choice_type::many;
  constexpr int usual = choice_type::usual_threads, most = choice_type::most_threads;
  const auto choice = choice_type::of(problem.rows, problem.columns);
  const auto launch = [&]<int Held, int Threads>() {
    launch_teams(ctx.instance(), label, softmax_column_major_kernel<T, Formula, Held, Threads>(problem, choice.tiles));
  };
  if (!choice.in_chunks) {
    if (choice.threads == most) return launch.template operator()<many, most>();
    return choice.held == few ? launch.template operator()<few, usual>() : launch.template operator()<many, usual>();
  }
  using statistics = softmax_statistics<compute_t<T>>;
  const std::int64_t values = problem.rows * choice.tiles.chunks;
  auto* const partial =
      static_cast<statistics*>(ctx.workspace(static_cast<std::size_t>(values + problem.rows) * sizeof(statistics)));
  statistics* const of_rows = partial + values;
  launch_teams(ctx.instance(), statistics_label,
               softmax_column_major_statistics_kernel<T, Formula, many, usual>(problem, choice.tiles, partial,
                                                                               arrival_counters_of(ctx), of_rows));
  launch_teams(ctx.instance(), write_label,
               softmax_column_major_write_kernel<T, Formula, many, usual>(problem, choice.tiles, of_rows));
}

template <class Formula, bool InPacks, class Exec, class T>
void launch_long_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string rows_label = softmax_label<Formula>("long_rows");
  static const std::string statistics_label = softmax_label<Formula>("statistics");
  static const std::string write_label = softmax_label<Formula>("write");
  using statistics = softmax_statistics<compute_t<T>>;
  using partition = softmax_device_partition<T>;
  const std::int64_t row_bytes = problem.columns * static_cast<std::int64_t>(sizeof(T));
  if (softmax_long_partition::gives_rows_to_teams(problem.rows, row_bytes)) {
    constexpr int most = partition::most_threads;
    if constexpr (InPacks) {
      if (row_bytes <= softmax_long_partition::shorter_row_bytes) {
        return launch_teams(ctx.instance(), rows_label, softmax_long_rows_kernel<T, Formula, true, most / 2>(problem));
      }
    }
    return launch_teams(ctx.instance(), rows_label, softmax_long_rows_kernel<T, Formula, InPacks, most>(problem));
  }
  constexpr std::int64_t held =
      std::int64_t{softmax_long_partition::threads} * partition::packs_of_segment * partition::pack_elements;
  const auto cut = softmax_long_partition::of(problem.rows, problem.columns, held);
  auto* const partial = static_cast<statistics*>(
      ctx.workspace(static_cast<std::size_t>(problem.rows * cut.segments) * sizeof(statistics)));
  launch_teams(ctx.instance(), statistics_label, softmax_statistics_kernel<T, Formula, InPacks>(problem, cut, partial));
  launch_teams(ctx.instance(), write_label, softmax_write_kernel<T, Formula, InPacks>(problem, cut, partial));
}

/// Rows of which a pack has whole ones. Numbers of 16 bits take half the time if a thread has two packs, unless that
/// would leave a device without enough threads.
template <class Formula, int Columns, class Exec, class T>
void launch_softmax_pack_rows(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("pack_rows");
  if constexpr (sizeof(T) == 2) {
    constexpr std::int64_t many_elements = std::int64_t{1} << 20;
    if (problem.rows * Columns >= many_elements) {
      return launch_blocks(ctx.instance(), label, softmax_pack_rows_kernel<T, Formula, Columns, 2>(problem));
    }
  }
  launch_blocks(ctx.instance(), label, softmax_pack_rows_kernel<T, Formula, Columns, 1>(problem));
}

template <class Formula, class Exec, class T>
bool try_softmax_pack_rows(context<Exec>& ctx, const softmax_problem<T>& problem) {
  if (!softmax_fits_tiles(problem) || !can_load_packs<T>(problem.source, 0) || !can_load_packs<T>(problem.target, 0)) {
    return false;
  }
  const auto launch = [&]<int Columns>() {
    if constexpr (device_pack_elements<T> % Columns == 0) {
      launch_softmax_pack_rows<Formula, Columns>(ctx, problem);
      return true;
    }
    return false;
  };
  switch (problem.columns) {
    case 2: return launch.template operator()<2>();
    case 4: return launch.template operator()<4>();
    case 8: return launch.template operator()<8>();
    default: return false;
  }
}

template <class Formula, class Exec, class T>
void launch_softmax_on_device(context<Exec>& ctx, const softmax_problem<T>& problem) {
  using partition = softmax_device_partition<T>;
  if (softmax_is_column_major(problem)) return launch_column_major_softmax<Formula>(ctx, problem);
  const bool in_packs = softmax_have_same_packs(problem);
  if constexpr (launches_by_cuda_runtime<Exec> && sizeof(T) < 8) {
    // Short rows take so little time that questions to the device would count.
    constexpr std::int64_t fewest_columns =
        std::min<std::int64_t>(softmax_kept_choice::fewest_columns,
                               softmax_shared_choice::fewest_bytes / static_cast<std::int64_t>(sizeof(T)));
    if (in_packs && problem.columns >= fewest_columns && try_softmax_in_scratch<Formula>(ctx, problem)) return;
  }
  if (problem.columns > partition::longest_row) {
    return in_packs ? launch_long_softmax<Formula, true>(ctx, problem)
                    : launch_long_softmax<Formula, false>(ctx, problem);
  }
  if constexpr (sizeof(T) < 8) {
    if (try_softmax_pack_rows<Formula>(ctx, problem)) return;
  }
  if (softmax_has_whole_packs(problem)) return launch_short_softmax<softmax_rows::whole_packs, Formula>(ctx, problem);
  if (softmax_fits_tiles(problem)) {
    switch (softmax_short_rows_choice<T>::of(problem.rows, problem.columns, in_packs)) {
      case softmax_short_form::tiles: return launch_softmax_tiles<Formula>(ctx, problem);
      case softmax_short_form::row_of_thread: return launch_strided_softmax<Formula>(ctx, problem);
      case softmax_short_form::elements:
        if constexpr (softmax_short_rows_choice<T>::takes_elements) {
          return launch_softmax_element_rows<Formula>(ctx, problem);
        }
        break;
      case softmax_short_form::packs: break;
    }
  }
  // Of the shortest rows hardly anything would be in packs.
  if (in_packs && problem.columns >= 2 * device_pack_elements<T>) {
    return launch_short_softmax<softmax_rows::with_ends, Formula>(ctx, problem);
  }
  launch_strided_softmax<Formula>(ctx, problem);
}

}  // namespace prumo::detail
