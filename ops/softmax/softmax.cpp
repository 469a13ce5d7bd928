// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_device_kernel.hpp"
#include "softmax_kernel.hpp"

#include <string>

namespace prumo::detail {
namespace {

const std::string rows_label = "prumo::softmax::rows";
const std::string statistics_label = "prumo::softmax::statistics";
const std::string join_label = "prumo::softmax::join";
const std::string write_label = "prumo::softmax::write";

template <class T>
bool can_use_packs(const softmax_problem<T>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         problem.columns % device_pack_elements<T> == 0 && can_load_packs(problem.source, problem.source_row_stride) &&
         can_load_packs<T>(problem.target, problem.target_row_stride);
}

template <bool InPacks, class Exec, class T>
void launch_short_rows(context<Exec>& ctx, const softmax_problem<T>& problem) {
  using partition = softmax_device_partition<T>;
  constexpr int usual = partition::usual_threads;
  const int packs = partition::packs_for(problem.columns);
  const int group = partition::group_for(problem.columns, packs);
  const auto launch = [&]<int Packs, int Threads, int Group>() {
    launch_teams(ctx.instance(), rows_label,
                 softmax_short_rows_kernel<T, Packs, InPacks, Threads, Group>(problem, group));
  };
  constexpr int most = partition::most_packs;
  constexpr int many = partition::most_threads;
  switch (group) {
    case 1024: return launch.template operator()<most, many, 1024>();
    case 512: return launch.template operator()<most, many, 512>();
    case 256: return launch.template operator()<most, usual, 256>();
    case 128: return launch.template operator()<most, usual, 128>();
    case 64: return launch.template operator()<most, usual, 64>();
    default: break;
  }
  // More than one pack a thread means that a row has all threads that exchange registers.
  switch (packs) {
    case 1: return launch.template operator()<1, usual, 0>();
    case 2: return launch.template operator()<2, usual, exchange_threads>();
    case 4: return launch.template operator()<4, usual, exchange_threads>();
    default: return launch.template operator()<most, usual, exchange_threads>();
  }
}

template <bool InPacks, class Exec, class T>
void launch_long_rows(context<Exec>& ctx, const softmax_problem<T>& problem) {
  using C = compute_t<T>;
  using statistics = softmax_statistics<C>;
  constexpr std::int64_t segment = softmax_device_partition<T>::segment;
  const std::int64_t segments = (problem.columns + segment - 1) / segment;
  auto* const of_rows = static_cast<statistics*>(
      ctx.workspace(static_cast<std::size_t>(problem.rows * (segments + 1)) * sizeof(statistics)));
  statistics* const partial = of_rows + problem.rows;
  launch_teams(ctx.instance(), statistics_label, softmax_statistics_kernel<T, InPacks>(problem, partial));
  launch_teams(ctx.instance(), join_label, softmax_join_kernel<C>{partial, problem.rows, segments, of_rows});
  launch_blocks(ctx.instance(), write_label, softmax_write_kernel<T, InPacks>(problem, of_rows));
}

template <bool InPacks, class Exec, class T>
void launch_on_device(context<Exec>& ctx, const softmax_problem<T>& problem) {
  if (problem.columns <= softmax_device_partition<T>::longest_row) {
    launch_short_rows<InPacks>(ctx, problem);
  } else {
    launch_long_rows<InPacks>(ctx, problem);
  }
}

}  // namespace

template <class Exec, class T>
void launch_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(problem.rows * problem.columns) * 2 * sizeof(T);
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
    launch_blocks(ctx.instance(), rows_label, softmax_host_kernel<T>(problem, streaming));
  } else if (can_use_packs(problem)) {
    launch_on_device<true>(ctx, problem);
  } else {
    launch_on_device<false>(ctx, problem);
  }
}

#define PRUMO_INSTANTIATE_SOFTMAX(Space)                                                        \
  template void launch_softmax<Space, float>(context<Space>&, const softmax_problem<float>&);   \
  template void launch_softmax<Space, double>(context<Space>&, const softmax_problem<double>&); \
  template void launch_softmax<Space, f16>(context<Space>&, const softmax_problem<f16>&);       \
  template void launch_softmax<Space, bf16>(context<Space>&, const softmax_problem<bf16>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_SOFTMAX)

}  // namespace prumo::detail
