// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dense_rows.hpp"
#include <prumo/check.hpp>
#include <prumo/dense.hpp>
#include <prumo/gemm.hpp>

#include <string_view>

namespace prumo {

void dense(context_ref ctx, const array_ref& x, const array_ref& w, const array_ref& y, const dense_options& options) {
  constexpr std::string_view operation = "prumo::dense";
  check::same_scalar_type(operation, {{"y", y}, {"x", x}, {"w", w}});
  check::rank(operation, {"w", w}, 2);
  check::rank(operation, {"y", y}, 2);
  const array_ref rows = detail::checked_dense_rows(operation, {"x", x});
  if (w.extents[1] != rows.extents[1])
    check::throw_shape(operation, "w with a column for each input", {{"x", x}, {"w", w}});
  if (y.extents[0] != rows.extents[0] || y.extents[1] != w.extents[0]) {
    check::throw_shape(operation, "y with a row for each row of x and a column for each row of w",
                       {{"x", x}, {"w", w}, {"y", y}});
  }
  if (options.bias) {
    const array_ref& bias = *options.bias;
    check::same_scalar_type(operation, {{"y", y}, {"bias", bias}});
    check::rank(operation, {"bias", bias}, 1);
    if (bias.extents[0] != w.extents[0]) {
      check::throw_shape(operation, "a bias with an entry for each row of w", {{"w", w}, {"bias", bias}});
    }
    check::arrays(operation, ctx, {{"y", y}}, {{"x", x}, {"w", w}, {"bias", bias}});
  } else {
    check::arrays(operation, ctx, {{"y", y}}, {{"x", x}, {"w", w}});
  }
  gemm(ctx, transposition::no, transposition::yes, 1, rows, w, 0, y,
       {.implementation = options.implementation,
        .mode = options.mode,
        .activation = options.activation,
        .column_bias = options.bias});
}

}  // namespace prumo
