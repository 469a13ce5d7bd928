// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector, y = alpha op(A) x + beta y.

#include <prumo/array_ref.hpp>
#include <prumo/backend/gemv.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>
#include <prumo/gemm.hpp>

#include <string_view>
#include <type_traits>
#include <vector>

namespace prumo {

/// How a product of a matrix and a vector is to be computed.
struct gemv_options {
  /// The implementation to take, by name (`portable`, `cblas`); empty for the first one that can.
  std::string_view implementation = {};
};

namespace detail {

/// Chooses an implementation and enqueues the product; compiled once a space and type.
template <class Exec, class T>
void dispatch_gemv(context<Exec>& ctx, const backend::gemv_problem<T>& problem, const gemv_options& options);

/// The name of the implementation that dispatch_gemv() would take: `scale` where nothing is multiplied, `none` where y
/// has no entry. Throws as dispatch_gemv() does.
template <class Exec, class T>
std::string_view gemv_implementation(const Exec& instance, const backend::gemv_problem<T>& problem,
                                     const gemv_options& options);

/// The implementations that exist for a space and type, best first.
template <class Exec, class T>
std::vector<std::string_view> gemv_implementations();

/// Throws unless op(A) is m x n, x has n entries and y m, and y is apart from A and x.
void check_gemv(const instance_ref& space, bool transposed, const array_ref& a, const array_ref& x, const array_ref& y);

}  // namespace detail

/// y = alpha op(A) x + beta y, where op(A) is A or its transpose: m x n; x has n entries and y has m.
///
/// The views have the same value type (float, double, f16, bf16) and any layouts and strides, which are never copied. A
/// is read once, in the order of its memory. alpha and beta are of the compute type: float for f16 and bf16, whose
/// products and sums are in float, rounded once on the way to y. beta == 0 never reads y, alpha == 0 never reads A or
/// x, and with n == 0 y becomes beta y. Any extent may be 0.
///
/// y may not overlap A or x (alias_error). Extents that do not fit throw shape_error. An implementation named in
/// `options` that does not exist throws argument_error, one that cannot compute this unsupported_error with the reason.
/// PRUMO_VERBOSE=dispatch as for gemm().
///
/// Asynchronous on the context's instance. Accuracy and implementations: ops/gemv/README.md.
template <class Exec, class A, class X, class Y>
void gemv(context<Exec>& ctx, transpose trans_a,
          std::type_identity_t<compute_t<typename Y::non_const_value_type>> alpha, const A& a, const X& x,
          std::type_identity_t<compute_t<typename Y::non_const_value_type>> beta, const Y& y,
          const gemv_options& options = {}) {
  static_assert(Kokkos::is_view_v<A> && Kokkos::is_view_v<X> && Kokkos::is_view_v<Y>,
                "prumo::gemv: A, x and y are Kokkos views");
  static_assert(A::rank() == 2 && X::rank() == 1 && Y::rank() == 1,
                "prumo::gemv: A is a matrix (rank 2), x and y are vectors (rank 1)");
  using T = typename Y::non_const_value_type;
  static_assert(
      std::is_same_v<T, typename A::non_const_value_type> && std::is_same_v<T, typename X::non_const_value_type>,
      "prumo::gemv: A, x and y have the same value type");
  static_assert(scalar<T>, "prumo::gemv: the value type is not float, double, prumo::f16 or prumo::bf16");
  static_assert(!std::is_const_v<typename Y::value_type>, "prumo::gemv: y is const");
  static_assert(detail::are_accessible<Exec, A, X, Y>,
                "prumo::gemv: a view cannot be accessed from the context's execution space");

  const bool transposed = trans_a == transpose::yes;
  const array_ref lowered_a(a), lowered_x(x), lowered_y(y);
  detail::check_gemv(ctx, transposed, lowered_a, lowered_x, lowered_y);

  backend::gemv_problem<T> problem;
  problem.m = lowered_y.extents[0];
  problem.n = lowered_x.extents[0];
  problem.alpha = alpha;
  problem.beta = beta;
  problem.a = detail::as_gemm_matrix<const T>(lowered_a, transposed);
  problem.x = lowered_x.as<const T>();
  problem.x_stride = lowered_x.strides[0];
  problem.y = lowered_y.as<T>();
  problem.y_stride = lowered_y.strides[0];
  detail::dispatch_gemv(ctx, problem, options);
}

}  // namespace prumo
