// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_vector_form.hpp"
#include "gemv_problem.hpp"

#if defined(PRUMO_HAS_ROCBLAS)
#include "hip/rocblas_gemm.hpp"
#endif

#include <array>

namespace prumo::backend {

#if defined(PRUMO_HAS_ROCBLAS)
namespace {

// rocBLAS is asked for a product of matrices with y for a row: its products with vectors have no 16-bit types that are
// computed in f32, and no 64-bit integers before rocBLAS 4.3.
template <class T>
std::string prepare_rocblas_product(const Kokkos::HIP& instance, const gemv_problem<T>& problem,
                                    blas_vector_form<T>& form) {
  return hip::prepare_rocblas(instance, problem.as_product(), form.product);
}

template <class T>
void run_rocblas_product(context<Kokkos::HIP>& ctx, const gemv_problem<T>&, const blas_vector_form<T>& form) {
  hip::run_rocblas(ctx, form.product);
}

}  // namespace
#endif

template <class Exec, class T>
std::span<const gemv_candidate<Exec, T>> vendor_gemv_candidates() {
#if defined(PRUMO_HAS_ROCBLAS)
  static constexpr std::array<gemv_candidate<Exec, T>, 1> candidates{
      {{"rocblas", prepare_rocblas_product<T>, run_rocblas_product<T>}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HIP_GEMV(T) \
  template std::span<const gemv_candidate<Kokkos::HIP, T>> vendor_gemv_candidates<Kokkos::HIP, T>();
PRUMO_INSTANTIATE_HIP_GEMV(float)
PRUMO_INSTANTIATE_HIP_GEMV(double)
PRUMO_INSTANTIATE_HIP_GEMV(f16)
PRUMO_INSTANTIATE_HIP_GEMV(bf16)

}  // namespace prumo::backend
