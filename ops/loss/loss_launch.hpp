// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the sources of the losses share: checks, and the launch for every space and type.

#include "loss_device_kernel.hpp"
#include "loss_host_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/loss.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace prumo::detail {

/// What a loss and its kernels are called. Each has one, static: a label is made once.
struct loss_name {
  explicit loss_name(std::string_view name)
      : operation(name), rows(std::string(name) + "::rows"), join(std::string(name) + "::join") {}

  std::string_view operation;
  std::string rows;
  std::string join;
};

/// What a class of a row takes a host, in nanoseconds.
template <loss_kind Kind>
inline constexpr double loss_nanoseconds = Kind == loss_kind::squared ? 0.5 : 2;

template <loss_kind Kind, class Exec, class T>
void launch_loss(context<Exec>& ctx, const loss_name& name, const loss_problem<T>& problem) {
  const auto parts_in_workspace = [&](std::int64_t count) {
    return static_cast<loss_sums*>(ctx.workspace(static_cast<std::size_t>(count) * sizeof(loss_sums)));
  };
  if constexpr (is_host_space<Exec>) {
    const std::int64_t rows_of_part = loss_rows_of_part(problem.rows, problem.classes);
    const std::int64_t count = (problem.rows + rows_of_part - 1) / rows_of_part;
    loss_sums* const parts = parts_in_workspace(count);
    launch_blocks(ctx.instance(), name.rows, loss_host_kernel<Kind, T>(problem, parts),
                  host_work::repeated(problem.rows * (problem.classes + 4), loss_nanoseconds<Kind>));
    launch_blocks(ctx.instance(), name.join, loss_join_kernel<double>{parts, count, problem.sums, problem.sum_stride},
                  host_work{});
  } else {
    loss_device_kernel<Kind, T> kernel(problem);
    if (kernel.blocks() > 1) kernel.set_memory(parts_in_workspace(kernel.blocks()), arrival_counters_of(ctx));
    launch_teams(ctx.instance(), name.rows, kernel);
  }
}

inline void check_loss(std::string_view operation, const instance_ref& space, const array_ref& scores,
                       const array_ref& labels, const array_ref& gradient, const array_ref& sums,
                       const loss_options& options) {
  check::arrays(operation, space, {{"gradient", gradient}}, {{"scores", scores}}, aliasing::in_place);
  check::arrays(operation, space, {{"gradient", gradient}, {"sums", sums}}, {{"labels", labels}});
  check::arrays(operation, space, {{"sums", sums}}, {{"scores", scores}});
  check::same_scalar_type(operation, {{"scores", scores}, {"gradient", gradient}});
  check::rank(operation, {"scores", scores}, 2);
  check::rank(operation, {"labels", labels}, 1);
  check::same_extents(operation, {{"scores", scores}, {"gradient", gradient}},
                      "a gradient with the extents of the scores");
  if (labels.type != dtype::i32 && labels.type != dtype::i64 && labels.type != dtype::u8) {
    check::throw_argument(operation, "labels of i32, i64 or u8", {{"labels", labels}});
  }
  if (labels.extents[0] != scores.extents[0]) {
    check::throw_shape(operation, "a label for each row of the scores", {{"scores", scores}, {"labels", labels}});
  }
  if (scores.extents[0] > 0 && scores.extents[1] == 0) {
    check::throw_shape(operation, "scores of one class or more", {{"scores", scores}});
  }
  if (sums.type != dtype::f64 || sums.rank != 1 || sums.extents[0] != 2) {
    check::throw_argument(operation, "sums of two numbers of f64, the loss and how many are right", {{"sums", sums}});
  }
  if (!std::isfinite(options.scale)) {
    throw argument_error(std::string(operation) + ": expected a finite scale; got " + std::to_string(options.scale));
  }
}

template <loss_kind Kind>
void run_loss(const loss_name& name, const context_ref& ctx, const array_ref& scores, const array_ref& labels,
              const array_ref& gradient, const array_ref& sums, const loss_options& options) {
  check_loss(name.operation, ctx, scores, labels, gradient, sums, options);
  if (scores.size() == 0) return;
  with_space_and_scalar(ctx.space(), scores.type, [&]<class Exec, class T> {
    launch_loss<Kind>(ctx.as<Exec>(), name,
                      loss_problem<T>{scores.as<const T>(), gradient.as<T>(), labels.data, sums.as<double>(),
                                      scores.extents[0], scores.extents[1], scores.strides[0], scores.strides[1],
                                      gradient.strides[0], gradient.strides[1], labels.strides[0], sums.strides[0],
                                      static_cast<int>(dtype_size(labels.type)), options.scale});
  });
}

}  // namespace prumo::detail
