// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_gemm.hpp"

#include "cublas_handle.hpp"

#include <array>
#include <type_traits>

namespace prumo::backend {
namespace cuda {
namespace {

cublasOperation_t operation_of(const blas_operand& operand) { return operand.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

template <class T>
std::optional<library_types> library_types_of(gemm_mode mode, std::string& why_not) {
  const bool is_fast_f8 = mode == gemm_mode::fast_accumulation;
  constexpr bool is_f8 = std::is_same_v<T, f8_e4m3>;
  if (mode != gemm_mode::strict && (is_fast_f8 ? !is_f8 : !std::is_same_v<T, float>)) {
    why_not = "mode " + std::string(gemm_mode_name(mode)) + " is for " + (is_fast_f8 ? "f8_e4m3" : "f32") +
              ", not for " + std::string(scalar_traits<T>::name);
    return std::nullopt;
  }
  if constexpr (is_f8) {
    return library_types{CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_16BF, is_fast_f8};
  } else if constexpr (std::is_same_v<T, float>) {
    constexpr cublasComputeType_t by_mode[] = {CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_TF32,
                                               CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_16F};
    return library_types{CUDA_R_32F, CUDA_R_32F, by_mode[static_cast<std::size_t>(mode)]};
  } else if constexpr (std::is_same_v<T, double>) {
    return library_types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F_PEDANTIC};
  } else {
    return library_types{std::is_same_v<T, f16> ? CUDA_R_16F : CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

template <class T>
std::string why_not_cublas(const Kokkos::Cuda&, const gemm_problem<T>& problem) {
  std::string reason;
  if (!library_types_of<T>(problem.mode, reason)) return reason;
  to_blas_form(problem, reason);
  return reason;
}

template <class T>
void run_cublas(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given) {
  std::string reason;
  const library_types types = *library_types_of<T>(given.mode, reason);
  const blas_form<T> form = *to_blas_form(given, reason);
  const gemm_problem<T>& problem = form.problem;
  const current_device device(ctx.instance());
  cublasHandle_t handle = cublas_of(ctx).get();
  const gemm_library_result<cudaDataType_t> result = library_result_of(ctx, form, types.element, CUDA_R_32F);
  const handle_state_scope state(handle);
  // Columns for rows: C' = B' A'.
  if (problem.batch == 1) {
    require_success(cublasGemmEx_64(handle, operation_of(form.b), operation_of(form.a), problem.n, problem.m, problem.k,
                                    &problem.alpha, problem.b.data, types.element, form.b.leading_dimension,
                                    problem.a.data, types.element, form.a.leading_dimension, result.beta, result.data,
                                    result.type, result.leading_dimension, types.compute, CUBLAS_GEMM_DEFAULT),
                    "prumo::gemm: cublasGemmEx_64");
  } else {
    require_success(
        cublasGemmStridedBatchedEx_64(
            handle, operation_of(form.b), operation_of(form.a), problem.n, problem.m, problem.k, &problem.alpha,
            problem.b.data, types.element, form.b.leading_dimension, problem.b.batch_stride, problem.a.data,
            types.element, form.a.leading_dimension, problem.a.batch_stride, result.beta, result.data, result.type,
            result.leading_dimension, result.batch_stride, problem.batch, types.compute, CUBLAS_GEMM_DEFAULT),
        "prumo::gemm: cublasGemmStridedBatchedEx_64");
  }
  if (needs_accumulation(problem)) {
    enqueue_accumulation(ctx.instance(), problem, static_cast<const float*>(result.data));
  }
}

template <>
std::string why_not_cublas<f8_e4m3>(const Kokkos::Cuda&, const gemm_problem<f8_e4m3>&) {
  return "cuBLAS has no product for f8_e4m3; cuBLASLt has";
}

template <>
void run_cublas<f8_e4m3>(context<Kokkos::Cuda>&, const gemm_problem<f8_e4m3>& problem) {
  throw unsupported_error("prumo::gemm: cuBLASLt proposes no algorithm for f8_e4m3 m = " + std::to_string(problem.m) +
                          ", n = " + std::to_string(problem.n) + ", k = " + std::to_string(problem.k) +
                          ", batch = " + std::to_string(problem.batch) + " on this device");
}

#define PRUMO_INSTANTIATE_CUBLAS(T)                                                    \
  template std::optional<library_types> library_types_of<T>(gemm_mode, std::string&);  \
  template std::string why_not_cublas<T>(const Kokkos::Cuda&, const gemm_problem<T>&); \
  template void run_cublas<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&);
PRUMO_INSTANTIATE_CUBLAS(float)
PRUMO_INSTANTIATE_CUBLAS(double)
PRUMO_INSTANTIATE_CUBLAS(f16)
PRUMO_INSTANTIATE_CUBLAS(bf16)
template std::optional<library_types> library_types_of<f8_e4m3>(gemm_mode, std::string&);

}  // namespace cuda

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates() {
  // cuBLAS first: the first proposal of cuBLASLt's heuristic is 4 % faster for some shapes, and 5 % slower for others.
  static constexpr std::array<gemm_candidate<Exec, T>, 3> candidates{
      {{"cublas", cuda::why_not_cublas<T>, cuda::run_cublas<T>, false, true},
       {"cublasLt", cuda::why_not_cublaslt<T>, cuda::run_cublaslt<T>, false, true},
       {"tuned", cuda::why_not_cublaslt<T>, cuda::run_tuned<T>, true, true}}};
  return candidates;
}

#define PRUMO_INSTANTIATE_CUDA_GEMM(T) \
  template std::span<const gemm_candidate<Kokkos::Cuda, T>> vendor_gemm_candidates<Kokkos::Cuda, T>();
PRUMO_INSTANTIATE_CUDA_GEMM(float)
PRUMO_INSTANTIATE_CUDA_GEMM(double)
PRUMO_INSTANTIATE_CUDA_GEMM(f16)
PRUMO_INSTANTIATE_CUDA_GEMM(bf16)
PRUMO_INSTANTIATE_CUDA_GEMM(f8_e4m3)

}  // namespace prumo::backend
