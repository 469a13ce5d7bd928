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
std::string prepare_cublas(const Kokkos::Cuda&, const gemm_problem<T>& problem, blas_form<T>& form) {
  std::string reason;
  if (library_types_of<T>(problem.mode, reason)) reason = to_blas_form(problem, form);
  return reason;
}

template <class T>
void run_cublas(context<Kokkos::Cuda>& ctx, const blas_form<T>& form) {
  const gemm_problem<T>& problem = form.problem;
  std::string reason;
  const library_types types = *library_types_of<T>(problem.mode, reason);
  const current_device device(ctx.instance());
  const cublas_handle& context_handle = cublas_of(ctx);
  cublasHandle_t handle = context_handle.get();
  const gemm_library_result<cudaDataType_t> result = library_result_of(ctx, form, types.element, CUDA_R_32F);
  const handle_state_scope state(context_handle);
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
  complete_product(ctx, problem, result.data);
}

template <>
std::string prepare_cublas(const Kokkos::Cuda&, const gemm_problem<f8_e4m3>&, blas_form<f8_e4m3>&) {
  return "cuBLAS has no product for f8_e4m3; cuBLASLt has";
}

template <>
void run_cublas(context<Kokkos::Cuda>&, const blas_form<f8_e4m3>& form) {
  const gemm_problem<f8_e4m3>& problem = form.problem;
  throw unsupported_error("prumo::gemm: cuBLASLt proposes no algorithm for f8_e4m3 m = " + std::to_string(problem.m) +
                          ", n = " + std::to_string(problem.n) + ", k = " + std::to_string(problem.k) +
                          ", batch = " + std::to_string(problem.batch) + " on this device");
}

#define PRUMO_INSTANTIATE_CUBLAS(T)                                                                   \
  template std::optional<library_types> library_types_of<T>(gemm_mode, std::string&);                 \
  template std::string prepare_cublas<T>(const Kokkos::Cuda&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_cublas<T>(context<Kokkos::Cuda>&, const blas_form<T>&);
PRUMO_INSTANTIATE_CUBLAS(float)
PRUMO_INSTANTIATE_CUBLAS(double)
PRUMO_INSTANTIATE_CUBLAS(f16)
PRUMO_INSTANTIATE_CUBLAS(bf16)
template std::optional<library_types> library_types_of<f8_e4m3>(gemm_mode, std::string&);

}  // namespace cuda

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates(bool has_epilogue) {
  using candidate_type = gemm_candidate<Exec, T>;
  static constexpr candidate_type cublas{
      "cublas", cuda::prepare_cublas<T>,
      [](context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) { cuda::run_cublas(ctx, form); }, false,
      true};
  static constexpr candidate_type cublaslt{"cublasLt", cuda::prepare_cublaslt<T>, cuda::run_cublaslt<T>, false, true};
  static constexpr candidate_type tuned{"tuned", cuda::prepare_cublaslt<T>, cuda::run_tuned<T>, true, true};
  // cuBLAS first: the first proposal of cuBLASLt's heuristic is 4 % faster for some shapes, and 5 % slower for others.
  static constexpr std::array<candidate_type, 3> of_plain_products{{cublas, cublaslt, tuned}};
  // cuBLASLt may compute the epilogue along with the product, which saves a pass over C.
  static constexpr std::array<candidate_type, 3> of_products_with_epilogue{{cublaslt, cublas, tuned}};
  return has_epilogue ? std::span<const candidate_type>(of_products_with_epilogue) : of_plain_products;
}

#define PRUMO_INSTANTIATE_CUDA_GEMM(T) \
  template std::span<const gemm_candidate<Kokkos::Cuda, T>> vendor_gemm_candidates<Kokkos::Cuda, T>(bool);
PRUMO_INSTANTIATE_CUDA_GEMM(float)
PRUMO_INSTANTIATE_CUDA_GEMM(double)
PRUMO_INSTANTIATE_CUDA_GEMM(f16)
PRUMO_INSTANTIATE_CUDA_GEMM(bf16)
PRUMO_INSTANTIATE_CUDA_GEMM(f8_e4m3)

}  // namespace prumo::backend
