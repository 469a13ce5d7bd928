// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel softmax and log_softmax run on a device.

#include "softmax_long_rows_launch.hpp"
#include "softmax_short_rows_launch.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

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
