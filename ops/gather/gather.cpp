// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather_kernel.hpp"
#include <prumo/detail/elementwise_kernel.hpp>

#include <string>

namespace prumo::detail {
namespace {

const std::string rows_label = "prumo::gather_rows::rows";

template <class Word, class Index>
bool can_use_packs(const gather_problem<Word, Index>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         problem.columns % device_pack_elements<Word> == 0 &&
         can_load_packs(problem.source, problem.source_row_stride) &&
         can_load_packs<Word>(problem.target, problem.target_row_stride);
}

}  // namespace

template <class Exec, class Word, class Index>
void launch_gather_rows(const Exec& instance, const gather_problem<Word, Index>& problem) {
  if (problem.rows == 0 || problem.columns == 0) return;
  if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(problem.rows * problem.columns) * 2 * sizeof(Word);
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
    launch_blocks(instance, rows_label, gather_host_kernel<Word, Index>(problem, concurrency_of(instance), streaming));
  } else if (can_use_packs(problem)) {
    launch_teams(instance, rows_label, gather_device_kernel<Word, Index, true>(problem));
  } else {
    launch_teams(instance, rows_label, gather_device_kernel<Word, Index, false>(problem));
  }
}

#define PRUMO_INSTANTIATE_GATHER_FOR(Space, Word)                                                         \
  template void launch_gather_rows<Space, Word, std::int64_t>(const Space&,                               \
                                                              const gather_problem<Word, std::int64_t>&); \
  template void launch_gather_rows<Space, Word, std::int32_t>(const Space&, const gather_problem<Word, std::int32_t>&);
#define PRUMO_INSTANTIATE_GATHER(Space)              \
  PRUMO_INSTANTIATE_GATHER_FOR(Space, std::uint16_t) \
  PRUMO_INSTANTIATE_GATHER_FOR(Space, std::uint32_t) \
  PRUMO_INSTANTIATE_GATHER_FOR(Space, std::uint64_t)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GATHER)

}  // namespace prumo::detail
