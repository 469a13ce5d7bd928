// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What softmax and log_softmax do when they are called. Included by the source of each.

#include "device/softmax_device_launch.hpp"
#include "host/softmax_host_kernel.hpp"
#include "host/softmax_narrow_rows_kernel.hpp"
#include "host/softmax_side_by_side_kernel.hpp"
#include "softmax_of_one.hpp"
#include <prumo/check.hpp>
#include <prumo/context_ref.hpp>

#include <string>
#include <string_view>

namespace prumo::detail {

template <class Formula, class Exec, class T>
void launch_softmax_on_host(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static const std::string rows_label = softmax_label<Formula>("rows");
  static const std::string narrow_label = softmax_label<Formula>("narrow_rows");
  static const std::string side_by_side_label = softmax_label<Formula>("side_by_side");
  static const std::string statistics_label = softmax_label<Formula>("statistics");
  static const std::string write_label = softmax_label<Formula>("write");
  using C = compute_t<T>;
  constexpr double of_an_element = sizeof(C) > sizeof(float) ? 0.7 : 0.3;
  const std::int64_t elements = problem.rows * problem.columns;
  const std::size_t footprint = static_cast<std::size_t>(elements) * 2 * sizeof(T);
  const host_work work = host_work::streaming<T, T>(elements) + host_work::repeated(elements, of_an_element) +
                         memory_work(footprint, problem.working_set);
  const std::int64_t workers = threads_for(ctx.instance(), work);
  if (softmax_narrow_rows_kernel<T, Formula>::can_take(problem)) {
    return launch_blocks(ctx.instance(), narrow_label, softmax_narrow_rows_kernel<T, Formula>(problem, workers), work);
  }
  const bool column_major = problem.source_row_stride == 1 && problem.source_column_stride != 1 &&
                            problem.rows * 4 >= softmax_rows_at_once<C>;
  const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
  if (problem.columns < softmax_vector_row<C> || column_major) {
    return launch_blocks(ctx.instance(), side_by_side_label,
                         softmax_side_by_side_kernel<T, Formula>(problem, streaming), work);
  }
  constexpr std::int64_t rows_per_worker = 4;  // that make even shares
  if (problem.columns <= softmax_row_at_once<Formula, T> || problem.rows >= workers * rows_per_worker) {
    return launch_blocks(ctx.instance(), rows_label, softmax_host_kernel<T, Formula>(problem, workers, streaming),
                         work);
  }
  using statistics = softmax_statistics<C>;
  auto* const partial = static_cast<statistics*>(
      ctx.workspace(static_cast<std::size_t>(problem.rows * softmax_segments(problem.columns)) * sizeof(statistics)));
  launch_blocks(ctx.instance(), statistics_label, softmax_host_statistics_kernel<T, Formula>{problem, partial});
  launch_blocks(ctx.instance(), write_label, softmax_host_write_kernel<T, Formula>{problem, partial, streaming});
}

/// Checks the arrays, chooses a kernel and enqueues it.
template <class Formula>
void run_softmax(std::string_view operation, const context_ref& ctx, const array_ref& x, const array_ref& y) {
  check::arrays(operation, ctx, {{"y", y}}, {{"x", x}}, aliasing::in_place);
  check::same_scalar_type(operation, {{"x", x}, {"y", y}});
  check::rank(operation, {"x", x}, 2);
  check::same_extents(operation, {{"x", x}, {"y", y}});
  if (y.size() == 0) return;
  if (x.extents[1] == 1) {
    static const std::string label = softmax_label<Formula>("rows_of_one");
    return enqueue_softmax_of_one(ctx, label, Formula::of_one, x, y);
  }
  with_space_and_scalar(ctx.space(), y.type, [&]<class Exec, class T> {
    const softmax_problem<T> problem{x.as<const T>(), y.as<T>(),    x.extents[0], x.extents[1],     x.strides[0],
                                     x.strides[1],    y.strides[0], y.strides[1], ctx.working_set()};
    if constexpr (is_host_space<Exec>) {
      launch_softmax_on_host<Formula>(ctx.as<Exec>(), problem);
    } else {
      launch_softmax_on_device<Formula>(ctx.as<Exec>(), problem);
    }
  });
}

}  // namespace prumo::detail
