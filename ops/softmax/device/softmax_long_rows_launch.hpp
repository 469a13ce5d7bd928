// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches the kernels of softmax on a device for rows that do not fit into registers, or that lie side by side.

#include "softmax_column_major_kernel.hpp"
#include "softmax_kept_rows_kernel.hpp"
#include "softmax_long_rows_kernel.hpp"
#include "softmax_shared_rows_kernel.hpp"
#include "softmax_spread_rows_kernel.hpp"
#include <prumo/context.hpp>
#include <prumo/detail/teams/arrival_counters.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace prumo::detail {

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

/// Whether rows lie side by side, in x and in y, and are long enough for kernels of such rows.
template <class T>
bool softmax_is_column_major(const softmax_problem<T>& problem) {
  return problem.rows > 1 && problem.columns >= softmax_column_major_choice<T>::fewest_columns &&
         problem.source_row_stride == 1 && problem.target_row_stride == 1 &&
         problem.source_column_stride >= problem.rows && problem.target_column_stride >= problem.rows;
}

template <class Formula, class Exec, class T>
void launch_column_major_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string label = softmax_label<Formula>("column_major");
  static const std::string statistics_label = softmax_label<Formula>("column_major_statistics");
  static const std::string write_label = softmax_label<Formula>("column_major_write");
  using choice_type = softmax_column_major_choice<T>;
  constexpr int some = choice_type::some, many = choice_type::many;
  constexpr int usual = choice_type::usual_threads, most = choice_type::most_threads;
  const auto choice = choice_type::of(problem.rows, problem.columns);
  const auto launch = [&]<int Held, int Threads>() {
    launch_teams(ctx.instance(), label, softmax_column_major_kernel<T, Formula, Held, Threads>(problem, choice.tiles));
  };
  if (problem.columns <= choice_type::longest_held) {
    if (choice.threads == usual) return launch.template operator()<some, usual>();
    return choice.held == some ? launch.template operator()<some, most>() : launch.template operator()<many, most>();
  }
  using statistics = softmax_statistics<compute_t<T>>;
  const std::int64_t values = problem.rows * choice.tiles.chunks;
  auto* const partial =
      static_cast<statistics*>(ctx.workspace(static_cast<std::size_t>(values + problem.rows) * sizeof(statistics)));
  statistics* const of_rows = partial + values;
  launch_teams(ctx.instance(), statistics_label,
               softmax_column_major_statistics_kernel<T, Formula, many>(problem, choice.tiles, partial,
                                                                        arrival_counters_of(ctx), of_rows));
  launch_teams(ctx.instance(), write_label,
               softmax_column_major_write_kernel<T, Formula, many>(problem, choice.tiles, of_rows));
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

}  // namespace prumo::detail
