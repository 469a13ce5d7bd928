// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem/reduction_problem.hpp"
#include <prumo/check.hpp>
#include <prumo/reduction.hpp>

#include <string>
#include <string_view>

namespace prumo {
namespace {

constexpr std::string_view operation = "prumo::reduce";

/// Which dimensions of x are reduced.
struct axis_set {
  bool reduced[max_rank] = {};
  int count = 0;

  axis_set(std::span<const int> axes, const array_ref& x) {
    for (const int axis : axes) {
      const bool exists = axis >= 0 && axis < x.rank;
      if (!exists || reduced[axis]) {
        check::throw_argument(operation,
                              exists ? "each axis once; axis " + std::to_string(axis) + " is there twice"
                                     : "axes from 0 to below the rank of x; axis " + std::to_string(axis) + " is none",
                              {{"x", x}});
      }
      reduced[axis] = true;
      ++count;
    }
  }
};

array_ref without_dimensions(const array_ref& array) {
  array_ref result = array;
  result.rank = 0;
  return result;
}

void append_dimension(array_ref& array, const array_ref& from, int dimension) {
  array.extents[array.rank] = from.extents[dimension];
  array.strides[array.rank++] = from.strides[dimension];
}

}  // namespace

void reduce(context_ref ctx, reduction kind, const array_ref& x, std::span<const int> axes, const array_ref& y) {
  const named_array input{"x", x}, result{"y", y};
  check::arrays(operation, ctx, {result}, {input});
  check::same_scalar_type(operation, {input});
  const bool finds_index = detail::finds_index(kind);
  if (y.type != (finds_index ? dtype::i64 : x.type)) {
    check::throw_argument(operation, finds_index ? "a result of i64" : "a result of the type of x", {input, result});
  }
  const axis_set set(axes, x);
  const bool keeps_rank = y.rank == x.rank && set.count > 0;
  array_ref kept = without_dimensions(x), reduced = kept, results = without_dimensions(y);
  bool fits = keeps_rank || y.rank == x.rank - set.count;
  for (int axis = 0, next = 0; fits && axis < x.rank; ++axis) {
    if (set.reduced[axis]) {
      append_dimension(reduced, x, axis);
      if (keeps_rank) fits = y.extents[next++] == 1;
    } else {
      append_dimension(kept, x, axis);
      append_dimension(results, y, next);
      fits = y.extents[next++] == x.extents[axis];
    }
  }
  if (!fits) {
    check::throw_shape(operation, "y with the extents of x along the other axes, and none or 1 along the reduced ones",
                       {input, result});
  }
  if (!detail::has_empty_result(kind) && kept.size() > 0 && reduced.size() == 0) {
    check::throw_shape(operation, "at least one element along the reduced axes", {input});
  }
  switch (kind) {
    case reduction::sum: return detail::enqueue_axes_reduction<reduction::sum>(ctx, kept, reduced, results);
    case reduction::sum_of_squares:
      return detail::enqueue_axes_reduction<reduction::sum_of_squares>(ctx, kept, reduced, results);
    case reduction::mean: return detail::enqueue_axes_reduction<reduction::mean>(ctx, kept, reduced, results);
    case reduction::max: return detail::enqueue_axes_reduction<reduction::max>(ctx, kept, reduced, results);
    case reduction::min: return detail::enqueue_axes_reduction<reduction::min>(ctx, kept, reduced, results);
    case reduction::argmax: return detail::enqueue_axes_reduction<reduction::argmax>(ctx, kept, reduced, results);
    case reduction::argmin: return detail::enqueue_axes_reduction<reduction::argmin>(ctx, kept, reduced, results);
  }
}

}  // namespace prumo
