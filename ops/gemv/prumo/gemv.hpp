// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector, y = alpha op(A) x + beta y.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/gemm_options.hpp>

#include <string_view>
#include <vector>

namespace prumo {

/// y = alpha op(A) x + beta y, where op(A) is A or its transpose: m x n; x has n entries and y has m.
///
/// The arrays have the same type (f32, f64, f16, bf16) and any layouts and strides, which are never copied. A is read
/// once, in the order of its memory. alpha and beta are rounded to the compute type: f32 for f16 and bf16, whose
/// products and sums are in f32, rounded once on the way to y. beta == 0 never reads y, alpha == 0 never reads A or x,
/// and with n == 0 y becomes beta y. Any extent may be 0.
///
/// y may not overlap A or x (alias_error). Extents that do not fit throw shape_error; types and ranks that do not,
/// argument_error. An implementation named in `options` that does not exist throws argument_error, one that cannot
/// compute this unsupported_error with the reason. PRUMO_VERBOSE=dispatch as for gemm().
///
/// Asynchronous on the context's instance. Accuracy and implementations: ops/gemv/README.md.
void gemv(context_ref ctx, transposition trans_a, double alpha, const array_ref& a, const array_ref& x, double beta,
          const array_ref& y, const gemv_options& options = {});
template <class Context, class A, class X, class Y>
void gemv(Context&& ctx, transposition trans_a, double alpha, const A& a, const X& x, double beta, const Y& y,
          const gemv_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::gemv", Context, A, X, Y);
  static_assert(detail::have_rank<2, A> && detail::have_rank<1, X, Y>,
                "prumo::gemv: A is a matrix (rank 2), x and y are vectors (rank 1)");
  static_assert(detail::have_one_scalar_type<Y, A, X>,
                "prumo::gemv: A, x and y have the same value type of float, double, prumo::f16 and prumo::bf16");
  static_assert(detail::is_writable<Y>(), "prumo::gemv: y is const");
  gemv(context_ref(ctx), trans_a, alpha, array_ref(a), array_ref(x), beta, array_ref(y), options);
}

/// The name of the implementation that gemv() would take with these arguments: `scale` where nothing is multiplied,
/// `none` where y has no entry. The arrays' memory is not looked at and may be null. Throws unsupported_error and
/// argument_error as gemv() does.
std::string_view gemv_implementation(const instance_ref& space, transposition trans_a, double alpha, const array_ref& a,
                                     const array_ref& x, double beta, const array_ref& y,
                                     const gemv_options& options = {});

/// The names of the implementations that exist on a space for a type, best first.
std::vector<std::string_view> gemv_implementations(space_kind space, dtype type);

}  // namespace prumo
