// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// For the sources of reductions: checks the arrays and enqueues. A source defines the kinds that share kernels.

#include "reduction_launch.hpp"
#include <prumo/check.hpp>
#include <prumo/context_ref.hpp>

#include <string_view>

namespace prumo::detail {

/// The checks of a result that lies apart from x and has the type of results.
template <reduction Kind>
void check_reduction(std::string_view operation, const instance_ref& space, const named_array& x,
                     const named_array& result) {
  check::arrays(operation, space, {result}, {x});
  check::same_scalar_type(operation, {x});
  if (result.array.type != (finds_index(Kind) ? dtype::i64 : x.array.type)) {
    check::throw_argument(operation, finds_index(Kind) ? "a result of i64" : "a result of the type of x", {x, result});
  }
}

/// Checks the arrays and enqueues the reduction of a whole array.
template <reduction Kind>
void run_reduction(std::string_view operation, const context_ref& ctx, const array_ref& x, const array_ref& result) {
  check_reduction<Kind>(operation, ctx, {"x", x}, {"result", result});
  check::rank(operation, {"result", result}, 0);
  if (!has_empty_result(Kind) && x.size() == 0) check::throw_shape(operation, "at least one element", {{"x", x}});
  with_space_and_scalar(ctx.space(), x.type, [&]<class Exec, class T> {
    make_launcher<Kind, T>(ctx.as<Exec>()).reduce(x, result.as<reduced_t<Kind, T>>());
  });
}

/// Checks the arrays and enqueues the reduction of each row.
template <reduction Kind>
void run_row_reduction(std::string_view operation, const context_ref& ctx, const array_ref& x, const array_ref& y) {
  check_reduction<Kind>(operation, ctx, {"x", x}, {"y", y});
  check::rank(operation, {"x", x}, 2);
  check::rank(operation, {"y", y}, 1);
  if (y.extents[0] != x.extents[0]) {
    check::throw_shape(operation, "y with an element for each row of x", {{"x", x}, {"y", y}});
  }
  if (!has_empty_result(Kind) && x.extents[0] > 0 && x.extents[1] == 0) {
    check::throw_shape(operation, "rows of at least one element", {{"x", x}});
  }
  with_space_and_scalar(ctx.space(), x.type, [&]<class Exec, class T> {
    make_launcher<Kind, T>(ctx.as<Exec>())
        .reduce_rows({x.as<const T>(), x.extents[0], x.extents[1], x.strides[0], x.strides[1],
                      y.as<reduced_t<Kind, T>>(), y.strides[0]});
  });
}

template <reduction Kind>
void enqueue_axes_reduction(const context_ref& ctx, const array_ref& kept, const array_ref& reduced,
                            const array_ref& results) {
  with_space_and_scalar(ctx.space(), reduced.type, [&]<class Exec, class T> {
    make_launcher<Kind, T>(ctx.as<Exec>()).reduce_axes(kept, reduced, results);
  });
}

}  // namespace prumo::detail

/// Defines a reduction of a whole array, the one of rows and the one over axes.
#define PRUMO_DEFINE_REDUCTION(name)                                                 \
  void prumo::name(context_ref ctx, const array_ref& x, const array_ref& result) {   \
    detail::run_reduction<reduction::name>("prumo::" #name, ctx, x, result);         \
  }                                                                                  \
  void prumo::name##_rows(context_ref ctx, const array_ref& x, const array_ref& y) { \
    detail::run_row_reduction<reduction::name>("prumo::" #name "_rows", ctx, x, y);  \
  }                                                                                  \
  template void prumo::detail::enqueue_axes_reduction<prumo::reduction::name>(       \
      const prumo::context_ref&, const prumo::array_ref&, const prumo::array_ref&, const prumo::array_ref&);
