// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product, C = act(alpha op(A) op(B) + beta C + bias).

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/gemm_options.hpp>

#include <string_view>
#include <vector>

namespace prumo {

namespace detail {

/// Whether A, B and C have the types of a product, as far as the compiler knows.
template <class A, class B, class C>
constexpr bool have_product_types() {
  if constexpr (is_array_ref<A> || is_array_ref<B> || is_array_ref<C>) {
    return true;
  } else if constexpr (stored_scalar<element_of_t<A>>) {
    return std::is_same_v<element_of_t<A>, element_of_t<B>> &&
           std::is_same_v<element_of_t<C>, product_result_t<element_of_t<A>>>;
  } else {
    return false;
  }
}

}  // namespace detail

/// C = act(alpha op(A) op(B) + beta C + bias), where op(X) is X or its transpose. Without a bias and an activation in
/// the options, C = alpha op(A) op(B) + beta C.
///
/// Rank 2: op(A) is m x k, op(B) is k x n, C is m x n. Rank 3: a batch of such products. The first index of every array
/// is the batch, and all three have the same batch extent. The matrices of a batch may lie at any distance. If A or B
/// has a batch stride of 0, one matrix is used for the whole batch.
///
/// The arrays have the same type (f32, f64, f16, bf16), and any layouts and strides. They are never copied. alpha and
/// beta are rounded to the compute type, which is f32 for f16 and bf16. Their products and sums are computed in f32 and
/// rounded once, after bias and activation.
///
/// Or A and B have the type f8_e4m3 and C has the type bf16. This needs a device with units for f8: an NVIDIA GPU of
/// compute capability 8.9 or later. The rows of op(A) and the columns of op(B) must be contiguous (row-major arrays:
/// transposition::no, transposition::yes). k must be a multiple of 16, and C's extent along its lines a multiple of 8.
/// Lines and matrices must begin at multiples of 16 bytes. Everything else throws unsupported_error, which says what is
/// needed.
///
/// beta == 0 never reads C, alpha == 0 never reads A or B, and with k == 0 C becomes act(beta C + bias). Any extent may
/// be 0.
///
/// C may not overlap A, B or the bias (alias_error). Extents that do not fit throw shape_error, and types and ranks
/// that do not fit throw argument_error. If an implementation in `options` does not exist, argument_error is thrown. If
/// it cannot compute this, or if nothing here computes the mode, unsupported_error is thrown with the reasons. If the
/// environment variable PRUMO_VERBOSE has `dispatch` when a context makes its first product, the context's products
/// print to stderr which implementations were considered.
///
/// Asynchronous on the context's instance. Accuracy and implementations: ops/gemm/README.md.
void gemm(context_ref ctx, transposition trans_a, transposition trans_b, double alpha, const array_ref& a,
          const array_ref& b, double beta, const array_ref& c, const gemm_options& options = {});
template <class Context, class A, class B, class C>
void gemm(Context&& ctx, transposition trans_a, transposition trans_b, double alpha, const A& a, const B& b,
          double beta, const C& c, const gemm_options& options = {}) {
  PRUMO_ASSERT_KEPT_CONTEXT("prumo::gemm", Context, A, B, C);
  static_assert(
      detail::have_rank<2, A, B, C> || detail::have_rank<3, A, B, C>,
      "prumo::gemm: A, B and C are matrices (rank 2), or batches of matrices (rank 3, the batch index first)");
  static_assert(detail::have_product_types<A, B, C>(),
                "prumo::gemm: A, B and C have the same value type of float, double, prumo::f16 and prumo::bf16, or A "
                "and B are of prumo::f8_e4m3 and C of prumo::bf16");
  static_assert(detail::is_writable<C>(), "prumo::gemm: C is const");
  gemm(context_ref(ctx), trans_a, trans_b, alpha, array_ref(a), array_ref(b), beta, array_ref(c), options);
}

/// The name of the implementation that gemm() would use for these arguments; `scale` if nothing is multiplied, `none`
/// if C has no entry. The arrays' memory is not used and may be null. Throws unsupported_error and argument_error like
/// gemm().
std::string_view gemm_implementation(const instance_ref& space, transposition trans_a, transposition trans_b,
                                     double alpha, const array_ref& a, const array_ref& b, double beta,
                                     const array_ref& c, const gemm_options& options = {});

/// The names of the implementations that exist on a space for A of a type, best first.
std::vector<std::string_view> gemm_implementations(space_kind space, dtype type);

/// Whether the implementation of this name uses units for matrix products, if the device has them.
bool gemm_uses_matrix_units(space_kind space, dtype type, std::string_view implementation);

}  // namespace prumo
