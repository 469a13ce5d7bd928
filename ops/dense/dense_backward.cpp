// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dense_rows.hpp"
#include <prumo/check.hpp>
#include <prumo/dense_backward.hpp>
#include <prumo/gemm.hpp>
#include <prumo/reduction.hpp>

#include <array>
#include <string_view>

namespace prumo {
namespace {

/// The sums of `portable` do not depend on the number of threads. Those of a BLAS may.
gemm_options options_of_product(const context_ref& ctx, const dense_backward_options& options) {
  const bool is_host = ctx.space() != space_kind::cuda && ctx.space() != space_kind::hip;
  return {.implementation = options.implementation.empty() && is_host ? "portable" : options.implementation};
}

void check_products(std::string_view operation, const named_array& dy, const named_array& of_inputs,
                    const array_ref& inputs, const named_array& w) {
  check::rank(operation, dy, 2);
  check::rank(operation, w, 2);
  if (inputs.extents[0] != dy.array.extents[0] || w.array.extents[0] != dy.array.extents[1] ||
      w.array.extents[1] != inputs.extents[1]) {
    check::throw_shape(operation,
                       std::string(of_inputs.name) + " with a row for each row of dy, and " + std::string(w.name) +
                           " with a row for each column of dy and a column for each input",
                       {of_inputs, dy, w});
  }
}

}  // namespace

void dense_backward_data(context_ref ctx, const array_ref& dy, const array_ref& w, const array_ref& dx,
                         const dense_backward_options& options) {
  constexpr std::string_view operation = "prumo::dense_backward_data";
  check::same_scalar_type(operation, {{"dx", dx}, {"dy", dy}, {"w", w}});
  const array_ref rows = detail::checked_dense_rows(operation, {"dx", dx});
  check_products(operation, {"dy", dy}, {"dx", dx}, rows, {"w", w});
  if (options.bias) {
    throw argument_error("prumo::dense_backward_data: the gradient of a bias comes from dense_backward_weights()");
  }
  check::arrays(operation, ctx, {{"dx", dx}}, {{"dy", dy}, {"w", w}});
  gemm(ctx, transposition::no, transposition::no, 1, dy, w, 0, rows, options_of_product(ctx, options));
}

void dense_backward_weights(context_ref ctx, const array_ref& x, const array_ref& dy, const array_ref& dw,
                            const dense_backward_options& options) {
  constexpr std::string_view operation = "prumo::dense_backward_weights";
  check::same_scalar_type(operation, {{"dw", dw}, {"x", x}, {"dy", dy}});
  const array_ref rows = detail::checked_dense_rows(operation, {"x", x});
  check_products(operation, {"dy", dy}, {"x", x}, rows, {"dw", dw});
  if (options.bias) {
    const array_ref& bias = *options.bias;
    check::same_scalar_type(operation, {{"dw", dw}, {"bias", bias}});
    check::rank(operation, {"bias", bias}, 1);
    if (bias.extents[0] != dy.extents[1]) {
      check::throw_shape(operation, "a bias with an entry for each column of dy", {{"dy", dy}, {"bias", bias}});
    }
    check::arrays(operation, ctx, {{"dw", dw}, {"bias", bias}}, {{"x", x}, {"dy", dy}});
  } else {
    check::arrays(operation, ctx, {{"dw", dw}}, {{"x", x}, {"dy", dy}});
  }
  gemm(ctx, transposition::yes, transposition::no, 1, dy, rows, 0, dw, options_of_product(ctx, options));
  if (options.bias) {
    static constexpr std::array axes{0};
    reduce(ctx, reduction::sum, dy, axes, *options.bias);
  }
}

}  // namespace prumo
