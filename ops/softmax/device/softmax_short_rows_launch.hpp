// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches the kernels of softmax on a device for rows that fit into registers.

#include "softmax_element_rows_kernel.hpp"
#include "softmax_pack_rows_kernel.hpp"
#include "softmax_short_rows_choice.hpp"
#include "softmax_short_rows_kernel.hpp"
#include <prumo/context.hpp>

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

}  // namespace prumo::detail
