// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sum_kernel.hpp"
#include <prumo/sum.hpp>

#include <algorithm>
#include <string>

namespace prumo {

std::int64_t sum_depth(std::int64_t count, std::size_t compute_bytes, bool column_major) {
  if (column_major) {
    constexpr std::int64_t chunk = detail::sum_column_major_kernel<float>::columns_at_once;
    return std::min(count, chunk) + (count + chunk - 1) / chunk;
  }
  const std::int64_t lanes = compute_bytes == 8 ? detail::reduction_lanes<double> : detail::reduction_lanes<float>;
  const auto depth_of = [&](std::int64_t terms) { return terms < lanes ? terms : (terms + lanes - 1) / lanes + 6; };
  const std::int64_t segments = detail::sum_segments(count);
  return depth_of(std::min(count, detail::sum_segment)) + (segments > 1 ? depth_of(segments) : 0);
}

namespace detail {
namespace {

const std::string segments_label = "prumo::sum::segments";
const std::string partial_sums_label = "prumo::sum::partial_sums";
const std::string column_major_label = "prumo::sum::column_major";
const std::string strided_label = "prumo::sum::strided";

}  // namespace

template <class Exec, class T>
void launch_sum_rows(context<Exec>& ctx, const sum_problem<T>& problem) {
  static_assert(is_host_space<Exec>, "prumo::sum: this execution space has no kernel yet");
  using C = compute_t<T>;
  if (problem.rows == 0) return;
  if (problem.row_stride == 1 && problem.column_stride != 1 && problem.columns > 1 && problem.rows > 1) {
    launch_blocks(ctx.instance(), column_major_label,
                  sum_column_major_kernel<T>{problem.source, problem.rows, problem.columns, problem.column_stride,
                                             problem.results, problem.result_stride});
    return;
  }
  const std::int64_t segments = sum_segments(problem.columns);
  if (segments == 1) {
    launch_blocks(
        ctx.instance(), segments_label,
        sum_segments_kernel<T, T>{problem.source, problem.rows, problem.columns, problem.row_stride,
                                  problem.column_stride, problem.results, problem.result_stride, sum_segment});
    return;
  }
  auto* const partial = static_cast<C*>(ctx.workspace(static_cast<std::size_t>(problem.rows * segments) * sizeof(C)));
  launch_blocks(ctx.instance(), segments_label,
                sum_segments_kernel<T, C>{problem.source, problem.rows, problem.columns, problem.row_stride,
                                          problem.column_stride, partial, 1, sum_segment});
  launch_blocks(ctx.instance(), partial_sums_label,
                sum_segments_kernel<C, T>{partial, problem.rows, segments, segments, 1, problem.results,
                                          problem.result_stride, segments});
}

template <class Exec, class T>
void launch_sum(context<Exec>& ctx, const array<const T>& source, T* result) {
  using C = compute_t<T>;
  const loop_nest<1> nest = make_loop_nest(source);
  if (nest.rank == 1) {
    launch_sum_rows(ctx, sum_problem<T>{source.data, 1, nest.extents[0], 0, nest.strides[0][0], result, 1});
    return;
  }
  using strided_kernel = sum_strided_kernel<T, C>;
  const std::int64_t partial_count = strided_kernel::partial_sums(nest);
  auto* const partial = static_cast<C*>(ctx.workspace(static_cast<std::size_t>(partial_count) * sizeof(C)));
  launch_blocks(ctx.instance(), strided_label, strided_kernel{source.data, nest, partial, partial_count});
  launch_blocks(
      ctx.instance(), partial_sums_label,
      sum_segments_kernel<C, T>{partial, 1, partial_count, 0, 1, result, 1, std::max<std::int64_t>(1, partial_count)});
}

#define PRUMO_INSTANTIATE_SUM_FOR(Space, T)                                        \
  template void launch_sum_rows<Space, T>(context<Space>&, const sum_problem<T>&); \
  template void launch_sum<Space, T>(context<Space>&, const array<const T>&, T*);
#define PRUMO_INSTANTIATE_SUM(Space)       \
  PRUMO_INSTANTIATE_SUM_FOR(Space, float)  \
  PRUMO_INSTANTIATE_SUM_FOR(Space, double) \
  PRUMO_INSTANTIATE_SUM_FOR(Space, f16)    \
  PRUMO_INSTANTIATE_SUM_FOR(Space, bf16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_SUM)

}  // namespace detail
}  // namespace prumo
