// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product, C = alpha op(A) op(B) + beta C.

#include <prumo/array_ref.hpp>
#include <prumo/backend/gemm.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <string>
#include <string_view>
#include <type_traits>

namespace prumo {

/// Whether an operand is transposed before it is multiplied.
enum class transpose : std::uint8_t { no, yes };

/// How a product is to be computed.
struct gemm_options {
  /// The implementation to take, by name (`portable`, `cblas`); empty for the first one that can.
  std::string_view implementation = {};
  gemm_mode mode = gemm_mode::strict;
};

namespace detail {

/// Chooses an implementation and enqueues the product; compiled once a space and type.
template <class Exec, class T>
void dispatch_gemm(context<Exec>& ctx, const backend::gemm_problem<T>& problem, const gemm_options& options);

/// The name of the implementation that dispatch_gemm() would take: `scale` where nothing is multiplied,
/// `none` where C has no entry. Throws as dispatch_gemm() does.
template <class Exec, class T>
std::string_view gemm_implementation(const Exec& instance, const backend::gemm_problem<T>& problem,
                                     const gemm_options& options);

/// The implementations that exist for a space and type, best first.
template <class Exec, class T>
std::vector<std::string_view> gemm_implementations();

/// Whether the implementation of that name computes in units for matrix products where the device has them.
template <class Exec, class T>
bool gemm_uses_matrix_units(std::string_view implementation);

/// Throws unless op(A) is m x k, op(B) is k x n and C is m x n, all of one batch, and C is apart from A and
/// B.
void check_gemm(const instance_ref& space, bool transposed_a, bool transposed_b, const array_ref& a, const array_ref& b,
                const array_ref& c);

/// The matrix or batch of an array; the last two dimensions are rows and columns.
template <class T>
backend::gemm_matrix<T> as_gemm_matrix(const array_ref& lowered, bool transposed) {
  const int row = lowered.rank - 2;
  const backend::gemm_matrix<T> matrix{lowered.as<T>(), lowered.strides[row], lowered.strides[row + 1],
                                       lowered.rank == 3 ? lowered.strides[0] : 0};
  return transposed ? matrix.transposed() : matrix;
}

}  // namespace detail

/// C = alpha op(A) op(B) + beta C, where op(X) is X or its transpose.
///
/// Rank 2: op(A) is m x k, op(B) is k x n, C is m x n. Rank 3: a batch of such products; the first index of
/// every view is the batch, and the three have equal batch extents. Products are independent of one another
/// and may lie at any distance; one matrix serves the whole batch where its view has a batch stride of 0 (A
/// and B only).
///
/// The views have the same value type (float, double, f16, bf16) and any layouts and strides, which are never
/// copied. alpha and beta are of the compute type: float for f16 and bf16, whose products and sums are in
/// float, rounded once on the way to C.
///
/// Or A and B are of f8_e4m3, C of bf16, alpha and beta float: for devices with units for it only, which are NVIDIA
/// GPUs of compute capability 8.9 and later. There the rows of op(A) and the columns of op(B) must be contiguous
/// (row-major arrays: transpose::no, transpose::yes), k a multiple of 16, C's extent along its lines of 8, and lines
/// and matrices begin at multiples of 16 bytes. All else throws unsupported_error that says what is needed.
///
/// beta == 0 never reads C, alpha == 0 never reads A or B, and with k ==
/// 0 C becomes beta C. Any extent may be 0.
///
/// C may not overlap A or B (alias_error). Extents that do not fit throw shape_error. An implementation named
/// in `options` that does not exist throws argument_error; one that cannot compute this, or a mode that
/// nothing here computes, throws unsupported_error with the reasons. With `dispatch` in the environment
/// variable PRUMO_VERBOSE when a context makes its first product, the context's products print to stderr
/// which implementations were considered.
///
/// Asynchronous on the context's instance. Accuracy and implementations: ops/gemm/README.md.
template <class Exec, class A, class B, class C>
void gemm(context<Exec>& ctx, transpose trans_a, transpose trans_b,
          std::type_identity_t<compute_t<typename C::non_const_value_type>> alpha, const A& a, const B& b,
          std::type_identity_t<compute_t<typename C::non_const_value_type>> beta, const C& c,
          const gemm_options& options = {}) {
  static_assert(Kokkos::is_view_v<A> && Kokkos::is_view_v<B> && Kokkos::is_view_v<C>,
                "prumo::gemm: A, B and C are Kokkos views");
  static_assert(
      (A::rank() == 2 && B::rank() == 2 && C::rank() == 2) || (A::rank() == 3 && B::rank() == 3 && C::rank() == 3),
      "prumo::gemm: A, B and C are matrices (rank 2), or batches of matrices (rank 3, the batch "
      "index first)");
  using T = typename A::non_const_value_type;
  using R = typename C::non_const_value_type;
  static_assert(stored_scalar<T>,
                "prumo::gemm: the value type is not float, double, prumo::f16, prumo::bf16 or prumo::f8_e4m3");
  static_assert(std::is_same_v<T, typename B::non_const_value_type> && std::is_same_v<R, product_result_t<T>>,
                "prumo::gemm: A, B and C have the same value type, but for a C of prumo::bf16 where A and B are of "
                "prumo::f8_e4m3");
  static_assert(!std::is_const_v<typename C::value_type>, "prumo::gemm: C is const");
  static_assert(detail::are_accessible<Exec, A, B, C>,
                "prumo::gemm: a view cannot be accessed from the context's execution space");

  const bool transposed_a = trans_a == transpose::yes;
  const bool transposed_b = trans_b == transpose::yes;
  const array_ref lowered_a(a), lowered_b(b), lowered_c(c);
  detail::check_gemm(ctx, transposed_a, transposed_b, lowered_a, lowered_b, lowered_c);

  constexpr int row = static_cast<int>(C::rank()) - 2;
  backend::gemm_problem<T> problem;
  problem.m = lowered_c.extents[row];
  problem.n = lowered_c.extents[row + 1];
  problem.k = lowered_a.extents[transposed_a ? row : row + 1];
  problem.batch = row == 1 ? lowered_c.extents[0] : 1;
  problem.alpha = alpha;
  problem.beta = beta;
  problem.a = detail::as_gemm_matrix<const T>(lowered_a, transposed_a);
  problem.b = detail::as_gemm_matrix<const T>(lowered_b, transposed_b);
  problem.c = detail::as_gemm_matrix<R>(lowered_c, false);
  problem.mode = options.mode;
  detail::dispatch_gemm(ctx, problem, options);
}

}  // namespace prumo
