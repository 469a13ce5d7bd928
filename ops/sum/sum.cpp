// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sum_device_kernel.hpp"
#include "sum_kernel.hpp"
#include <prumo/sum.hpp>

#include <algorithm>
#include <string>

namespace prumo {

namespace {

/// The depth on a device: of a segment, and of the partial sums where there are several.
std::int64_t device_depth(std::int64_t count, int pack_elements) {
  using partition = detail::sum_device_partition;
  const std::int64_t segments = (count + partition::shortest_segment - 1) / partition::shortest_segment;
  return partition::depth(std::min(count, partition::longest_segment), pack_elements) +
         (segments > 1 ? partition::depth(segments, pack_elements) : 0);
}

std::int64_t host_depth(std::int64_t count, std::size_t compute_bytes, bool column_major) {
  if (column_major) {
    constexpr std::int64_t chunk = detail::sum_column_major_kernel<float>::columns_at_once;
    return std::min(count, chunk) + (count + chunk - 1) / chunk;
  }
  const std::int64_t lanes = compute_bytes == 8 ? detail::reduction_lanes<double> : detail::reduction_lanes<float>;
  const auto depth_of = [&](std::int64_t terms) { return terms < lanes ? terms : (terms + lanes - 1) / lanes + 6; };
  const std::int64_t segments = detail::sum_segments(count);
  return depth_of(std::min(count, detail::sum_segment)) + (segments > 1 ? depth_of(segments) : 0);
}

}  // namespace

std::int64_t sum_depth(std::int64_t count, std::size_t compute_bytes, bool column_major) {
  const int pack_elements = compute_bytes == 8 ? 2 : 8;
  return std::max(host_depth(count, compute_bytes, column_major), device_depth(count, pack_elements));
}

namespace detail {
namespace {

const std::string segments_label = "prumo::sum::segments";
const std::string partial_sums_label = "prumo::sum::partial_sums";
const std::string column_major_label = "prumo::sum::column_major";
const std::string strided_label = "prumo::sum::strided";

template <class C, class Exec>
C* partial_sums(context<Exec>& ctx, std::int64_t count) {
  return static_cast<C*>(ctx.workspace(static_cast<std::size_t>(count) * sizeof(C)));
}

template <class C>
std::int64_t round_up_to_packs(std::int64_t count) {
  return (count + device_pack_elements<C> - 1) / device_pack_elements<C> * device_pack_elements<C>;
}

/// The sums of rows that begin where Rows says, by groups of threads; `packs`: whether each row's data can be loaded in
/// packs.
template <class Exec, class T, class Rows>
void launch_rows_on_device(context<Exec>& ctx, const T* source, const Rows& row_offsets, std::int64_t rows,
                           std::int64_t columns, std::int64_t column_stride, bool packs, T* results,
                           std::int64_t result_stride) {
  using C = compute_t<T>;
  const auto partition = sum_device_partition::of(rows, columns);
  if (partition.segments == 1) {
    launch_teams(ctx.instance(), segments_label,
                 sum_device_kernel<T, T, Rows>(source, row_offsets, rows, columns, column_stride, packs,
                                               std::max<std::int64_t>(1, columns), results, result_stride));
    return;
  }
  C* const partial = partial_sums<C>(ctx, rows * partition.segments);
  launch_teams(ctx.instance(), segments_label,
               sum_device_kernel<T, C, Rows>(source, row_offsets, rows, columns, column_stride, packs,
                                             partition.segment, partial, 1));
  launch_teams(ctx.instance(), partial_sums_label,
               sum_device_kernel<C, T, even_rows>(partial, {partition.segments}, rows, partition.segments, 1,
                                                  can_load_packs(partial, partition.segments), partition.segments,
                                                  results, result_stride));
}

template <class Exec, class T>
void launch_column_major_on_device(context<Exec>& ctx, const sum_problem<T>& problem) {
  using kernel = sum_column_major_device_kernel<T>;
  using C = compute_t<T>;
  const std::int64_t chunks = kernel{nullptr, problem.rows, problem.columns, 0, nullptr}.chunks();
  C* const partial = partial_sums<C>(ctx, problem.rows * chunks);
  launch_blocks(ctx.instance(), column_major_label,
                kernel{problem.source, problem.rows, problem.columns, problem.column_stride, partial});
  launch_teams(ctx.instance(), partial_sums_label,
               sum_device_kernel<C, T, even_rows>(partial, {1}, problem.rows, chunks, problem.rows, false, chunks,
                                                  problem.results, problem.result_stride));
}

/// The sum of an array of any strides: its inner loops are rows, whose sums are added up.
template <class Exec, class T>
void launch_nest_on_device(context<Exec>& ctx, const T* source, const loop_nest<1>& nest, T* result) {
  using C = compute_t<T>;
  const std::int64_t columns = nest.extents[nest.inner()];
  const std::int64_t rows = nest.size() == 0 ? 0 : nest.size() / columns;
  const auto partition = sum_device_partition::of(rows, columns);
  const std::int64_t partial_count = rows * partition.segments;
  // Short inner loops leave many partial sums, which are a row of several segments themselves.
  const auto second = sum_device_partition::of(1, partial_count);
  C* const partial = partial_sums<C>(ctx, round_up_to_packs<C>(partial_count) + second.segments);
  launch_teams(ctx.instance(), strided_label,
               sum_device_kernel<T, C, nested_rows>(source, {nest}, rows, columns, nest.strides[0][nest.inner()], false,
                                                    partition.segment, partial, 1));
  const C* last = partial;
  std::int64_t last_count = partial_count;
  if (second.segments > 1) {
    C* const joined = partial + round_up_to_packs<C>(partial_count);
    launch_teams(
        ctx.instance(), partial_sums_label,
        sum_device_kernel<C, C, even_rows>(partial, {0}, 1, partial_count, 1, true, second.segment, joined, 1));
    last = joined;
    last_count = second.segments;
  }
  launch_teams(ctx.instance(), partial_sums_label,
               sum_device_kernel<C, T, even_rows>(last, {0}, 1, last_count, 1, true,
                                                  std::max<std::int64_t>(1, last_count), result, 1));
}

/// Sums of rows side by side are read in order only if rows are the threads' own.
template <class T>
bool is_column_major(const sum_problem<T>& problem) {
  return problem.row_stride == 1 && problem.column_stride != 1 && problem.columns > 1 && problem.rows > 1;
}

template <class Exec, class T>
void launch_rows_on_host(context<Exec>& ctx, const sum_problem<T>& problem) {
  using C = compute_t<T>;
  if (is_column_major(problem)) {
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
  C* const partial = partial_sums<C>(ctx, problem.rows * segments);
  launch_blocks(ctx.instance(), segments_label,
                sum_segments_kernel<T, C>{problem.source, problem.rows, problem.columns, problem.row_stride,
                                          problem.column_stride, partial, 1, sum_segment});
  launch_blocks(ctx.instance(), partial_sums_label,
                sum_segments_kernel<C, T>{partial, problem.rows, segments, segments, 1, problem.results,
                                          problem.result_stride, segments});
}

template <class Exec, class T>
void launch_nest_on_host(context<Exec>& ctx, const T* source, const loop_nest<1>& nest, T* result) {
  using C = compute_t<T>;
  using strided_kernel = sum_strided_kernel<T, C>;
  const std::int64_t partial_count = strided_kernel::partial_sums(nest);
  C* const partial = partial_sums<C>(ctx, partial_count);
  launch_blocks(ctx.instance(), strided_label, strided_kernel{source, nest, partial, partial_count});
  launch_blocks(
      ctx.instance(), partial_sums_label,
      sum_segments_kernel<C, T>{partial, 1, partial_count, 0, 1, result, 1, std::max<std::int64_t>(1, partial_count)});
}

}  // namespace

template <class Exec, class T>
void launch_sum_rows(context<Exec>& ctx, const sum_problem<T>& problem) {
  if (problem.rows == 0) return;
  if constexpr (is_host_space<Exec>) {
    launch_rows_on_host(ctx, problem);
  } else if (is_column_major(problem)) {
    launch_column_major_on_device(ctx, problem);
  } else {
    launch_rows_on_device(ctx, problem.source, even_rows{problem.row_stride}, problem.rows, problem.columns,
                          problem.column_stride, can_load_packs(problem.source, problem.row_stride), problem.results,
                          problem.result_stride);
  }
}

template <class Exec, class T>
void launch_sum(context<Exec>& ctx, const array<const T>& source, T* result) {
  const loop_nest<1> nest = make_loop_nest(source);
  if (nest.rank == 1) {
    launch_sum_rows(ctx, sum_problem<T>{source.data, 1, nest.extents[0], 0, nest.strides[0][0], result, 1});
    return;
  }
  if constexpr (is_host_space<Exec>) {
    launch_nest_on_host(ctx, source.data, nest, result);
  } else {
    launch_nest_on_device(ctx, source.data, nest, result);
  }
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
