// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_vector_form.hpp"
#include "cublas_handle.hpp"
#include "cuda/cublas_gemm.hpp"
#include "gemv_problem.hpp"

#include <array>

namespace prumo::backend {
namespace cuda {
namespace {

cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t operation, const blas_vector_form<float>& form,
                        const gemv_problem<float>& p) {
  return cublasSgemv_64(handle, operation, form.rows, form.columns, &p.alpha, p.a.data, form.leading_dimension, p.x,
                        form.x_increment, &p.beta, p.y, form.y_increment);
}
cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t operation, const blas_vector_form<double>& form,
                        const gemv_problem<double>& p) {
  return cublasDgemv_64(handle, operation, form.rows, form.columns, &p.alpha, p.a.data, form.leading_dimension, p.x,
                        form.x_increment, &p.beta, p.y, form.y_increment);
}

/// cuBLAS has no product of a matrix and a vector for the 16-bit types: they are a product of matrices with y for a
/// row.
template <class T>
std::string prepare_cublas_gemv(const Kokkos::Cuda& instance, const gemv_problem<T>& problem,
                                blas_vector_form<T>& form) {
  if constexpr (sizeof(T) == 2) return prepare_cublas(instance, problem.as_product(), form.product);
  return to_blas_vector_form(problem, form);
}

template <class T>
void run_cublas_gemv(context<Kokkos::Cuda>& ctx, const gemv_problem<T>& problem, const blas_vector_form<T>& form) {
  if constexpr (sizeof(T) == 2) {
    run_cublas(ctx, form.product);
  } else {
    const current_device device(ctx.instance());
    const cublas_handle& handle = cublas_of(ctx);
    const handle_state_scope state(handle);
    require_success(multiply(handle.get(), form.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, form, problem),
                    "prumo::gemv: cublas gemv");
  }
}

}  // namespace
}  // namespace cuda

template <class Exec, class T>
std::span<const gemv_candidate<Exec, T>> vendor_gemv_candidates() {
  static constexpr std::array<gemv_candidate<Exec, T>, 1> candidates{
      {{"cublas", cuda::prepare_cublas_gemv<T>, cuda::run_cublas_gemv<T>}}};
  return candidates;
}

#define PRUMO_INSTANTIATE_CUDA_GEMV(T) \
  template std::span<const gemv_candidate<Kokkos::Cuda, T>> vendor_gemv_candidates<Kokkos::Cuda, T>();
PRUMO_INSTANTIATE_CUDA_GEMV(float)
PRUMO_INSTANTIATE_CUDA_GEMV(double)
PRUMO_INSTANTIATE_CUDA_GEMV(f16)
PRUMO_INSTANTIATE_CUDA_GEMV(bf16)

}  // namespace prumo::backend
