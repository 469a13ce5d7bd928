// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transpose_device_kernel.hpp"
#include "transpose_host_kernel.hpp"
#include <prumo/detail/elementwise_kernel.hpp>

#include <string>

namespace prumo::detail {
namespace {

const std::string tiles_label = "prumo::transpose::tiles";

template <class Word>
bool can_use_packs(const transpose_problem<Word>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         can_load_packs(problem.source, problem.source_row_stride) &&
         can_load_packs<Word>(problem.target, problem.target_row_stride);
}

}  // namespace

template <class Exec, class Word>
void launch_transpose(const Exec& instance, const transpose_problem<Word>& problem) {
  if (problem.rows == 0 || problem.columns == 0) return;
  if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(problem.rows * problem.columns) * 2 * sizeof(Word);
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
    launch_blocks(instance, tiles_label, transpose_host_kernel<Word>(problem, concurrency_of(instance), streaming));
  } else if (can_use_packs(problem)) {
    launch_teams(instance, tiles_label, transpose_device_kernel<Word, true>(problem));
  } else {
    launch_teams(instance, tiles_label, transpose_device_kernel<Word, false>(problem));
  }
}

#define PRUMO_INSTANTIATE_TRANSPOSE(Space)                                                                     \
  template void launch_transpose<Space, std::uint16_t>(const Space&, const transpose_problem<std::uint16_t>&); \
  template void launch_transpose<Space, std::uint32_t>(const Space&, const transpose_problem<std::uint32_t>&); \
  template void launch_transpose<Space, std::uint64_t>(const Space&, const transpose_problem<std::uint64_t>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TRANSPOSE)

}  // namespace prumo::detail
